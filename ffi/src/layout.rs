//! Pins the bytes of the public structs.

/// States a struct's size and each field's offset, in order; anything else does not compile. `tests/c/layout.txt` says the
/// same for C.
macro_rules! layout {
    ($name:ident: $size:literal { $($field:ident: $offset:literal),+ $(,)? }) => {
        const _: () = {
            assert!(size_of::<$name>() == $size);
            assert!(align_of::<$name>() == 8);
            $(assert!(std::mem::offset_of!($name, $field) == $offset);)+
        };
    };
}

pub(crate) use layout;
