//! `include/plimsoll.h` is what cbindgen makes of `src/capi` today.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The nouns in the order in which the header introduces them; a file that is not named here follows by name.
const ORDER: [&str; 13] = [
    "status",
    "graph",
    "layers",
    "model",
    "estimator",
    "optimizer",
    "progress",
    "log",
    "train",
    "bound",
    "tail",
    "plan",
    "rank",
];

/// Every module of `src/capi`, in the header's order. cbindgen follows a folder's `mod.rs` by itself.
fn sources(capi: &Path) -> Vec<PathBuf> {
    let mut modules: Vec<(usize, String, PathBuf)> = fs::read_dir(capi)
        .expect("src/capi is readable")
        .map(|entry| entry.expect("an entry of src/capi").path())
        .filter_map(|path| {
            let name = path.file_stem()?.to_str()?.to_owned();
            let file = if path.is_dir() { path.join("mod.rs") } else { path };
            let wanted = file.extension()? == "rs" && name != "mod";
            let rank = ORDER.iter().position(|noun| *noun == name);
            wanted.then(|| (rank.unwrap_or(ORDER.len()), name, file))
        })
        .collect();
    modules.sort();
    modules.into_iter().map(|(_, _, file)| file).collect()
}

fn version_macros() -> String {
    format!(
        "\n#define PLIM_VERSION_MAJOR {}\n#define PLIM_VERSION_MINOR {}\n#define PLIM_VERSION_PATCH {}\n\
         #define PLIM_VERSION \"{}\"",
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
        env!("CARGO_PKG_VERSION"),
    )
}

fn generate(root: &Path) -> String {
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml is valid");
    config.after_includes = Some(version_macros());
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in sources(&root.join("src/capi")) {
        builder = builder.with_src(file);
    }
    let mut text = Vec::new();
    builder.generate().expect("cbindgen reads src/capi").write(&mut text);
    let text = String::from_utf8(text).expect("the header is UTF-8");
    // A struct has a tag, so that others can declare it, but is used by its typedef's name. A blank line of a Rust doc
    // comment becomes " * " with a space at its end.
    let by_name = |line: &str| match line.starts_with("typedef struct") {
        true => line.trim_end().to_owned(),
        false => line.trim_end().replace("struct plim_", "plim_"),
    };
    text.lines().flat_map(|line| [by_name(line), "\n".to_owned()]).collect::<String>().trim_start().to_owned()
}

#[test]
fn header_is_what_cbindgen_makes_of_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("include/plimsoll.h");
    let wanted = generate(root);
    if env::var_os("PLIM_BLESS").is_some_and(|value| value == "1") {
        fs::create_dir_all(root.join("include")).expect("include/ can be made");
        fs::write(&path, &wanted).expect("include/plimsoll.h can be written");
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let differs = wanted.lines().zip(found.lines()).position(|(a, b)| a != b);
    let line = differs.unwrap_or_else(|| wanted.lines().count().min(found.lines().count()));
    assert!(
        wanted == found,
        "include/plimsoll.h is stale from line {} on: run `make header`, or `PLIM_BLESS=1 cargo test --test header`\n\
         sources: {:?}\n header: {:?}",
        line + 1,
        wanted.lines().nth(line),
        found.lines().nth(line),
    );
}
