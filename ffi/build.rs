//! Names the shared library after its ABI, so that programs keep to the ABI that they were linked with.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let has_soname = std::env::var("CARGO_CFG_TARGET_OS")
        .is_ok_and(|os| ["linux", "android", "freebsd", "netbsd", "openbsd"].contains(&os.as_str()));
    if has_soname {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtidegate.so.1");
    }
}
