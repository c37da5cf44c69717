//! # Quotas
//!
//! Quotas as structs, for programs that compute them. Algorithms, and what they bound (L tokens per period P, burst B):
//!
//! - gcra: a token bucket that holds B and refills evenly. At most B + t * L / P in every interval of length t.
//! - fixed_window: at most L in each window. Up to 2 * L in some interval of length P, astride of two windows.
//! - sliding_window: two counters, the last window's weighed by how much of it still counts. At most L * (1 + t / P) in
//!   any t up to P. Under steady overload it grants about (L - 1) / P: for a small L choose gcra or the log.
//! - sliding_log: at most L in every interval of length P, exactly. Remembers each grant, in 16 bytes: L up to
//!   2^24.

use crate::border::{
    Mistake, Sized32, check_flags, check_limit, check_reserved, checked, guard, guard_and_tell, object, quota_text,
    sized,
};
use crate::layout::layout;
use crate::object::tidegate_rate_limiter;
use crate::rate_limiter::{build, tidegate_rate_limiter_options};
use std::ffi::c_char;
use std::time::Duration;
use tidegate_core::{Algorithm, Anchor, MAX_COST, Quota, Status};

/// The default: gcra. since 1
pub const TIDEGATE_ALGORITHM_DEFAULT: u32 = 0;

/// Token bucket (the generic cell rate algorithm of ITU-T I.371). since 1
pub const TIDEGATE_ALGORITHM_GCRA: u32 = 1;

/// One counter for each window. since 1
pub const TIDEGATE_ALGORITHM_FIXED_WINDOW: u32 = 2;

/// Two weighed counters. since 1
pub const TIDEGATE_ALGORITHM_SLIDING_WINDOW: u32 = 3;

/// Every grant is remembered. since 1
pub const TIDEGATE_ALGORITHM_SLIDING_LOG: u32 = 4;

/// The default: first. since 1
pub const TIDEGATE_ANCHOR_DEFAULT: u32 = 0;

/// A fixed window begins with the first call that is allowed after the last window ended. since 1
pub const TIDEGATE_ANCHOR_FIRST: u32 = 1;

/// Fixed windows begin at whole multiples of the period since the Unix epoch. since 1
pub const TIDEGATE_ANCHOR_CLOCK: u32 = 2;

/// Flag of tidegate_quota: a limit of 0 is meant, and refuses everything. since 1
pub const TIDEGATE_QUOTA_LIMIT_ZERO: u32 = 1;

/// The most quotas that a limiter may have. since 1
pub const TIDEGATE_MAX_QUOTAS: usize = 16;

/// Bytes that hold the text of any one quota, with its NUL. since 1
#[expect(dead_code, reason = "for C alone")]
pub const TIDEGATE_QUOTA_TEXT_SIZE: usize = 128;

/// What a rate limiter enforces. 64 bytes. since 1
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tidegate_quota {
    /// sizeof(tidegate_quota). In an array each element says the same.
    pub struct_size: u32,
    /// 0 or TIDEGATE_QUOTA_LIMIT_ZERO.
    pub flags: u32,
    /// Tokens per period: 1 to TIDEGATE_MAX_COST, or 0 with TIDEGATE_QUOTA_LIMIT_ZERO.
    pub limit: u64,
    /// The period: 1 ns to 2 years of 365 days.
    pub period_ns: u64,
    /// The most tokens that may be spent at once: 1 to TIDEGATE_MAX_COST, and only with gcra; 0 for as many as limit.
    pub burst: u64,
    /// One of TIDEGATE_ALGORITHM_*.
    pub algorithm: u32,
    /// One of TIDEGATE_ANCHOR_*; TIDEGATE_ANCHOR_CLOCK only with fixed windows.
    pub anchor: u32,
    /// All 0.
    pub reserved: [u64; 3],
}

layout! { tidegate_quota: 64 {
    struct_size: 0,
    flags: 4,
    limit: 8,
    period_ns: 16,
    burst: 24,
    algorithm: 32,
    anchor: 36,
    reserved: 40,
} }

// SAFETY: integers, which fill 64 bytes.
unsafe impl Sized32 for tidegate_quota {}

impl TryFrom<tidegate_quota> for Quota {
    type Error = Mistake;

    fn try_from(quota: tidegate_quota) -> Result<Self, Mistake> {
        check_flags(quota.flags, TIDEGATE_QUOTA_LIMIT_ZERO)?;
        check_reserved(&quota.reserved)?;
        let zero = quota.flags & TIDEGATE_QUOTA_LIMIT_ZERO != 0;
        check_limit(quota.limit, MAX_COST, zero, "TIDEGATE_QUOTA_LIMIT_ZERO")?;
        let algorithm = match quota.algorithm {
            TIDEGATE_ALGORITHM_DEFAULT | TIDEGATE_ALGORITHM_GCRA => Algorithm::Gcra,
            TIDEGATE_ALGORITHM_FIXED_WINDOW => Algorithm::FixedWindow,
            TIDEGATE_ALGORITHM_SLIDING_WINDOW => Algorithm::SlidingWindow,
            TIDEGATE_ALGORITHM_SLIDING_LOG => Algorithm::SlidingLog,
            unknown => return Err(Mistake::new(Status::InvalidOption, "algorithm", unknown, "0 to 4")),
        };
        let anchor = match quota.anchor {
            TIDEGATE_ANCHOR_DEFAULT | TIDEGATE_ANCHOR_FIRST => Anchor::First,
            TIDEGATE_ANCHOR_CLOCK => Anchor::Clock,
            unknown => return Err(Mistake::new(Status::InvalidOption, "anchor", unknown, "0 to 2")),
        };
        let period = Duration::from_nanos(quota.period_ns);
        let plain = Quota::new(quota.limit, period).with_algorithm(algorithm).with_anchor(anchor);
        let whole = if quota.burst == 0 { plain } else { plain.with_burst(quota.burst) };
        whole.validate()?;
        Ok(whole)
    }
}

impl TryFrom<&Quota> for tidegate_quota {
    type Error = Mistake;

    fn try_from(quota: &Quota) -> Result<Self, Mistake> {
        let unknown =
            |argument, name| Mistake::new(Status::Unsupported, argument, name, "one that ABI 1 has a number for");
        let algorithm = match quota.algorithm() {
            Algorithm::Gcra => TIDEGATE_ALGORITHM_GCRA,
            Algorithm::FixedWindow => TIDEGATE_ALGORITHM_FIXED_WINDOW,
            Algorithm::SlidingWindow => TIDEGATE_ALGORITHM_SLIDING_WINDOW,
            Algorithm::SlidingLog => TIDEGATE_ALGORITHM_SLIDING_LOG,
            other => return Err(unknown("algorithm", other.name())),
        };
        let anchor = match quota.anchor() {
            Anchor::First => TIDEGATE_ANCHOR_FIRST,
            Anchor::Clock => TIDEGATE_ANCHOR_CLOCK,
            other => return Err(unknown("anchor", other.name())),
        };
        Ok(Self {
            struct_size: size_of::<Self>() as u32,
            flags: if quota.limit() == 0 { TIDEGATE_QUOTA_LIMIT_ZERO } else { 0 },
            limit: quota.limit(),
            period_ns: quota.period_ns(),
            burst: if quota.burst() == quota.limit() { 0 } else { quota.burst() },
            algorithm,
            anchor,
            reserved: [0; 3],
        })
    }
}

/// An array of the caller's, whose elements are as large as the first one says.
///
/// # Safety
///
/// `quotas` is NULL or may be read for `count` such elements.
pub(crate) unsafe fn read_all(quotas: *const tidegate_quota, count: usize) -> Result<Vec<Quota>, Mistake> {
    if count == 0 || count > TIDEGATE_MAX_QUOTAS {
        let allowed = format!("1 to {TIDEGATE_MAX_QUOTAS} quotas");
        return Err(Mistake::new(Status::InvalidOption, "quotas", format_args!("{count} quotas"), allowed));
    }
    // SAFETY: as the caller vouches.
    let (first, stride) = unsafe { sized(quotas, "quotas") }?;
    let mut all = vec![first.try_into()?];
    for index in 1..count {
        // SAFETY: as the caller vouches: `count` elements, `stride` apart.
        let (quota, size) = unsafe { sized(quotas.byte_add(index * stride), "quotas") }?;
        if size != stride {
            let allowed = format!("{stride}, as in the first quota");
            return Err(Mistake::new(Status::StructSize, "struct_size", size, allowed));
        }
        all.push(quota.try_into()?);
    }
    Ok(all)
}

/// # Safety
///
/// `quotas_out` is NULL or may be written for `capacity` elements; `count_out` is NULL or may be written.
pub(crate) unsafe fn write_all(
    quotas: &[Quota],
    quotas_out: *mut tidegate_quota,
    capacity: usize,
    count_out: *mut usize,
) -> Result<Status, Mistake> {
    let quotas_out = checked(quotas_out, "quotas_out")?;
    let count_out = checked(count_out, "count_out")?;
    if capacity < quotas.len() {
        let allowed = format!("at least {} for these quotas", quotas.len());
        return Err(Mistake::new(Status::InvalidOption, "capacity", capacity, allowed));
    }
    let structs = quotas.iter().map(tidegate_quota::try_from).collect::<Result<Vec<_>, _>>()?;
    // SAFETY: as the caller vouches; there are at most `capacity`.
    unsafe {
        quotas_out.copy_from_nonoverlapping(structs.as_ptr(), structs.len());
        count_out.write(structs.len());
    }
    Ok(Status::Allowed)
}

/// Reads a text of one or more quotas, as in "Rate limiters".
///
/// `quotas_out` is an array of `capacity` elements; TIDEGATE_MAX_QUOTAS are always enough. Its elements need no
/// preparation: they are written in the layout of ABI 1, with their struct_size, and the rest stays as it is.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text is not acceptable or the array too short.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_quota_parse(
    text: *const c_char,
    length: usize,
    quotas_out: *mut tidegate_quota,
    capacity: usize,
    count_out: *mut usize,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        // SAFETY: the header asks for a text of this length.
        let quotas = Quota::parse_list(unsafe { quota_text(text, length) }?)?;
        // SAFETY: the header asks for places to write to.
        unsafe { write_all(&quotas, quotas_out, capacity, count_out) }
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// Writes a quota's text in its shortest usual form, such as "100/s burst 20", ended by a NUL.
///
/// `text_out` is a buffer of `text_size` bytes; TIDEGATE_QUOTA_TEXT_SIZE are always enough. `length_out` receives the length
/// without the NUL.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the quota is not acceptable or the buffer too small;
/// TIDEGATE_ERROR_STRUCT_SIZE.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_quota_format(
    quota: *const tidegate_quota,
    text_out: *mut c_char,
    text_size: usize,
    length_out: *mut usize,
) -> i32 {
    guard(|| {
        let text_out = checked(text_out, "text_out")?;
        let length_out = checked(length_out, "length_out")?;
        // SAFETY: the header asks for a quota.
        let (quota, _) = unsafe { sized(quota, "quota") }?;
        let text = Quota::try_from(quota)?.to_string();
        if text_size <= text.len() {
            let allowed = format!("at least {} for this quota", text.len() + 1);
            return Err(Mistake::new(Status::InvalidOption, "text_size", text_size, allowed));
        }
        // SAFETY: the text and its NUL fit into the buffer that the header asks for.
        unsafe {
            text_out.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
            text_out.add(text.len()).write(0);
            length_out.write(text.len());
        }
        Ok(Status::Allowed)
    })
}

/// Makes a rate limiter from `count` quotas, all of which must admit, with nothing used. Else as
/// tidegate_rate_limiter_parse().
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if a quota, the count or an option is not acceptable;
/// TIDEGATE_ERROR_STRUCT_SIZE.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_new(
    quotas: *const tidegate_quota,
    count: usize,
    options: *const tidegate_rate_limiter_options,
    limiter_out: *mut *mut tidegate_rate_limiter,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        // SAFETY: the header asks for so many quotas.
        let quotas = unsafe { read_all(quotas, count) }?;
        // SAFETY: the header asks for options or NULL, and for a place to write to.
        unsafe { build(quotas, options, limiter_out) }
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// tidegate_rate_limiter_reconfigure_text() for quotas in structs.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if a quota or the count is not acceptable or changes what must stay;
/// TIDEGATE_ERROR_STRUCT_SIZE.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_reconfigure(
    limiter: *const tidegate_rate_limiter,
    quotas: *const tidegate_quota,
    count: usize,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for so many quotas.
        limiter.0.reconfigure(unsafe { read_all(quotas, count) }?)?;
        Ok(Status::Allowed)
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// The quotas that a limiter enforces now, in the order of its list; the array is as in tidegate_quota_parse().
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the array is too short.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_quotas(
    limiter: *const tidegate_rate_limiter,
    quotas_out: *mut tidegate_quota,
    capacity: usize,
    count_out: *mut usize,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let quotas = unsafe { object(limiter, "limiter") }?.0.quotas();
        // SAFETY: the header asks for places to write to.
        unsafe { write_all(&quotas, quotas_out, capacity, count_out) }
    })
}
