//! Gives the shared library its soname and keeps it loaded once loaded.

/// The ABI's number, not the release's: it changes only when a program must be recompiled.
const SONAME_VERSION: u32 = 0;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let argument = |text: &str| println!("cargo:rustc-cdylib-link-arg=-Wl,{text}");
    match std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default().as_str() {
        "linux" | "android" | "freebsd" | "netbsd" | "openbsd" => {
            argument(&format!("-soname,libplimsoll.so.{SONAME_VERSION}"));
            // A host may dlclose us while one of its threads still owns our thread-local error buffer.
            argument("-z,nodelete");
        }
        "macos" => argument(&format!("-install_name,@rpath/libplimsoll.{SONAME_VERSION}.dylib")),
        _ => {}
    }
}
