//! What a gate tells of itself, in JSON.

use crate::gate_refusal::saturating_ns;
use crate::stats::tidegate_stats;
use crate::status::TIDEGATE_NEVER_NS;
use serde_json::{Value, json};
use tidegate_core::Stats;
use tidegate_core::gate::{Fault, Faults, GateEvent, GateStats, Refusal, Reloaded, Rules};

pub(crate) fn rules(rules: &Rules) -> String {
    // Texts, numbers, lists and maps with names of text: nothing that could fail.
    serde_json::to_string(rules).unwrap_or_default()
}

pub(crate) fn reloaded(Reloaded { unchanged, changed, restarted, added, removed, .. }: &Reloaded) -> Value {
    json!({
        "unchanged": unchanged,
        "changed": changed,
        "restarted": restarted,
        "added": added,
        "removed": removed,
    })
}

pub(crate) fn stats(stats: &GateStats) -> Value {
    let rules = stats.rules.iter().map(|rule| {
        json!({
            "name": rule.name,
            "mode": rule.mode,
            "admitted": rule.admitted,
            "refused": rule.refused,
            "limiter": limiter(rule.limiter),
        })
    });
    json!({
        "admitted": stats.admitted,
        "refused": stats.refused,
        "unmatched": stats.unmatched,
        "released_ok": stats.released_ok,
        "released_failed": stats.released_failed,
        "rules": rules.collect::<Value>(),
    })
}

fn limiter(stats: Stats) -> Value {
    let stats = tidegate_stats::from(stats);
    json!({
        "allowed": stats.allowed,
        "denied": stats.denied,
        "timed_out": stats.timed_out,
        "cancelled": stats.cancelled,
        "limit": stats.limit,
        "in_flight": stats.in_flight,
        "available": stats.available,
        "waiting": stats.waiting,
        "evicted_live": stats.evicted_live,
        "released_ok": stats.released_ok,
        "released_failed": stats.released_failed,
        "hold_time_total_ns": stats.hold_time_total_ns,
        "hold_time_max_ns": stats.hold_time_max_ns,
        "live_keys": stats.live_keys,
        "capacity": stats.capacity,
    })
}

pub(crate) fn event(event: &GateEvent, dropped: u64) -> Value {
    let (field, value) = match event {
        GateEvent::Refused(refused) | GateEvent::ShadowRefused(refused) => ("refusal", refusal(refused)),
        GateEvent::Reloaded(changed) => ("reloaded", reloaded(changed)),
        GateEvent::ReloadFailed(Faults(wrong)) => ("faults", wrong.iter().map(fault).collect()),
        // Of a kind that is newer than this: its name says so.
        _ => return json!({ "event": event.name(), "dropped": dropped }),
    };
    json!({ "event": event.name(), "dropped": dropped, field: value })
}

fn refusal(refusal: &Refusal) -> Value {
    json!({
        "rule": refusal.rule,
        "key": refusal.key,
        "status": refusal.status.name(),
        "limit": refusal.limit,
        "remaining": refusal.remaining,
        "quota": refusal.quota.map(|quota| quota.to_string()),
        "quota_index": refusal.quota_index,
        "quotas": refusal.quotas.iter().map(ToString::to_string).collect::<Value>(),
        "retry_after_ns": refusal.retry_after_ns.filter(|ns| *ns != TIDEGATE_NEVER_NS),
        "never": refusal.retry_after_ns == Some(TIDEGATE_NEVER_NS),
        "in_flight": refusal.in_flight,
        "waiting": refusal.waiting,
        "elapsed_ns": saturating_ns(refusal.elapsed),
        "timeout_ns": refusal.timeout.map(saturating_ns).filter(|ns| *ns != TIDEGATE_NEVER_NS),
        "message": refusal.to_string(),
    })
}

fn fault(fault: &Fault) -> Value {
    json!({
        "file": fault.file,
        "line": fault.line,
        "rule": fault.rule,
        "argument": fault.argument,
        "value": fault.value,
        "allowed": fault.allowed,
        "message": fault.to_string(),
    })
}
