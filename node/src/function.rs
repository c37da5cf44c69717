//! Functions for JavaScript without what `#[napi]` adds to a call: that costs more than a decision.
//!
//! One function serves all limiters, and gets the limiter's handle as its first argument. A function for each limiter is
//! no faster with one limiter, and 20 ns slower with two: the optimizer calls an addon directly only where it knows which
//! function it calls.

use crate::handle::Handle;
use crate::key::{self, KeyBuffer, KeysBuffer};
use napi::bindgen_prelude::{Env, Object, panic_to_error};
use napi::{JsValue, Result, Status, check_status, sys};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

/// The most arguments of a method, its handle included.
const MOST_ARGUMENTS: usize = 140;
/// Of a method that has more, Node is asked first how many were given: it takes time to fill up the rest with undefined.
const MOSTLY: usize = 10;

/// What a function does.
pub(crate) trait Method {
    /// What it is called on: the kind of handle that is its first argument.
    type On: 'static;
    /// Its name among the exports.
    const NAME: &'static CStr;
    /// Arguments that it looks at, its handle included.
    const ARGUMENTS: usize;

    /// Answers one call.
    fn call(on: &Self::On, call: &Call) -> Answer;
}

/// What a call gives back, or why not.
pub(crate) type Answer = std::result::Result<sys::napi_value, Fault>;

/// Why a call gave nothing back.
pub(crate) enum Fault {
    /// An argument that is not acceptable. JavaScript has the value at hand and says what is wrong with it.
    Argument,
    /// A panic, and what it said.
    Panic(String),
}

/// Adds the function of `M` to the exports.
pub(crate) fn export<M: Method>(env: &Env, exports: &Object) -> Result<()> {
    const { assert!(M::ARGUMENTS <= MOST_ARGUMENTS) };
    let mut function = ptr::null_mut();
    // SAFETY: `env` and `exports` are of the load that is under way; `NAME` ends in NUL, as -1 promises for the length.
    let status = unsafe {
        let created = sys::napi_create_function(
            env.raw(),
            M::NAME.as_ptr(),
            -1,
            Some(enter::<M>),
            ptr::null_mut(),
            &raw mut function,
        );
        if created == sys::Status::napi_ok {
            sys::napi_set_named_property(env.raw(), exports.raw(), M::NAME.as_ptr(), function)
        } else {
            created
        }
    };
    check_status!(status, "a function could not be made")
}

unsafe extern "C" fn enter<M: Method>(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let mut room = [const { MaybeUninit::<sys::napi_value>::uninit() }; MOST_ARGUMENTS];
    let known = if M::ARGUMENTS > MOSTLY { count(env, info).min(M::ARGUMENTS) } else { M::ARGUMENTS };
    let mut given = known;
    // SAFETY: `env` and `info` are Node's own; `given` says how many arguments there is room for, and then how many there are.
    unsafe {
        sys::napi_get_cb_info(env, info, &raw mut given, room.as_mut_ptr().cast(), ptr::null_mut(), ptr::null_mut());
    }
    // SAFETY: Node can't fail with its own, and has written as many: for those that were not given undefined.
    let arguments = unsafe { slice::from_raw_parts(room.as_ptr().cast(), known) };
    let call = Call { env, arguments, given };
    // SAFETY: the argument is of this call, which ends with this function.
    let handle = unsafe { Handle::<M::On>::get(env, arguments[0]) };
    // AssertUnwindSafe: the core's objects are whole after a panic in any call (atomic words; locks that forgive poison).
    catch_unwind(AssertUnwindSafe(|| M::call(handle.ok_or(Fault::Argument)?, &call)))
        .unwrap_or_else(|panic| Err(Fault::Panic(panic_to_error(panic).reason)))
        .unwrap_or_else(|fault| throw(env, &fault))
}

/// How many arguments were given.
fn count(env: sys::napi_env, info: sys::napi_callback_info) -> usize {
    let mut given = 0;
    // SAFETY: `env` and `info` are Node's own, and it has no room to write to.
    unsafe { sys::napi_get_cb_info(env, info, &raw mut given, ptr::null_mut(), ptr::null_mut(), ptr::null_mut()) };
    given
}

#[cold]
fn throw(env: sys::napi_env, fault: &Fault) -> sys::napi_value {
    let (code, message) = match fault {
        Fault::Argument => (Status::InvalidArg, ""),
        Fault::Panic(message) => (Status::GenericFailure, message.as_str()),
    };
    // SAFETY: `env` is of the call that is under way.
    unsafe { napi::JsError::from(napi::Error::new(code, message)).throw_into(env) };
    ptr::null_mut()
}

/// One call: its arguments, and ways to make what it returns.
pub(crate) struct Call<'call> {
    env: sys::napi_env,
    arguments: &'call [sys::napi_value],
    given: usize,
}

impl Call<'_> {
    /// How many arguments were given, the handle included.
    #[inline]
    pub(crate) fn given(&self) -> usize {
        self.given
    }

    /// A whole number that is not negative. Read as a double: a narrower type would wrap 2³²+1 to 1.
    #[inline]
    pub(crate) fn whole(&self, index: usize) -> std::result::Result<u64, Fault> {
        let mut value = f64::NAN;
        // SAFETY: `env` and the argument are of the call that is under way, and the result has room.
        let status = unsafe { sys::napi_get_value_double(self.env, self.arguments[index], &raw mut value) };
        // NaN becomes 0, and is unequal to it; 2⁶⁴ and above stay at 2⁶⁴−1, which the core refuses.
        let whole = value as u64;
        if status == sys::Status::napi_ok && whole as f64 == value { Ok(whole) } else { Err(Fault::Argument) }
    }

    /// Any number.
    #[inline]
    pub(crate) fn number(&self, index: usize) -> std::result::Result<f64, Fault> {
        let mut value = f64::NAN;
        // SAFETY: as in `whole`.
        let status = unsafe { sys::napi_get_value_double(self.env, self.arguments[index], &raw mut value) };
        if status == sys::Status::napi_ok { Ok(value) } else { Err(Fault::Argument) }
    }

    /// What another handle stands for.
    #[inline]
    pub(crate) fn handle<T: 'static>(&self, index: usize) -> std::result::Result<&T, Fault> {
        // SAFETY: the argument is of the call that is under way, and so is this borrow.
        unsafe { Handle::<T>::get(self.env, self.arguments[index]) }.map(|handle| &**handle).ok_or(Fault::Argument)
    }

    #[inline]
    pub(crate) fn boolean(&self, index: usize) -> std::result::Result<bool, Fault> {
        let mut value = false;
        // SAFETY: as in `whole`.
        let status = unsafe { sys::napi_get_value_bool(self.env, self.arguments[index], &raw mut value) };
        if status == sys::Status::napi_ok { Ok(value) } else { Err(Fault::Argument) }
    }

    /// A BigInt of 0 … 2⁶⁴−1.
    pub(crate) fn bigint(&self, index: usize) -> std::result::Result<u64, Fault> {
        let (mut value, mut lossless) = (0, false);
        // SAFETY: as in `whole`.
        let status = unsafe {
            sys::napi_get_value_bigint_uint64(self.env, self.arguments[index], &raw mut value, &raw mut lossless)
        };
        if status == sys::Status::napi_ok && lossless { Ok(value) } else { Err(Fault::Argument) }
    }

    /// The bytes of a key. They may be JavaScript's own: no JavaScript may run while they are in use.
    #[inline]
    pub(crate) fn key<'a>(&'a self, index: usize, buffer: &'a mut KeyBuffer) -> std::result::Result<&'a [u8], Fault> {
        // SAFETY: as in `whole`; and what a method does with its arguments runs no JavaScript.
        unsafe { key::read(self.env, self.arguments[index], buffer) }.ok_or(Fault::Argument)
    }

    /// An element of an array.
    pub(crate) fn element(&self, array: usize, index: u32) -> std::result::Result<sys::napi_value, Fault> {
        let mut element = ptr::null_mut();
        // SAFETY: as in `whole`.
        let status = unsafe { sys::napi_get_element(self.env, self.arguments[array], index, &raw mut element) };
        if status == sys::Status::napi_ok { Ok(element) } else { Err(Fault::Argument) }
    }

    pub(crate) fn argument(&self, index: usize) -> sys::napi_value {
        self.arguments[index]
    }

    /// The bytes of a string or Uint8Array, `None` for undefined. As for [`key`](Self::key), no JavaScript may run meanwhile.
    #[inline]
    pub(crate) fn bytes_or_none<'a>(
        &self,
        value: sys::napi_value,
        buffer: &'a mut KeyBuffer,
    ) -> std::result::Result<Option<&'a [u8]>, Fault> {
        // SAFETY: as in `key`.
        if let Some(bytes) = unsafe { key::read(self.env, value, buffer) } {
            return Ok(Some(bytes));
        }
        let mut kind = -1;
        // SAFETY: as in `whole`.
        unsafe { sys::napi_typeof(self.env, value, &raw mut kind) };
        if kind == sys::ValueType::napi_undefined { Ok(None) } else { Err(Fault::Argument) }
    }

    /// The bytes of the keys that are given from an index on, one behind the other, and where each ends.
    #[inline]
    pub(crate) fn keys<'a>(
        &'a self,
        from: usize,
        ends: &'a mut [usize],
        buffer: &'a mut KeysBuffer,
    ) -> std::result::Result<(&'a [u8], &'a [usize]), Fault> {
        let values = self.arguments.get(from..self.given).ok_or(Fault::Argument)?;
        let ends = ends.get_mut(..values.len()).ok_or(Fault::Argument)?;
        // SAFETY: as in `key`.
        let bytes = unsafe { key::read_many(self.env, values, ends, buffer) }.ok_or(Fault::Argument)?;
        Ok((bytes, ends))
    }

    /// A BigInt of at most two words, the least significant first.
    pub(crate) fn wide(&self, index: usize) -> std::result::Result<[u64; 2], Fault> {
        let (mut words, mut count, mut sign) = ([0; 2], 2, 0);
        // SAFETY: as in `whole`; `count` says how many words there is room for.
        let status = unsafe {
            sys::napi_get_value_bigint_words(
                self.env,
                self.arguments[index],
                &raw mut sign,
                &raw mut count,
                words.as_mut_ptr(),
            )
        };
        if status == sys::Status::napi_ok && count <= 2 { Ok(words) } else { Err(Fault::Argument) }
    }

    /// Writes plain values into an ArrayBuffer that has room for them.
    pub(crate) fn write<T: Copy>(&self, index: usize, values: &[T]) -> std::result::Result<(), Fault> {
        // SAFETY: nothing else has it in use here.
        let buffer = unsafe { self.buffer(index) }?;
        if buffer.len() < size_of_val(values) {
            return Err(Fault::Argument);
        }
        // SAFETY: there is room. Copied as bytes, so that any alignment will do.
        unsafe {
            ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), buffer.as_mut_ptr(), size_of_val(values));
        }
        Ok(())
    }

    /// The bytes of an ArrayBuffer.
    ///
    /// # Safety
    ///
    /// No JavaScript runs, and nothing else reads or writes these bytes, while they are in use.
    #[expect(clippy::mut_from_ref, reason = "they are not a part of this call, but of what it was given")]
    unsafe fn buffer(&self, index: usize) -> std::result::Result<&mut [u8], Fault> {
        let (mut data, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: as in `whole`.
        let status =
            unsafe { sys::napi_get_arraybuffer_info(self.env, self.arguments[index], &raw mut data, &raw mut bytes) };
        match status {
            sys::Status::napi_ok if bytes == 0 => Ok(&mut []),
            // SAFETY: Node says that so many bytes are there, and the caller that they are nobody else's for now.
            sys::Status::napi_ok => Ok(unsafe { slice::from_raw_parts_mut(data.cast::<u8>(), bytes) }),
            _ => Err(Fault::Argument),
        }
    }

    /// What the function was called on if the call was admitted, else undefined: both are at hand, and a boolean isn't.
    #[inline]
    pub(crate) fn return_admitted(&self, admitted: bool) -> Answer {
        Ok(if admitted { self.arguments[0] } else { ptr::null_mut() })
    }

    #[inline]
    pub(crate) fn return_boolean(&self, value: bool) -> Answer {
        let mut result = ptr::null_mut();
        // SAFETY: as in `whole`. It cannot fail with a valid `env`.
        unsafe { sys::napi_get_boolean(self.env, value, &raw mut result) };
        Ok(result)
    }

    pub(crate) fn return_number(&self, value: f64) -> Answer {
        let mut result = ptr::null_mut();
        // SAFETY: as in `whole`. It cannot fail with a valid `env`.
        unsafe { sys::napi_create_double(self.env, value, &raw mut result) };
        Ok(result)
    }

    /// A text of ASCII alone: Node need not look at it.
    pub(crate) fn return_ascii(&self, text: &str) -> Answer {
        debug_assert!(text.is_ascii());
        let mut result = ptr::null_mut();
        let (data, length) = (text.as_ptr().cast(), text.len().cast_signed());
        // SAFETY: as in `whole`; `data` has so many bytes, which are copied. It fails only for texts of half a gigabyte.
        unsafe { sys::napi_create_string_latin1(self.env, data, length, &raw mut result) };
        Ok(result)
    }

    pub(crate) fn return_bigint(&self, value: u64) -> Answer {
        let mut result = ptr::null_mut();
        // SAFETY: as in `whole`. It cannot fail with a valid `env`.
        unsafe { sys::napi_create_bigint_uint64(self.env, value, &raw mut result) };
        Ok(result)
    }

    pub(crate) fn return_wide(&self, words: [u64; 2]) -> Answer {
        let mut result = ptr::null_mut();
        // SAFETY: as in `whole`. It cannot fail with a valid `env` and two words.
        unsafe { sys::napi_create_bigint_words(self.env, 0, words.len(), words.as_ptr(), &raw mut result) };
        Ok(result)
    }

    /// Node takes a null pointer for undefined.
    pub(crate) fn return_undefined() -> Answer {
        Ok(ptr::null_mut())
    }
}
