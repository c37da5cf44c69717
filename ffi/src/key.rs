//! # Keys
//!
//! Keyed limiters keep a budget for each key. A key is any bytes: an address, a user, a path; a pointer and a size,
//! read only during the call. NULL with a size of 0 is the empty key, which is a key like any other.
//!
//! Keys are not stored: a table of fixed size holds a tag of each one's hash, 40 bytes for each key of `max_keys` in all,
//! whatever the keys are. A key that owes nothing takes no room. Two keys are taken for one by chance, at most once in
//! 10^11 look-ups of a key that is not there (gcra, permits: 10^15).
//!
//! One key of several parts, such as a user and a path, wants tidegate_key_of(): put one behind the other, "a" and "bc"
//! would be "ab" and "c".

use crate::border::{Mistake, checked, guard, guard_and_tell};
use crate::layout::layout;
use std::ffi::{c_char, c_void};
use std::net::IpAddr;
use tidegate_core::{Status, ip_key, key_of};

/// How many keys have room unless asked otherwise. since 1
pub const TIDEGATE_DEFAULT_MAX_KEYS: u64 = 100000;

/// The largest max_keys: 2^32. since 1
#[expect(dead_code, reason = "for C alone")]
pub const TIDEGATE_MAX_KEYS: u64 = 4294967296;

/// The largest key that tidegate_ip_key() makes, in bytes. since 1
pub const TIDEGATE_IP_KEY_SIZE: usize = 16;

/// The prefix for tidegate_ip_key() that means 32 for IPv4 and 64 for IPv6. since 1
pub const TIDEGATE_DEFAULT_PREFIX: i32 = -1;

/// A key, or a part of one, where several are told at once. 16 bytes, and never more. since 1
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tidegate_key {
    /// Its bytes; NULL only with a size of 0.
    pub data: *const c_void,
    /// How many bytes; any number.
    pub size: usize,
}

layout! { tidegate_key: 16 {
    data: 0,
    size: 8,
} }

/// The bytes of a key.
///
/// # Safety
///
/// `data` is NULL or may be read for `size` bytes until the caller's own call ends.
#[inline]
pub(crate) unsafe fn key_bytes<'a>(data: *const c_void, size: usize) -> Result<&'a [u8], Mistake> {
    if size == 0 {
        return Ok(&[]);
    }
    if data.is_null() || size > isize::MAX as usize {
        return Err(no_key(data, size));
    }
    // SAFETY: the caller vouches for `size` bytes, of which there can be so many.
    Ok(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) })
}

#[cold]
fn no_key(data: *const c_void, size: usize) -> Mistake {
    if data.is_null() {
        let value = format!("NULL for {size} bytes");
        Mistake::new(Status::InvalidKey, "key", value, "NULL only with a size of 0")
    } else {
        let allowed = format!("a size of at most {}", isize::MAX);
        Mistake::new(Status::InvalidMemory, "key", format_args!("a size of {size}"), allowed)
    }
}

/// An array of the caller's. NULL is an empty array if its length is 0.
///
/// # Safety
///
/// `keys` is NULL or may be read for `count` elements until the caller's own call ends.
pub(crate) unsafe fn key_array<'a>(
    keys: *const tidegate_key,
    count: usize,
    argument: &str,
) -> Result<&'a [tidegate_key], Mistake> {
    if count == 0 {
        return Ok(&[]);
    }
    let keys = checked(keys.cast_mut(), argument)?;
    let most = isize::MAX as usize / size_of::<tidegate_key>();
    if count > most {
        return Err(Mistake::new(Status::InvalidMemory, "count", count, format_args!("at most {most}")));
    }
    // SAFETY: the caller vouches for `count` elements, of which there can be so many.
    Ok(unsafe { std::slice::from_raw_parts(keys, count) })
}

/// Makes one key of several parts, such that other parts never make the same key: each part is preceded by its size, in
/// eight bytes, the least significant first. The key's size is thus 8 times `count` and the sizes of all parts.
///
/// `out` is a buffer of `out_size` bytes; `*size_out` receives the size of the key. With NULL for `out` and 0 for
/// `out_size` only the size is told.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY if a part is NULL though its size is not 0; TIDEGATE_ERROR_OPTION if the
/// buffer is too small.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_key_of(
    parts: *const tidegate_key,
    count: usize,
    out: *mut c_void,
    out_size: usize,
    size_out: *mut usize,
) -> i32 {
    guard(|| {
        let size_out = checked(size_out, "size_out")?;
        // SAFETY: the header asks for so many parts.
        let parts = unsafe { key_array(parts, count, "parts") }?;
        // SAFETY: the header asks for parts that may be read.
        let parts = parts.iter().map(|part| unsafe { key_bytes(part.data, part.size) });
        let key = key_of(&parts.collect::<Result<Vec<_>, _>>()?);
        if !out.is_null() || out_size > 0 {
            // SAFETY: the header asks for a buffer of this size.
            unsafe { write_key(&key, out, out_size) }?;
        }
        // SAFETY: the header asks for a place to write to.
        unsafe { size_out.write(key.len()) };
        Ok(Status::Allowed)
    })
}

/// # Safety
///
/// `out` is NULL or may be written for `out_size` bytes.
unsafe fn write_key(key: &[u8], out: *mut c_void, out_size: usize) -> Result<(), Mistake> {
    let out = checked(out.cast::<u8>(), "out")?;
    if out_size < key.len() {
        let allowed = format!("at least {} for this key", key.len());
        return Err(Mistake::new(Status::InvalidOption, "out_size", out_size, allowed));
    }
    // SAFETY: as the caller vouches; the key fits.
    unsafe { out.copy_from_nonoverlapping(key.as_ptr(), key.len()) };
    Ok(())
}

/// Makes the key of a network address, from its text: the address with all bits behind the prefix zero, as bytes in
/// network order, four or sixteen.
///
/// An IPv4 address that is written as IPv6 ("::ffff:203.0.113.7") is the IPv4 address. With TIDEGATE_DEFAULT_PREFIX IPv4
/// counts whole, and IPv6 by its first 64 bits, since whoever has one address of a /64 has them all.
///
/// `out` is a buffer of TIDEGATE_IP_KEY_SIZE bytes; `*size_out` receives the size of the key.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text is no address, or the prefix is longer than the address: over
/// 32 for IPv4, over 128 for IPv6.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_ip_key(
    address: *const c_char,
    length: usize,
    prefix: i32,
    out: *mut c_void,
    size_out: *mut usize,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        // Not written before the key is there, but told first if wrong.
        checked(out.cast::<u8>(), "out")?;
        let size_out = checked(size_out, "size_out")?;
        // SAFETY: the header asks for a text of this length.
        let address = unsafe { ip_address(address, length) }?;
        let key = ip_key(address, prefix_of(prefix)?)?;
        // SAFETY: the header asks for a buffer of this size, and for a place to write to.
        unsafe {
            write_key(&key, out, TIDEGATE_IP_KEY_SIZE)?;
            size_out.write(key.len());
        }
        Ok(Status::Allowed)
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// The longest text of an address, with room to spare; what is longer is not shown in full.
const LONGEST_SHOWN: usize = 64;

/// # Safety
///
/// `text` is NULL or may be read for `length` bytes.
unsafe fn ip_address(text: *const c_char, length: usize) -> Result<IpAddr, Mistake> {
    let bytes = if length == 0 {
        &[]
    } else {
        let text = checked(text.cast_mut(), "address")?;
        // SAFETY: as the caller vouches.
        unsafe { key_bytes(text.cast_const().cast(), length) }?
    };
    let address = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    address.ok_or_else(|| {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_SHOWN)]);
        let more = if bytes.len() > LONGEST_SHOWN { format!("… ({length} bytes)") } else { String::new() };
        let allowed = "an IPv4 or IPv6 address";
        Mistake::new(Status::InvalidOption, "address", format_args!("{shown:?}{more}"), allowed)
    })
}

fn prefix_of(prefix: i32) -> Result<Option<u8>, Mistake> {
    if prefix == TIDEGATE_DEFAULT_PREFIX {
        return Ok(None);
    }
    let number = u8::try_from(prefix).ok().filter(|prefix| *prefix <= 128);
    number.map(Some).ok_or_else(|| {
        let allowed = format!("0 to 128, or {TIDEGATE_DEFAULT_PREFIX} for the default");
        Mistake::new(Status::InvalidOption, "prefix", prefix, allowed)
    })
}
