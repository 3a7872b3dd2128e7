//! Gives the shared library its soname and keeps it loaded once loaded.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if matches!(target.as_str(), "linux" | "android" | "freebsd" | "netbsd" | "openbsd") {
        // The soname's number is the ABI's, not the release's: it changes only when a program must be recompiled.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libplimsoll.so.0");
        // A host may dlclose us while one of its threads still owns our thread-local error buffer.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
