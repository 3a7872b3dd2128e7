//! What the shared library exports, what the header declares and what `tests/abi/symbols.txt` lists are the same.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

type Names = BTreeSet<String>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The cdylib of this very cargo run: it lies beside the test's own executable, in `target/<profile>/deps`. The one in
/// `target/<profile>` comes from the last `cargo build` and may be older.
fn library() -> PathBuf {
    let path = env::current_exe().expect("the test knows its own path").with_file_name("libplimsoll.so");
    assert!(path.is_file(), "{} is missing", path.display());
    path
}

fn output(tool: &str, arguments: &[&str]) -> String {
    let run = Command::new(tool).args(arguments).arg(library()).output();
    let run = run.unwrap_or_else(|error| panic!("{tool} (binutils) does not run: {error}"));
    assert!(run.status.success(), "{tool}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).expect("tool output is UTF-8")
}

fn exported() -> Names {
    let table = output("nm", &["-D", "--defined-only"]);
    table.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect()
}

/// The names that stand before a `(` in the header, outside comments and preprocessor lines.
fn declared() -> Names {
    let header = fs::read_to_string(root().join("include/plimsoll.h")).expect("include/plimsoll.h is readable");
    let mut code = String::new();
    for (i, part) in header.split("/*").enumerate() {
        code.push_str(if i == 0 { part } else { part.split_once("*/").expect("a comment ends").1 });
    }
    let code: String = code.lines().filter(|line| !line.starts_with('#')).flat_map(|line| [line, "\n"]).collect();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.match_indices('(')
        .map(|(at, _)| code[..at].rsplit(|c| !word(c)).next().unwrap_or_default())
        .filter(|name| name.starts_with("plim_"))
        .map(str::to_owned)
        .collect()
}

fn difference(left: &str, a: &Names, right: &str, b: &Names) -> String {
    let only = |x: &Names, y: &Names| x.difference(y).cloned().collect::<Vec<_>>().join(" ");
    format!("only {left}: [{}]; only {right}: [{}]", only(a, b), only(b, a))
}

#[test]
fn exported_symbols_are_the_functions_of_the_header() {
    let (exported, declared) = (exported(), declared());
    assert!(exported == declared, "{}", difference("exported", &exported, "in the header", &declared));
}

/// `PLIM_BLESS=1` adds new symbols to the list. It takes none away: a program in the field may need it.
#[test]
fn exported_symbols_are_the_listed_ones() {
    let path = root().join("tests/abi/symbols.txt");
    let exported = exported();
    let text = fs::read_to_string(&path).unwrap_or_default();
    let mut listed: Names = text.lines().map(str::to_owned).collect();
    if env::var_os("PLIM_BLESS").is_some_and(|value| value == "1") {
        listed.extend(exported.iter().cloned());
        fs::write(&path, listed.iter().flat_map(|name| [name, "\n"]).collect::<String>())
            .expect("tests/abi/symbols.txt can be written");
    } else {
        assert!(text.lines().is_sorted(), "tests/abi/symbols.txt is not sorted");
    }
    assert!(
        exported == listed,
        "{}\nfor an added symbol run `make header`; a removed one breaks programs: it needs a new soname",
        difference("exported", &exported, "in tests/abi/symbols.txt", &listed),
    );
}

#[test]
fn library_has_its_soname_and_stays_loaded() {
    let dynamic = output("readelf", &["-d", "-W"]);
    let line = |tag: &str| dynamic.lines().find(|line| line.contains(tag)).unwrap_or_default();
    assert!(line("(SONAME)").contains("[libplimsoll.so.0]"), "soname: {:?}", line("(SONAME)"));
    assert!(line("(FLAGS_1)").contains("NODELETE"), "flags: {:?}", line("(FLAGS_1)"));
}
