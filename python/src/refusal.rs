//! What a refusal says: what was asked, and what stops it.

use crate::time::seconds_from_ns;
use tidegate::{ConcurrencyLimiter, Decision, Quota, Status};

/// Why a rate limiter of these quotas refused so many tokens.
#[cold]
pub fn of_tokens(cost: u64, decision: &Decision, quotas: &[Quota]) -> String {
    let (index, asked) = (decision.quota(), counted(cost, "token"));
    let quota = quotas[index];
    let name = if quotas.len() == 1 { quota.to_string() } else { format!("{quota} (quotas[{index}])") };
    if decision.status() == Status::ExceedsCapacity {
        return format!("cost {cost} can never be had: {name} holds at most {}", quota.burst());
    }
    if decision.limit() == 0 {
        return format!("refused: {asked} asked, and the limit is 0: {name}");
    }
    // Of several quotas what remains is the least, whichever of them has to be waited for.
    let available = match quotas.len() {
        1 => format!("{} of {} available", decision.remaining(), quota.burst()),
        _ => format!("{} available", decision.remaining()),
    };
    format!("refused: {asked} asked, {available}, retry in {} s: {name}", seconds_from_ns(decision.retry_after_ns()))
}

/// Why a concurrency limiter refused so many permits.
#[cold]
pub fn of_permits(permits: u64, status: Status, limiter: &ConcurrencyLimiter) -> String {
    let (asked, limit) = (counted(permits, "permit"), limiter.limit());
    if status == Status::ExceedsCapacity {
        return format!("{asked} can never be had: the limit is {limit}");
    }
    if limit == 0 {
        return format!("refused: {asked} asked, and the limit is 0");
    }
    // Some may have come back since; when this was refused there were fewer than asked.
    let available = limiter.available().min(permits - 1);
    format!("refused: {asked} asked, {available} of {limit} available")
}

fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
