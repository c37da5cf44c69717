//! What a refusal says: what was asked, and what stops it.

use crate::argument::shown;
use crate::error::{Closed, ExceedsCapacity, QueueFull, Refused, TimedOut};
use crate::quota::quotas_text;
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

/// How it stood when a wait came to nothing: with the limiter, or with the key.
pub struct Standing<'a> {
    pub noun: &'static str,
    pub whose: &'a str,
    pub limit: u64,
    /// The limit, as the text has it.
    pub shown_limit: String,
    /// None of tokens.
    pub in_flight: Option<u64>,
    pub waiting: u64,
    /// 0 without keys.
    pub max_keys: u64,
}

impl Standing<'_> {
    pub fn of_permits(limit: u64, in_flight: u64, waiting: u64) -> Self {
        let (shown_limit, in_flight) = (limit.to_string(), Some(in_flight));
        Self { noun: "permit", whose: "", limit, shown_limit, in_flight, waiting, max_keys: 0 }
    }

    pub fn of_tokens(quotas: &[Quota], waiting: u64) -> Self {
        let (limit, shown_limit) = (quotas[0].limit(), quotas_text(quotas));
        Self { noun: "token", whose: "", limit, shown_limit, in_flight: None, waiting, max_keys: 0 }
    }
}

/// The exception of a wait that came to nothing.
#[cold]
pub fn of_wait(ended: &Ended, stood: &Standing<'_>) -> PyErr {
    let asked = format!("{} asked{}", counted(ended.number, stood.noun), stood.whose);
    let told = match ended.status {
        Status::ExceedsCapacity => format!("{} can never be had{}", counted(ended.number, stood.noun), stood.whose),
        Status::TimedOut => format!("timed out: {asked}"),
        Status::QueueFull => format!("queue full: {asked}"),
        Status::Closed => format!("closed: {asked}"),
        Status::KeysFull => no_room(stood.whose, stood.max_keys),
        other => format!("{other}: {asked}"),
    };
    let in_flight = stood.in_flight.map_or(String::new(), |permits| format!(", {permits} in flight"));
    // For people, in whole milliseconds; the exception has it exactly.
    let waited = seconds_from_ns(ended.elapsed_ns / 1_000_000 * 1_000_000);
    let timeout = ended.timeout_ns.map(seconds_from_ns);
    let most = timeout.map_or(String::new(), |seconds| format!(" of {seconds} s"));
    let figures = format!("limit {}{in_flight}, {} waiting, waited {waited} s{most}", stood.shown_limit, stood.waiting);
    let arguments = (
        None::<()>,
        format!("{told}, {figures}"),
        seconds_from_ns(ended.elapsed_ns),
        timeout,
        stood.limit,
        stood.in_flight,
        stood.waiting,
    );
    match ended.status {
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
