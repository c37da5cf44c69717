//! Native objects that JavaScript holds and cannot look into.

use napi::bindgen_prelude::{FromNapiRef, ToNapiValue, TypeName, ValidateNapiValue};
use napi::{Error, Result, Status, ValueType, check_status, sys};
use std::any::TypeId;
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr;

/// An object that lives until JavaScript's value for it is collected, or its environment ends.
///
/// napi's own `External` asks a table behind a lock whether a pointer is one of ours, which costs more than a decision.
/// These values stay inside `lib/`, so that none but ours come back; of which kind one is, its first bytes tell.
#[repr(C)]
pub struct Handle<T: 'static> {
    kind: TypeId,
    object: T,
}

impl<T> Handle<T> {
    pub(crate) fn new(object: T) -> Self {
        Self { kind: TypeId::of::<T>(), object }
    }

    /// The handle that a value stands for, if it stands for one of this kind.
    ///
    /// # Safety
    ///
    /// `env` and `value` are of the call that is under way, and the handle is not used after it: until then the value, and
    /// so the handle, is kept.
    #[inline]
    pub(crate) unsafe fn get<'call>(env: sys::napi_env, value: sys::napi_value) -> Option<&'call Self> {
        let mut data = ptr::null_mut();
        // SAFETY: `env` and `value` are valid, says the caller, and `data` has room. No external: an error is returned.
        let status = unsafe { sys::napi_get_value_external(env, value, &raw mut data) };
        if status != sys::Status::napi_ok || data.is_null() {
            return None;
        }
        // SAFETY: every external that gets here was made by `to_napi_value` and begins with its kind.
        let kind = unsafe { *data.cast::<TypeId>() };
        // SAFETY: it is of this kind, hence a `Self`, which is shared only; it is kept as long as the caller says.
        (kind == TypeId::of::<T>()).then(|| unsafe { &*data.cast::<Self>() })
    }
}

impl<T> Deref for Handle<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T> ToNapiValue for Handle<T> {
    unsafe fn to_napi_value(env: sys::napi_env, handle: Self) -> Result<sys::napi_value> {
        let data = Box::into_raw(Box::new(handle));
        let mut value = ptr::null_mut();
        // SAFETY: `env` is valid, says the caller; `free` gets `data` back with the type that it has here.
        let status =
            unsafe { sys::napi_create_external(env, data.cast(), Some(free::<T>), ptr::null_mut(), &raw mut value) };
        if status != sys::Status::napi_ok {
            // SAFETY: no value was made, so that the box is still ours.
            drop(unsafe { Box::from_raw(data) });
        }
        check_status!(status, "a handle could not be made")?;
        Ok(value)
    }
}

unsafe extern "C" fn free<T: 'static>(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: `to_napi_value` gave this box to the value that is now gone, and Node calls its finalizer once.
    drop(unsafe { Box::from_raw(data.cast::<Handle<T>>()) });
}

// What `#[napi]` needs to take `&Handle<T>`.

impl<T> FromNapiRef for Handle<T> {
    unsafe fn from_napi_ref(env: sys::napi_env, value: sys::napi_value) -> Result<&'static Self> {
        // SAFETY: `#[napi]` calls this for an argument, and lets go of the reference when the call returns.
        unsafe { Self::get(env, value) }
            .ok_or_else(|| Error::new(Status::InvalidArg, "handle: got something else; allowed: one of this kind"))
    }
}

impl<T> TypeName for &Handle<T> {
    fn type_name() -> &'static str {
        "Handle"
    }

    fn value_type() -> ValueType {
        ValueType::External
    }
}

impl<T> ValidateNapiValue for &Handle<T> {}
