//! What a refusal says: what was asked, and what stops it.

use crate::argument::shown;
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
    if limit == 0 {
        return format!("refused: {asked} asked{whose}, and the limit is 0");
    }
    // Some may have come back since; when this was refused there were fewer than asked.
    let available = available.min(permits - 1);
    format!("refused: {asked} asked{whose}, {available} of {limit} available")
}

fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
