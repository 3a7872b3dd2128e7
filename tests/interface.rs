//! What a program was compiled against stays: `tests/abi/interface.txt` lists the constants, the layouts of structs and the
//! types of functions and callbacks. Lines are added, and a struct grows at its end; nothing else changes.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

fn header() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/plimsoll.h");
    fs::read_to_string(path).expect("include/plimsoll.h is readable")
}

/// Without comments.
fn code(header: &str) -> String {
    let mut parts = header.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| code + part.split_once("*/").expect("a comment ends").1)
}

fn constants(code: &str) -> impl Iterator<Item = String> {
    code.lines()
        .filter_map(|line| line.strip_prefix("#define PLIM_"))
        .filter(|line| line.contains(' ') && !line.starts_with("VERSION"))
        .map(|line| format!("constant PLIM_{line}"))
}

/// Size and alignment on the platforms of 64 bits, which are all there are.
fn size_of_type(name: &str) -> usize {
    match name {
        "size_t" | "double" | "int64_t" | "uint64_t" => 8,
        "int32_t" | "uint32_t" | "float" | "plim_status" => 4,
        pointer if pointer.ends_with('*') => 8,
        other => panic!("the size of {other} is not known here"),
    }
}

/// A name and its type: `const float *weights`.
fn split_name(declaration: &str) -> (String, String) {
    let declaration = declaration.trim();
    let at = declaration.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
    (declaration[..at].trim().replace(" *", "*"), declaration[at..].to_owned())
}

/// Every field with its place, and the size of the whole.
fn structs(code: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for part in code.split("typedef struct ").skip(1) {
        let Some((name, body)) = part.split_once('{').filter(|(name, _)| !name.contains(';')) else { continue };
        let (name, mut at) = (name.trim(), 0usize);
        for field in body.split_once('}').expect("a struct ends").0.split(';').filter(|field| !field.trim().is_empty())
        {
            let (kind, field) = split_name(field);
            at = at.next_multiple_of(size_of_type(&kind));
            lines.push(format!("struct {name} {at:3} {kind} {field}"));
            at += size_of_type(&kind);
        }
    }
    lines
}

/// Functions and callbacks: what they answer and take, without the names of parameters.
fn functions(code: &str) -> impl Iterator<Item = String> {
    let plain: String =
        code.lines().filter(|line| !line.starts_with('#')).flat_map(|line| [line.trim(), " "]).collect();
    let statements: Vec<String> =
        plain.split(';').map(|s| s.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    statements.into_iter().filter_map(|statement| {
        let statement = statement.trim_start_matches("extern \"C\" { ").trim_start_matches("typedef ");
        let (head, parameters) = statement.strip_suffix(')')?.rsplit_once('(')?;
        let (answer, name) = match head.strip_suffix(')').and_then(|head| head.split_once("(*")) {
            Some((answer, name)) => (answer.trim().to_owned(), name.to_owned()),
            None => split_name(head),
        };
        let kinds: Vec<String> =
            parameters.split(',').map(|p| if p == "void" { p.to_owned() } else { split_name(p).0 }).collect();
        name.starts_with("plim_").then(|| format!("function {name}({}) -> {answer}", kinds.join(", ")))
    })
}

/// `PLIM_BLESS=1` adds what is new to the list. It takes nothing away: a program in the field may need it.
#[test]
fn what_programs_were_compiled_against_is_still_there() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/abi/interface.txt");
    let code = code(&header());
    let today: BTreeSet<String> = constants(&code).chain(structs(&code)).chain(functions(&code)).collect();
    let mut listed: BTreeSet<String> =
        fs::read_to_string(&path).unwrap_or_default().lines().map(str::to_owned).collect();
    if env::var_os("PLIM_BLESS").is_some_and(|value| value == "1") {
        listed.extend(today.iter().cloned());
        fs::write(&path, listed.iter().flat_map(|line| [line, "\n"]).collect::<String>())
            .expect("tests/abi/interface.txt can be written");
    }
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>().join("\n  ");
    assert!(
        today == listed,
        "only in the list:\n  {}\nonly in the header:\n  {}\n\
         for what was added run `make header`; what was taken away or changed breaks programs: it needs a new soname",
        only(&listed, &today),
        only(&today, &listed),
    );
}

#[test]
fn structs_have_the_layout_that_is_listed() {
    let lines = structs(&code(&header()));
    let progress: Vec<&String> = lines.iter().filter(|line| line.starts_with("struct plim_progress ")).collect();
    let place = |field: &str| -> usize {
        let line = progress.iter().find(|line| line.ends_with(&format!(" {field}")));
        let line = line.unwrap_or_else(|| panic!("plim_progress has no {field}"));
        line.split_whitespace().nth(2).and_then(|at| at.parse().ok()).expect("a place is a number")
    };
    macro_rules! check {
        ($($field:ident)*) => {$(
            assert_eq!(place(stringify!($field)), std::mem::offset_of!(plimsoll::capi::plim_progress, $field));
        )*};
    }
    check!(struct_size epoch num_epochs step num_steps train_loss val_loss val_accuracy seconds val_ndcg);
    assert_eq!(progress.len(), 10, "check the new fields too");
    assert_eq!(lines.len(), progress.len(), "check the new struct too");
    assert_eq!(size_of::<plimsoll::capi::plim_progress>(), place("val_ndcg") + 8);
}
