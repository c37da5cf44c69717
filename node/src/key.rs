//! Keys: a string's UTF-8, with lone surrogates as WTF-8 has them, or the bytes of a Uint8Array as they are.

use crate::mistake;
use napi::bindgen_prelude::{BufferSlice, FromNapiValue};
use napi::{Error, Result, Status, sys};
use napi_derive::napi;
use std::mem::MaybeUninit;
use std::{ptr, slice};

/// Room for a string with the NUL that Node puts behind it.
const ROOM: usize = 256;
/// A string of as many units was perhaps not read to its end.
const ALL: usize = ROOM - 1;
/// Units of a string that is long.
const LONG: usize = 32;
/// The most bytes of one character: a string whose UTF-8 left more room than that was read to its end.
const LONGEST: usize = 4;
/// U+FFFD, which Node also writes for a lone surrogate.
const REPLACEMENT: [u8; 3] = [0xEF, 0xBF, 0xBD];

/// Where a key's bytes are if they had to be made from a string.
pub(crate) struct KeyBuffer {
    stack: [MaybeUninit<u8>; ROOM],
    heap: Vec<u8>,
}

impl KeyBuffer {
    #[inline]
    pub(crate) fn new() -> Self {
        Self { stack: [MaybeUninit::uninit(); ROOM], heap: Vec::new() }
    }
}

/// The bytes of a key; `None` if the value is no key.
///
/// # Safety
///
/// `env` and `value` are of the call that is under way, and no JavaScript runs while the bytes are in use: they may be those
/// of a Uint8Array.
#[inline]
pub(crate) unsafe fn read(env: sys::napi_env, value: sys::napi_value, buffer: &mut KeyBuffer) -> Option<&[u8]> {
    let mut room = [const { MaybeUninit::uninit() }; ROOM];
    // SAFETY: as the caller says.
    let Some(units) = (unsafe { first_units(env, value, &mut room) }) else {
        // SAFETY: as the caller says.
        return unsafe { bytes_of(env, value) };
    };
    if ascii_into(&mut buffer.stack, units) {
        // SAFETY: so many bytes were just written.
        return Some(unsafe { slice::from_raw_parts(buffer.stack.as_ptr().cast::<u8>(), units.len()) });
    }
    // SAFETY: as the caller says, and the value is a string.
    unsafe { read_other(env, value, units, buffer) }
}

/// The bytes of a string that is long, or not ASCII.
#[inline(never)]
unsafe fn read_other<'a>(
    env: sys::napi_env,
    value: sys::napi_value,
    first: &[u16],
    buffer: &'a mut KeyBuffer,
) -> Option<&'a [u8]> {
    if first.len() == ALL {
        // SAFETY: as the caller says.
        append(&mut buffer.heap, &unsafe { units_of(env, value) }?);
        return Some(&buffer.heap);
    }
    let mut length = 0;
    // SAFETY: `env` and `value` are valid, says the caller; the buffer has as much room as is said.
    unsafe { sys::napi_get_value_string_utf8(env, value, buffer.stack.as_mut_ptr().cast(), ROOM, &raw mut length) };
    // SAFETY: Node has written so many bytes.
    let key = unsafe { slice::from_raw_parts(buffer.stack.as_ptr().cast::<u8>(), length) };
    if length + LONGEST < ROOM && !key.windows(REPLACEMENT.len()).any(|at| at == REPLACEMENT) {
        return Some(key);
    }
    append(&mut buffer.heap, first);
    Some(&buffer.heap)
}

/// The first units of a string, which are all if there is room for more; `None` if the value is no string. For UTF-16 Node takes half of
/// the time that it takes for UTF-8.
#[inline(always)]
unsafe fn first_units(
    env: sys::napi_env,
    value: sys::napi_value,
    room: &mut [MaybeUninit<u16>; ROOM],
) -> Option<&[u16]> {
    let mut length = 0;
    // SAFETY: `env` and `value` are valid, says the caller; there is as much room as is said.
    let status =
        unsafe { sys::napi_get_value_string_utf16(env, value, room.as_mut_ptr().cast(), ROOM, &raw mut length) };
    // SAFETY: Node has written so many units.
    (status == sys::Status::napi_ok).then(|| unsafe { slice::from_raw_parts(room.as_ptr().cast::<u16>(), length) })
}

/// Writes the bytes of a string's units if these are all that it has, and ASCII.
#[inline(always)]
fn ascii_into(bytes: &mut [MaybeUninit<u8>], units: &[u16]) -> bool {
    if units.len() <= LONG { few_ascii_into(bytes, units) } else { units.len() < ALL && many_ascii_into(bytes, units) }
}

/// Of many, which Node writes many at once.
#[inline]
fn many_ascii_into(bytes: &mut [MaybeUninit<u8>], units: &[u16]) -> bool {
    for (byte, unit) in bytes.iter_mut().zip(units) {
        byte.write(*unit as u8);
    }
    units.iter().fold(0, |all, unit| all | unit) < 0x80
}

/// Of few, which Node writes one by one. Eight at once, as the hash reads them, the last eight together: what was written in smaller or
/// other pieces the processor hands on only when it has left its store buffer.
#[inline(always)]
fn few_ascii_into(bytes: &mut [MaybeUninit<u8>], units: &[u16]) -> bool {
    let bytes = &mut bytes[..units.len()];
    for (from, to) in units.as_chunks().0.iter().zip(bytes.as_chunks_mut().0) {
        let Some(narrowed) = narrowed(from) else { return false };
        *to = narrowed;
    }
    if let (Some(from), Some(to)) = (units.last_chunk(), bytes.last_chunk_mut()) {
        let Some(narrowed) = narrowed(from) else { return false };
        *to = narrowed;
        return true;
    }
    units.iter().zip(bytes).all(|(unit, byte)| {
        byte.write(*unit as u8);
        *unit < 0x80
    })
}

/// Eight units that are ASCII, as bytes. In a register: each unit was perhaps written on its own.
#[inline(always)]
fn narrowed(units: &[u16; 8]) -> Option<[MaybeUninit<u8>; 8]> {
    let pair = |at| u64::from(units[at]) | u64::from(units[at + 1]) << 8;
    let four = |at| pair(at) | pair(at + 2) << 16;
    let word = four(0) | four(4) << 32;
    let all = units.iter().fold(0, |all, unit| all | unit);
    (all < 0x80).then(|| word.to_le_bytes().map(MaybeUninit::new))
}

/// The UTF-16 of a string.
unsafe fn units_of(env: sys::napi_env, value: sys::napi_value) -> Option<Vec<u16>> {
    let mut length = 0;
    // SAFETY: `env` and `value` are valid, says the caller. Without a buffer Node tells the length.
    let told = unsafe { sys::napi_get_value_string_utf16(env, value, ptr::null_mut(), 0, &raw mut length) };
    let mut units: Vec<u16> = Vec::with_capacity(length + 1);
    // SAFETY: as above; there is room for all units and the NUL behind them.
    let read = unsafe { sys::napi_get_value_string_utf16(env, value, units.as_mut_ptr(), length + 1, &raw mut length) };
    if told != sys::Status::napi_ok || read != sys::Status::napi_ok {
        return None;
    }
    // SAFETY: Node has written so many units.
    unsafe { units.set_len(length) };
    Some(units)
}

/// Appends the WTF-8 of UTF-16.
fn append(wtf8: &mut Vec<u8>, units: &[u16]) {
    if units.iter().all(|unit| *unit < 0x80) {
        return wtf8.extend(units.iter().map(|unit| *unit as u8));
    }
    wtf8.reserve(units.len());
    for character in char::decode_utf16(units.iter().copied()) {
        match character {
            Ok(character) => wtf8.extend_from_slice(character.encode_utf8(&mut [0; LONGEST]).as_bytes()),
            Err(lone) => {
                let unit = lone.unpaired_surrogate();
                let low = |bits: u16| 0x80 | (bits & 0x3F) as u8;
                wtf8.extend_from_slice(&[0xE0 | (unit >> 12) as u8, low(unit >> 6), low(unit)]);
            }
        }
    }
}

/// The bytes of a Uint8Array (a Buffer is one), unless other threads may write to them.
unsafe fn bytes_of<'a>(env: sys::napi_env, value: sys::napi_value) -> Option<&'a [u8]> {
    let (mut kind, mut length, mut data, mut memory) = (-1, 0, ptr::null_mut(), ptr::null_mut());
    // SAFETY: `env` and `value` are valid, says the caller. No typed array: an error is returned.
    let status = unsafe {
        sys::napi_get_typedarray_info(
            env,
            value,
            &raw mut kind,
            &raw mut length,
            &raw mut data,
            &raw mut memory,
            ptr::null_mut(),
        )
    };
    if status != sys::Status::napi_ok || kind != sys::TypedarrayType::uint8_array {
        return None;
    }
    let mut ours_alone = false;
    // SAFETY: `memory` was just written. It is no ArrayBuffer if it is a SharedArrayBuffer.
    unsafe { sys::napi_is_arraybuffer(env, memory, &raw mut ours_alone) };
    if !ours_alone {
        return None;
    }
    // SAFETY: Node says that so many bytes are there, and nothing can change them until JavaScript runs again.
    Some(if length == 0 { &[] } else { unsafe { slice::from_raw_parts(data.cast::<u8>(), length) } })
}

/// Room for as many keys as are mostly asked for at once, in UTF-16 units.
const ROOM_TOGETHER: usize = 4096;

/// Where the bytes of many keys are.
pub(crate) struct KeysBuffer {
    stack: [MaybeUninit<u8>; ROOM_TOGETHER],
    heap: Vec<u8>,
}

impl KeysBuffer {
    #[inline]
    pub(crate) fn new() -> Self {
        Self { stack: [const { MaybeUninit::uninit() }; ROOM_TOGETHER], heap: Vec::new() }
    }
}

/// The bytes of many keys, one behind the other, and where each ends; `None` if a value is no key.
///
/// # Safety
///
/// As for [`read`], of each value.
#[inline]
pub(crate) unsafe fn read_many<'a>(
    env: sys::napi_env,
    values: &[sys::napi_value],
    ends: &mut [usize],
    buffer: &'a mut KeysBuffer,
) -> Option<&'a [u8]> {
    // SAFETY: as the caller says.
    if unsafe { read_ascii(env, values, ends, &mut buffer.stack) } {
        let total = ends.last().map_or(0, |end| *end);
        // SAFETY: so many bytes were just written.
        return Some(unsafe { slice::from_raw_parts(buffer.stack.as_ptr().cast::<u8>(), total) });
    }
    for (value, end) in values.iter().zip(ends) {
        let mut one = KeyBuffer::new();
        // SAFETY: as the caller says.
        buffer.heap.extend_from_slice(unsafe { read(env, *value, &mut one) }?);
        *end = buffer.heap.len();
    }
    Some(&buffer.heap)
}

/// The same of strings that are ASCII, for which there is room; else `false`.
#[inline]
unsafe fn read_ascii(
    env: sys::napi_env,
    values: &[sys::napi_value],
    ends: &mut [usize],
    bytes: &mut [MaybeUninit<u8>; ROOM_TOGETHER],
) -> bool {
    let mut units = [const { MaybeUninit::<u16>::uninit() }; ROOM_TOGETHER];
    let mut total = 0;
    for (value, end) in values.iter().zip(ends) {
        let room = &mut units[total..];
        let mut length = 0;
        // SAFETY: as the caller says; there is as much room as is said.
        let status = unsafe {
            sys::napi_get_value_string_utf16(env, *value, room.as_mut_ptr().cast(), room.len(), &raw mut length)
        };
        // Node has perhaps left out what there was no room for.
        if status != sys::Status::napi_ok || length + 1 >= room.len() {
            return false;
        }
        total += length;
        *end = total;
    }
    // SAFETY: Node has written so many units.
    let units = unsafe { slice::from_raw_parts(units.as_ptr().cast::<u16>(), total) };
    many_ascii_into(bytes, units)
}

/// A key as an argument of what is called now and then.
pub struct Key(Vec<u8>);

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl FromNapiValue for Key {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut buffer = KeyBuffer::new();
        // SAFETY: `#[napi]` calls this for an argument; the bytes are copied at once.
        unsafe { read(env, value, &mut buffer) }
            .map(|bytes| Self(bytes.to_vec()))
            .ok_or_else(|| Error::new(Status::InvalidArg, ""))
    }
}

/// Writes a key if there is room, and tells how long it is. To make a Buffer here would cost more than all else.
fn hand_over(key: &[u8], mut into: BufferSlice<'_>) -> f64 {
    if let Some(room) = into.get_mut(..key.len()) {
        room.copy_from_slice(key);
    }
    key.len() as f64
}

#[napi(catch_unwind)]
pub fn key_of(parts: Vec<Key>, into: BufferSlice<'_>) -> f64 {
    hand_over(&tidegate::key_of(&parts), into)
}

/// `prefix`: a whole number from 0 to 128, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn ip_key(address: String, prefix: Option<u32>, into: BufferSlice<'_>) -> Result<f64> {
    let parsed = address.parse().map_err(|_| {
        let allowed = "an IPv4 or IPv6 address such as 203.0.113.7 or 2001:db8::7";
        Error::new(Status::InvalidArg, format!("address: got {address:?}; allowed: {allowed}"))
    })?;
    let key = tidegate::ip_key(parsed, prefix.map(|prefix| prefix as u8)).map_err(mistake)?;
    Ok(hand_over(&key, into))
}
