//! What a refusal says: what was asked, and what stops it.

use crate::argument::shown;
use crate::error::{Closed, ExceedsCapacity, QueueFull, Refused, TimedOut};
use crate::time::seconds_from_ns;
use pyo3::prelude::*;
use tidegate::{Decision, Quota, Status};

/// Whose budget it is, for the texts below; without keys they get "".
#[cold]
pub fn of_key(key: &Bound<'_, PyAny>) -> String {
    format!(" for key {}", shown(key))
}

/// Why a keyed limiter refused a key that it has no room for.
#[cold]
pub fn no_room(whose: &str, max_keys: u64) -> String {
    format!("refused: no room{whose} beside those that count already (max_keys={max_keys})")
}

/// Why a rate limiter of these quotas refused so many tokens.
#[cold]
pub fn of_tokens(cost: u64, whose: &str, decision: &Decision, quotas: &[Quota]) -> String {
    let (index, asked) = (decision.quota(), counted(cost, "token"));
    let quota = quotas[index];
    let name = if quotas.len() == 1 { quota.to_string() } else { format!("{quota} (quotas[{index}])") };
    if decision.status() == Status::ExceedsCapacity {
        return format!("cost {cost} can never be had: {name} holds at most {}", quota.burst());
    }
    if decision.limit() == 0 {
        return format!("refused: {asked} asked{whose}, and the limit is 0: {name}");
    }
    // Of several quotas what remains is the least, whichever of them has to be waited for.
    let available = match quotas.len() {
        1 => format!("{} of {} available", decision.remaining(), quota.burst()),
        _ => format!("{} available", decision.remaining()),
    };
    format!(
        "refused: {asked} asked{whose}, {available}, retry in {} s: {name}",
        seconds_from_ns(decision.retry_after_ns())
    )
}

/// Why a concurrency limiter refused so many permits; `available` are free now.
#[cold]
pub fn of_permits(permits: u64, whose: &str, status: Status, limit: u64, available: u64) -> String {
    let asked = counted(permits, "permit");
    if status == Status::ExceedsCapacity {
        return format!("{asked} can never be had: the limit is {limit}");
    }
    if status == Status::Closed {
        return format!("closed: {asked} asked{whose}");
    }
    if limit == 0 {
        return format!("refused: {asked} asked{whose}, and the limit is 0");
    }
    // Some may have come back since; when this was refused there were fewer than asked.
    let available = available.min(permits - 1);
    format!("refused: {asked} asked{whose}, {available} of {limit} available")
}

/// How a wait came to nothing.
pub struct Ended {
    pub status: Status,
    pub number: u64,
    pub elapsed_ns: u64,
    pub timeout_ns: Option<u64>,
}

/// Why a concurrency limiter ended a wait.
#[cold]
pub fn of_wait_for_permits(ended: &Ended, limit: u64, in_flight: u64, waiting: u64) -> String {
    of_wait(ended, "permit", &format!("limit {limit}, {in_flight} in flight, {waiting} waiting"))
}

/// Why a rate limiter of these quotas ended a wait.
#[cold]
pub fn of_wait_for_tokens(ended: &Ended, quotas: &[Quota], waiting: u64) -> String {
    let quotas = quotas.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    of_wait(ended, "token", &format!("limit {quotas}, {waiting} waiting"))
}

fn of_wait(ended: &Ended, noun: &str, figures: &str) -> String {
    let asked = counted(ended.number, noun);
    let told = match ended.status {
        Status::ExceedsCapacity => format!("{asked} can never be had"),
        Status::TimedOut => format!("timed out: {asked} asked"),
        Status::QueueFull => format!("queue full: {asked} asked"),
        Status::Closed => format!("closed: {asked} asked"),
        other => format!("{other}: {asked} asked"),
    };
    // For people, in whole milliseconds; the exception has it exactly.
    let waited = seconds_from_ns(ended.elapsed_ns / 1_000_000 * 1_000_000);
    let most = ended.timeout_ns.map_or(String::new(), |ns| format!(" of {} s", seconds_from_ns(ns)));
    format!("{told}, {figures}, waited {waited} s{most}")
}

/// The figures of a wait: elapsed, timeout, limit, in_flight and waiting, as the exceptions take them.
pub type Figures = (f64, Option<f64>, u64, Option<u64>, u64);

/// The exception of a wait that ended with this status.
#[cold]
pub fn raised(status: Status, text: String, (elapsed, timeout, limit, in_flight, waiting): Figures) -> PyErr {
    let arguments = (None::<()>, text, elapsed, timeout, limit, in_flight, waiting);
    match status {
        Status::TimedOut => TimedOut::new_err(arguments),
        Status::QueueFull => QueueFull::new_err(arguments),
        Status::Closed => Closed::new_err(arguments),
        Status::ExceedsCapacity => ExceedsCapacity::new_err(arguments),
        _ => Refused::new_err(arguments),
    }
}

fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
