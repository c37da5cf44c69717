//! Gates: what is asked and told now and then.

use crate::gate::Keeper;
use crate::handle::Handle;
use crate::wait::{Told, Waits};
use napi::bindgen_prelude::Either;
use napi::{Error, Result, Status};
use napi_derive::napi;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::{Arc, PoisonError};
use tidegate::gate::{Entry, Fault, Faults, Format, GateEvent, RateLimitHeaders, Refusal, Reloaded, Watch};
use tidegate::{IPV6_PREFIX, NEVER_NS, Quota, Stats};

/// Events that JavaScript has not fetched yet: what finds no room is dropped.
const ROOM: usize = 1_024;

fn ms(ns: u64) -> f64 {
    if ns == NEVER_NS { f64::INFINITY } else { ns as f64 / 1e6 }
}

#[napi(object, object_from_js = false)]
pub struct RulesReloaded {
    pub unchanged: Vec<String>,
    pub changed: Vec<String>,
    pub restarted: Vec<String>,
    pub added: Vec<String>,
    pub removed: Vec<String>,
}

impl From<Reloaded> for RulesReloaded {
    fn from(Reloaded { unchanged, changed, restarted, added, removed, .. }: Reloaded) -> Self {
        Self { unchanged, changed, restarted, added, removed }
    }
}

#[napi(object, object_from_js = false)]
pub struct RuleFault {
    pub message: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub rule: Option<String>,
    pub argument: String,
    pub value: String,
    pub allowed: String,
}

impl From<Fault> for RuleFault {
    fn from(fault: Fault) -> Self {
        let message = fault.to_string();
        let Fault { file, line, rule, argument, value, allowed, .. } = fault;
        Self { message, file, line, rule, argument, value, allowed }
    }
}

type Changed<T> = Either<T, Vec<RuleFault>>;

fn changed<T, U: From<T>>(result: std::result::Result<T, Faults>) -> Changed<U> {
    match result {
        Ok(done) => Either::A(done.into()),
        Err(faults) => Either::B(faults.0.into_iter().map(RuleFault::from).collect()),
    }
}

/// `format` is `toml`, `json` or `yaml`, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn gate_reload(gate: &Handle<Keeper>, text: String, format: String) -> Result<Changed<RulesReloaded>> {
    let format: Format = format.parse().map_err(crate::mistake)?;
    Ok(changed(gate.gate.reload(&text, format)))
}

#[napi(catch_unwind)]
pub fn gate_reload_file(gate: &Handle<Keeper>, path: String) -> Changed<RulesReloaded> {
    changed(gate.gate.reload_file(path))
}

/// Ends when the handle goes, or by `gate_unwatch`.
#[napi(catch_unwind)]
pub fn gate_watch_file(gate: &Handle<Keeper>, path: String) -> Either<Handle<FileWatch>, Vec<RuleFault>> {
    match gate.gate.watch_file(path) {
        Ok(watch) => Either::A(Handle::new(FileWatch(Some(watch).into()))),
        Err(faults) => Either::B(faults.0.into_iter().map(RuleFault::from).collect()),
    }
}

pub struct FileWatch(std::cell::Cell<Option<Watch>>);

#[napi(catch_unwind)]
pub fn gate_unwatch(watch: &Handle<FileWatch>) {
    drop(watch.0.take());
}

/// In JSON, as a file has them.
#[napi(catch_unwind)]
pub fn gate_rules(gate: &Handle<Keeper>) -> String {
    gate.gate.rules().to_json()
}

#[napi(object, object_from_js = false)]
pub struct Explained {
    pub json: String,
    pub text: String,
}

/// `names` and `values` are of the same length; `cost` is a whole number from 1, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn gate_explain(gate: &Handle<Keeper>, names: Vec<String>, values: Vec<crate::key::Key>, cost: f64) -> Explained {
    let request: Vec<(&str, &[u8])> = names.iter().map(String::as_str).zip(values.iter().map(AsRef::as_ref)).collect();
    let explanation = gate.gate.explain(&request, cost as u64);
    Explained { json: explanation.to_json(), text: explanation.to_string() }
}

#[napi(object, object_from_js = false)]
pub struct GateFigures {
    pub admitted: f64,
    pub refused: f64,
    pub unmatched: f64,
    pub released_ok: f64,
    pub released_failed: f64,
    pub rules: Vec<RuleFigures>,
}

#[napi(object, object_from_js = false)]
pub struct RuleFigures {
    pub name: String,
    pub mode: &'static str,
    pub admitted: f64,
    pub refused: f64,
    pub waiting: f64,
    pub timed_out: f64,
    pub cancelled: f64,
    pub limit: f64,
    pub in_flight: f64,
    pub available: f64,
    pub live_keys: f64,
    pub evicted_live: f64,
    pub capacity: f64,
}

#[napi(catch_unwind)]
pub fn gate_stats(gate: &Handle<Keeper>) -> GateFigures {
    let stats = gate.gate.stats();
    let rules = stats.rules.into_iter().map(|rule| {
        let Stats {
            waiting, timed_out, cancelled, limit, in_flight, available, live_keys, evicted_live, capacity, ..
        } = rule.limiter;
        RuleFigures {
            name: rule.name,
            mode: rule.mode.name(),
            admitted: rule.admitted as f64,
            refused: rule.refused as f64,
            waiting: waiting as f64,
            timed_out: timed_out as f64,
            cancelled: cancelled as f64,
            limit: limit as f64,
            in_flight: in_flight as f64,
            available: available as f64,
            live_keys: live_keys as f64,
            evicted_live: evicted_live as f64,
            capacity: capacity as f64,
        }
    });
    GateFigures {
        admitted: stats.admitted as f64,
        refused: stats.refused as f64,
        unmatched: stats.unmatched as f64,
        released_ok: stats.released_ok as f64,
        released_failed: stats.released_failed as f64,
        rules: rules.collect(),
    }
}

/// Why the last request was refused. Fetched at once, since the next refusal takes its place.
#[napi(catch_unwind)]
pub fn gate_refusal(gate: &Handle<Keeper>) -> Option<Handle<Refusal>> {
    gate.take_refusal().map(|refusal| Handle::new(*refusal))
}

#[napi(object, object_from_js = false)]
pub struct RefusalFigures {
    pub message: String,
    pub rule: String,
    pub key: Option<String>,
    pub status: &'static str,
    pub limit: f64,
    pub remaining: f64,
    pub quota: Option<String>,
    pub quotas: Vec<String>,
    pub retry_after_ms: Option<f64>,
    pub in_flight: f64,
    pub waiting: f64,
    pub elapsed_ms: f64,
    pub timeout_ms: Option<f64>,
}

#[napi(catch_unwind)]
pub fn refusal_figures(refusal: &Handle<Refusal>) -> RefusalFigures {
    RefusalFigures {
        message: refusal.to_string(),
        rule: refusal.rule.clone(),
        key: refusal.key.clone(),
        status: refusal.status.name(),
        limit: refusal.limit as f64,
        remaining: refusal.remaining as f64,
        quota: refusal.quota.map(|quota| quota.to_string()),
        quotas: refusal.quotas.iter().map(ToString::to_string).collect(),
        retry_after_ms: refusal.retry_after_ns.map(ms),
        in_flight: refusal.in_flight as f64,
        waiting: refusal.waiting as f64,
        elapsed_ms: refusal.elapsed.as_secs_f64() * 1e3,
        timeout_ms: refusal.timeout.map(|timeout| timeout.as_secs_f64() * 1e3),
    }
}

#[napi(catch_unwind)]
pub fn refusal_problem(refusal: &Handle<Refusal>) -> String {
    refusal.problem_json()
}

/// What the older headers say.
#[napi(object, object_from_js = false)]
pub struct LegacyHeaders {
    pub limit: f64,
    pub remaining: f64,
    pub reset_ms: Option<f64>,
}

/// The headers of a response.
#[napi(object, object_from_js = false)]
pub struct RefusalHeaders {
    pub retry_after: Option<f64>,
    /// RateLimit-Policy and RateLimit, with a line break between them.
    pub rate_limit: Option<String>,
    pub legacy: LegacyHeaders,
}

#[napi(catch_unwind)]
pub fn refusal_headers(refusal: &Handle<Refusal>) -> RefusalHeaders {
    let RateLimitHeaders { policy, limit, retry_after_s, .. } = refusal.headers();
    let reset_ms = refusal.retry_after_ns.filter(|ns| *ns != NEVER_NS).map(ms);
    let most = most(refusal.limit, refusal.quota.as_ref(), refusal.remaining);
    RefusalHeaders {
        retry_after: retry_after_s.map(|seconds| seconds as f64),
        rate_limit: (!policy.is_empty()).then(|| format!("{policy}\n{limit}")),
        legacy: LegacyHeaders { limit: most as f64, remaining: refusal.remaining as f64, reset_ms },
    }
}

/// What X-RateLimit-Limit says: the limit, or the burst if that is more; never less than -Remaining. A key with a quota of its own has
/// another limit than the rule's quota, whose burst is not its.
fn most(limit: u64, quota: Option<&Quota>, remaining: u64) -> u64 {
    let burst = quota.filter(|quota| quota.limit() == limit).map_or(0, Quota::burst);
    limit.max(burst).max(remaining)
}

/// Of the quota that has least left; nothing if no quota was asked, or the entry was released.
#[napi(catch_unwind)]
pub fn gate_entry_legacy(gate: &Handle<Keeper>, place: f64) -> Option<LegacyHeaders> {
    let legacy = |entry: &Entry| {
        let least = entry.figures().min_by_key(|figures| figures.remaining)?;
        let reset_ms = Some(least.reset_after_ns).filter(|ns| *ns != NEVER_NS).map(ms);
        let quota = &least.quotas[least.quota_index];
        let limit = most(quota.limit(), Some(quota), least.remaining) as f64;
        Some(LegacyHeaders { limit, remaining: least.remaining as f64, reset_ms })
    };
    gate.of_entry(place as u64, legacy).flatten()
}

/// The names of the rules that gave something; none once it was released.
#[napi(catch_unwind)]
pub fn gate_entry_rules(gate: &Handle<Keeper>, place: f64) -> Vec<String> {
    gate.of_entry(place as u64, |entry| entry.rules().map(String::from).collect()).unwrap_or_default()
}

/// From now on the inbox tells `id` when there are events to fetch.
#[napi(catch_unwind)]
pub fn gate_listen(gate: &Handle<Keeper>, waits: &Handle<Rc<Waits>>, id: f64) -> Result<()> {
    let events = Arc::clone(&gate.events);
    let inbox = Arc::clone(&waits.inbox);
    let listener = move |event| {
        let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = events.is_empty();
        if events.len() < ROOM {
            events.push_back(event);
        }
        drop(events);
        if is_first {
            inbox.put(Told { id: id as u64, status: tidegate::Status::PollAgain, grant: [0; 3] });
        }
    };
    gate.gate.listen(listener).map_err(|error| Error::new(Status::GenericFailure, error.to_string()))
}

#[napi(object, object_from_js = false)]
pub struct Happened {
    pub event: &'static str,
    pub refusal: Option<Handle<Refusal>>,
    pub reloaded: Option<RulesReloaded>,
    pub faults: Option<Vec<RuleFault>>,
}

#[napi(catch_unwind)]
pub fn gate_next_event(gate: &Handle<Keeper>) -> Option<Happened> {
    let event = gate.events.lock().unwrap_or_else(PoisonError::into_inner).pop_front()?;
    let mut happened = Happened { event: event.name(), refusal: None, reloaded: None, faults: None };
    match event {
        GateEvent::Refused(refusal) | GateEvent::ShadowRefused(refusal) => {
            happened.refusal = Some(Handle::new(refusal));
        }
        GateEvent::Reloaded(reloaded) => happened.reloaded = Some(reloaded.into()),
        GateEvent::ReloadFailed(faults) => {
            happened.faults = Some(faults.0.into_iter().map(RuleFault::from).collect());
        }
        // Of a kind that is newer than this: its name says so.
        _ => {}
    }
    Some(happened)
}

/// Whom an address stands for, as text: itself, or the network of an IPv6 address. Nothing if it is none.
#[napi(catch_unwind)]
pub fn client_of(address: String) -> Option<String> {
    let address = address.split('%').next()?.parse::<IpAddr>().ok()?;
    Some(match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let network = address.to_bits() & (u128::MAX << (128 - IPV6_PREFIX));
            format!("{}/{IPV6_PREFIX}", std::net::Ipv6Addr::from_bits(network))
        }
    })
}
