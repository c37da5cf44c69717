//! Keys: a string's UTF-8, with lone surrogates as WTF-8 has them, or the bytes of a Uint8Array as they are.

use crate::mistake;
use napi::bindgen_prelude::{BufferSlice, FromNapiValue};
use napi::{Error, Result, Status, sys};
use napi_derive::napi;
use std::mem::MaybeUninit;
use std::{ptr, slice};

/// Room for a string with the NUL that Node puts behind it.
const ROOM: usize = 256;
/// The most bytes of one character.
const LONGEST: usize = 4;

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
    let mut room = [const { MaybeUninit::<u16>::uninit() }; ROOM];
    let mut length = 0;
    // As UTF-16, for which Node takes half of the time that it takes for UTF-8.
    // SAFETY: `env` and `value` are valid, says the caller; there is as much room as is said.
    let status =
        unsafe { sys::napi_get_value_string_utf16(env, value, room.as_mut_ptr().cast(), ROOM, &raw mut length) };
    if status != sys::Status::napi_ok {
        // SAFETY: as the caller says.
        return unsafe { bytes_of(env, value) };
    }
    // SAFETY: Node has written so many units.
    let units = unsafe { slice::from_raw_parts(room.as_ptr().cast::<u16>(), length) };
    if length + 1 == ROOM {
        // SAFETY: `env` and `value` are valid, and the value is a string.
        append(&mut buffer.heap, &unsafe { units_of(env, value) }?);
    } else if let Some(ascii) = ascii_of(units, &mut buffer.stack) {
        return Some(ascii);
    } else {
        append(&mut buffer.heap, units);
    }
    Some(&buffer.heap)
}

/// The bytes of units that are all ASCII. They are written eight at once, as the hash reads them, the last eight together: what was written
/// in smaller or other pieces the processor hands on only when it has left its store buffer.
#[inline(always)]
fn ascii_of<'a>(units: &[u16], bytes: &'a mut [MaybeUninit<u8>; ROOM]) -> Option<&'a [u8]> {
    for (from, to) in units.as_chunks().0.iter().zip(bytes.as_chunks_mut().0) {
        *to = narrowed(from)?;
    }
    match (units.last_chunk(), bytes[..units.len()].last_chunk_mut()) {
        (Some(from), Some(to)) => *to = narrowed(from)?,
        _ => {
            for (unit, byte) in units.iter().zip(&mut *bytes) {
                byte.write(u8::try_from(*unit).ok().filter(u8::is_ascii)?);
            }
        }
    }
    // SAFETY: so many bytes were just written.
    Some(unsafe { slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), units.len()) })
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

/// Where many keys are if they had to be made from a string.
pub(crate) struct KeysBuffer {
    units: [MaybeUninit<u16>; ROOM_TOGETHER],
    ascii: [MaybeUninit<u8>; ROOM_TOGETHER],
    long: Vec<u16>,
    heap: Vec<u8>,
}

impl KeysBuffer {
    pub(crate) fn new() -> Self {
        let (units, ascii) = ([MaybeUninit::uninit(); ROOM_TOGETHER], [MaybeUninit::uninit(); ROOM_TOGETHER]);
        Self { units, ascii, long: Vec::new(), heap: Vec::new() }
    }
}

/// The length of one of many keys.
pub(crate) type Length = [u8; 4];

pub(crate) fn length_of(length: Length) -> usize {
    u32::from_ne_bytes(length) as usize
}

/// The bytes of many keys, one behind the other: to fetch each from an array would cost more than to decide on it. They come as one
/// string, with their lengths in UTF-16 units, which become those in bytes; or as one Uint8Array. `None` if it is neither, or the
/// lengths don't add up to its own.
///
/// # Safety
///
/// As for [`read`].
pub(crate) unsafe fn read_together<'a>(
    env: sys::napi_env,
    value: sys::napi_value,
    lengths: &mut [Length],
    buffer: &'a mut KeysBuffer,
) -> Option<&'a [u8]> {
    let total = lengths.iter().map(|length| length_of(*length)).sum::<usize>();
    let KeysBuffer { units, ascii, long, heap } = buffer;
    let room = if total < ROOM_TOGETHER {
        &mut units[..]
    } else {
        long.reserve(total + 1);
        long.spare_capacity_mut()
    };
    let mut written = 0;
    // As UTF-16, which Node writes from the pieces that the string was put together of; for UTF-8 it would make one piece of them first.
    // SAFETY: `env` and `value` are valid, says the caller; there is as much room as is said.
    let status =
        unsafe { sys::napi_get_value_string_utf16(env, value, room.as_mut_ptr().cast(), total + 1, &raw mut written) };
    if status != sys::Status::napi_ok {
        // SAFETY: as the caller says.
        return unsafe { bytes_of(env, value) }.filter(|bytes| bytes.len() == total);
    }
    if written != total {
        return None;
    }
    // SAFETY: Node has written so many units.
    let units = unsafe { slice::from_raw_parts(room.as_ptr().cast::<u16>(), total) };
    // All are looked at, many at once.
    if units.iter().fold(0, |all, unit| all | unit) < 0x80 {
        let bytes = if total < ROOM_TOGETHER {
            &mut ascii[..]
        } else {
            heap.reserve(total);
            heap.spare_capacity_mut()
        };
        for (byte, unit) in bytes.iter_mut().zip(units) {
            byte.write(*unit as u8);
        }
        // SAFETY: so many bytes were just written.
        return Some(unsafe { slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), total) });
    }
    // Each on its own: halves of a pair that two keys bear stay lone.
    let mut rest = units;
    for length in lengths {
        let (key, behind) = rest.split_at_checked(length_of(*length))?;
        let before = heap.len();
        append(heap, key);
        *length = u32::try_from(heap.len() - before).ok()?.to_ne_bytes();
        rest = behind;
    }
    Some(heap)
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
