//! Link arguments of an addon: symbols of Node are looked up when it is loaded, and its code stays mapped.

fn main() {
    napi_build::setup();
}
