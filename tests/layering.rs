//! The modules of `src` keep to the order of the table in `src/lib.rs`, names of the C interface stay in `capi`, and
//! `unsafe` stays in `kernel` and `capi`.

use std::fs;
use std::path::{Path, PathBuf};

/// String literals outside `capi` that may begin like a name of the C interface.
const LITERALS: [&str; 1] = ["PLIM_ISA"]; // an environment variable, not a constant
/// Modules that may use `unsafe`.
const UNSAFE: [&str; 2] = ["kernel", "capi"];

/// The modules of the table in `lib.rs`, from the first row to the last.
fn table(lib: &str) -> Vec<String> {
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! | `"));
    rows.map(|row| row.split('`').next().unwrap().to_string()).collect()
}

/// The modules that `lib.rs` declares.
fn declared(lib: &str) -> Vec<String> {
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod "));
    modules.map(|name| name.trim_end_matches(';').to_string()).collect()
}

/// A source with its comments and literals as spaces, so that only code is left; and its string literals with their lines.
fn code(source: &str) -> (String, Vec<(usize, String)>) {
    let text: Vec<char> = source.chars().collect();
    let at = |i: usize| text.get(i).copied().unwrap_or('\0');
    let (mut code, mut literals, mut line, mut i) = (String::new(), Vec::new(), 1, 0);
    while i < text.len() {
        // The end of a comment or literal that begins here.
        let mut end = i;
        match at(i) {
            '/' if at(i + 1) == '/' => {
                while end < text.len() && at(end) != '\n' {
                    end += 1;
                }
            }
            '/' if at(i + 1) == '*' => {
                end += 2;
                while end < text.len() && !(at(end - 1) == '*' && at(end) == '/' && end > i + 2) {
                    end += 1;
                }
                end += 1;
            }
            '"' => {
                end += 1;
                while end < text.len() && at(end) != '"' {
                    end += if at(end) == '\\' { 2 } else { 1 };
                }
                end += 1;
                literals.push((line, text[i + 1..(end - 1).min(text.len())].iter().collect()));
            }
            'r' if (at(i + 1) == '"' || at(i + 1) == '#' && (at(i + 2) == '"' || at(i + 2) == '#')) => {
                let hashes = (1..).take_while(|&k| at(i + k) == '#').count();
                let close = |end: usize| at(end) == '"' && (1..=hashes).all(|k| at(end + k) == '#');
                end += hashes + 2;
                let start = end;
                while end < text.len() && !close(end) {
                    end += 1;
                }
                literals.push((line, text[start..end.min(text.len())].iter().collect()));
                end += hashes + 1;
            }
            // A character, not a lifetime.
            '\'' if at(i + 1) == '\\' => end = (i + 3..).find(|&k| k >= text.len() || at(k) == '\'').unwrap() + 1,
            '\'' if at(i + 2) == '\'' => end = i + 3,
            _ => {}
        }
        for &c in &text[i..end.max(i + 1).min(text.len())] {
            line += usize::from(c == '\n');
            code.push(if end > i && c != '\n' { ' ' } else { c });
        }
        i = end.max(i + 1);
    }
    (code, literals)
}

/// The paths that a source names: each with its line, as `["crate", "error", "Result"]`. Groups of a `use` are taken apart.
fn paths(code: &str) -> Vec<(usize, Vec<String>)> {
    let mut tokens = Vec::new();
    let (mut line, mut word) = (1, String::new());
    for c in code.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            tokens.push((line, std::mem::take(&mut word)));
        }
        if !c.is_whitespace() {
            tokens.push((line, c.to_string()));
        }
        line += usize::from(c == '\n');
    }
    let is_word = |i: usize| tokens.get(i).is_some_and(|(_, t)| t.chars().all(|c| c.is_alphanumeric() || c == '_'));
    let is = |i: usize, wanted: &str| tokens.get(i).is_some_and(|(_, t)| t == wanted);
    let colons = |i: usize| is(i, ":") && is(i + 1, ":");
    let (mut found, mut i) = (Vec::new(), 0);
    // Prefixes of the groups around the current token; `None` is a brace that is no group.
    let mut groups: Vec<Option<Vec<String>>> = Vec::new();
    while i < tokens.len() {
        if is(i, "}") {
            groups.pop();
        } else if is(i, "{") {
            groups.push(None);
        } else if is_word(i) && !(i >= 2 && colons(i - 2)) {
            let mut path = groups.last().cloned().flatten().unwrap_or_default();
            let line = tokens[i].0;
            path.push(tokens[i].1.clone());
            while colons(i + 1) && is_word(i + 3) {
                i += 3;
                path.push(tokens[i].1.clone());
            }
            if colons(i + 1) && is(i + 3, "{") {
                i += 3;
                groups.push(Some(path.clone()));
            }
            found.push((line, path));
        }
        i += 1;
    }
    found
}

/// The modules of the crate that a file uses, with the line. `module` is the file's own path, as `["graph", "npz"]`.
fn uses(code: &str, module: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, path) in paths(code) {
        let supers = path.iter().take_while(|part| *part == "super").count();
        // A module inside the file, such as its tests, is one level deeper; `super` from there stays inside.
        let target = match path[0].as_str() {
            "crate" => path.get(1),
            "super" if supers >= module.len() => path.get(supers),
            _ => None,
        };
        let target = target.map(|target| (line, target.clone()));
        found.extend(target.filter(|target| !found.contains(target)));
    }
    found
}

/// What is wrong with a file of `src`, in lines that name it.
fn violations(path: &str, source: &str, table: &[String]) -> Vec<String> {
    let parts: Vec<&str> = path.trim_end_matches(".rs").split('/').filter(|part| *part != "mod").collect();
    let Some(rank) = table.iter().position(|module| module == parts[0]) else {
        return if parts == ["lib"] { vec![] } else { vec![format!("{path}: `{}` is not in the table", parts[0])] };
    };
    let (code, literals) = code(source);
    let mut wrong = Vec::new();
    for (line, used) in uses(&code, &parts) {
        if table.iter().position(|module| *module == used).is_some_and(|other| other > rank) {
            wrong.push(format!("{path}:{line}: `{}` uses `{used}`, which stands below it", parts[0]));
        }
    }
    if parts[0] != "capi" {
        let names = |text: &str| text.contains("plim_") || text.contains("PLIM_");
        let named = literals.iter().filter(|(_, text)| names(text) && !LITERALS.contains(&text.as_str()));
        wrong.extend(named.map(|(line, text)| format!("{path}:{line}: \"{text}\" names the C interface")));
    }
    if !UNSAFE.contains(&parts[0]) {
        let lines = code.lines().enumerate();
        let unsafes =
            lines.filter(|(_, line)| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == "unsafe"));
        wrong.extend(unsafes.map(|(i, _)| format!("{path}:{}: `unsafe` in `{}`", i + 1, parts[0])));
    }
    wrong
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn lib() -> String {
    fs::read_to_string(src().join("lib.rs")).unwrap()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_table_has_every_module_of_the_crate_once() {
    let (mut table, mut declared) = (table(&lib()), declared(&lib()));
    table.sort();
    declared.sort();
    assert!(!table.is_empty());
    assert_eq!(table, declared);
}

#[test]
fn every_file_uses_only_modules_above_its_own() {
    let (table, mut all) = (table(&lib()), Vec::new());
    files(&src(), &mut all);
    assert!(all.len() > table.len());
    let wrong: Vec<String> = all
        .iter()
        .flat_map(|file| {
            let path = file.strip_prefix(src()).unwrap().to_str().unwrap().replace('\\', "/");
            violations(&path, &fs::read_to_string(file).unwrap(), &table)
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_file_that_breaks_the_rules_is_named_with_line_and_module() {
    let table: Vec<String> = ["error", "graph", "model", "capi"].map(String::from).to_vec();
    let found = |path, source| violations(path, source, &table);
    let upward = "graph/a.rs:2: `graph` uses `model`, which stands below it";
    for source in [
        "\nuse crate::model::Model;",
        "\nuse crate::{error::Error, model::{self, Model}};",
        "\nfn f() { crate::model::f() }",
        "\nuse super::super::model;",
        "\nuse super::super::{error, model};",
        "\npub(in crate::model) fn f() {}",
    ] {
        assert_eq!(found("graph/a.rs", source), [upward], "{source}");
    }
    assert_eq!(found("graph/mod.rs", "\nuse super::model;"), [upward.replace("a.rs", "mod.rs")]);
    assert_eq!(found("graph.rs", "\nuse super::model;"), [upward.replace("/a.rs", ".rs")]);
    assert_eq!(found("other.rs", ""), ["other.rs: `other` is not in the table"]);
    assert_eq!(found("graph/a.rs", "const S: &str = \"see plim_f()\";").len(), 1);
    assert_eq!(found("graph/a.rs", "const S: &str = r#\"a \"PLIM_X\" b\"#;").len(), 1);
    assert_eq!(found("error.rs", "\n\nfn f() { unsafe { g() } }"), ["error.rs:3: `unsafe` in `error`"]);
}

#[test]
fn what_only_looks_like_a_violation_is_none() {
    let table: Vec<String> = ["error", "graph", "model", "capi"].map(String::from).to_vec();
    for source in [
        "use crate::error::Error;\nuse super::Graph;\nuse super::model::Inner;",
        "// use crate::model::Model; unsafe, plim_f()",
        "/* crate::model */ const S: &str = \"crate::model unsafe\";",
        "mod tests { use super::*; use super::super::Graph; }",
        "use std::model::X; use crate::graph::model;",
        "fn f<'a>(c: char) -> bool { c == '\"' || c == '\\'' } // \" plim_f",
        "const S: &str = \"PLIM_ISA\"; #![deny(unsafe_code)]",
    ] {
        assert_eq!(violations("graph/a/b.rs", source, &table), [""; 0], "{source}");
    }
    assert_eq!(violations("capi/a.rs", "fn plim_f() { unsafe { \"plim_f\" } }", &table), [""; 0]);
}
