//! Runs conformance scripts (`docs/design.md`, §12) and prints their transcript. Arguments: the files.

mod reading;
mod waiting;

use reading::{decoded, hex, key_in, listed, quotas, value};
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use tidegate::{
    ConcurrencyLimiter, ConcurrencyOptions, Decision, IntoQuotas, KeyedConcurrencyLimiter, KeyedConcurrencyOptions,
    KeyedRateLimiter, KeyedRateOptions, ManualClock, NEVER_NS, Quota, RateLimiter, RateOptions, RawKeyedPermit,
    RawPermit, Reservation, Stats, Status, ip_key, key_of,
};
use waiting::{Waits, reserve};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

enum Limiter {
    Rate(Box<RateLimiter>),
    Concurrency(Box<ConcurrencyLimiter>),
    KeyedRate(Box<KeyedRateLimiter>),
    KeyedConcurrency(Box<KeyedConcurrencyLimiter>),
}

/// `None`: refused or released.
enum Held {
    Plain(Option<RawPermit>),
    Keyed(Option<RawKeyedPermit>),
}

/// What a script has made so far.
#[derive(Default)]
struct Script {
    clock: ManualClock,
    limiters: HashMap<String, Limiter>,
    decisions: HashMap<String, Decision>,
    /// Each with the name of its limiter.
    permits: HashMap<String, (String, Held)>,
    reservations: HashMap<String, Reservation>,
    waits: Waits,
}

fn main() -> Result<()> {
    for path in std::env::args().skip(1) {
        println!("file {}", Path::new(&path).file_name().ok_or("not a file")?.to_string_lossy());
        let mut script = Script::default();
        for (index, line) in std::fs::read_to_string(&path)?.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] => {}
                ["script", name] => {
                    println!("script {name}");
                    script = Script::default();
                }
                _ => {
                    for answer in script.answers(&words).map_err(|fault| format!("{path}:{line}: {fault}"))? {
                        println!("{} {answer}", index + 1);
                    }
                }
            }
        }
    }
    Ok(())
}

impl Script {
    /// The answer to one command, and the waits that it ended.
    fn answers(&mut self, words: &[&str]) -> Result<Vec<String>> {
        let mut answers = vec![self.answer(words)?];
        for ended in self.waits.ended()? {
            answers.push(format!("{} {}", ended.name, ended.said));
            if let Some((limiter, permit)) = ended.permit {
                self.permits.insert(ended.name, (limiter, permit));
            }
        }
        Ok(answers)
    }

    /// A mistake that the library names is an answer too.
    fn answer(&mut self, words: &[&str]) -> Result<String> {
        self.run(words).or_else(|fault| match fault.downcast::<tidegate::Error>() {
            Ok(mistake) => Ok(format!("error {}", mistake.argument())),
            Err(fault) => Err(fault),
        })
    }

    fn run(&mut self, words: &[&str]) -> Result<String> {
        let done = "ok".to_owned();
        match *words {
            ["advance", ns] => self.clock.advance_ns(ns.parse()?),
            ["set_clock", ns] => self.clock.set_ns(ns.parse()?),
            ["parse", text] => {
                let quotas = Quota::parse_list(&decoded(value(&[text], "text").ok_or("text")?))?;
                return Ok(format!("ok {}", quotas.iter().map(Quota::to_string).collect::<Vec<_>>().join("; ")));
            }
            ["rate", name, ref rest @ ..] => {
                let limiter = match value(rest, "text") {
                    Some(text) => self.rate_limiter(decoded(text).as_str(), rest)?,
                    None => self.rate_limiter(quotas(rest)?, rest)?,
                };
                self.limiters.insert(name.to_owned(), limiter);
            }
            ["conc", name, ref rest @ ..] => {
                let limiter = self.concurrency_limiter(rest)?;
                self.limiters.insert(name.to_owned(), limiter);
            }
            [verb @ ("try" | "decide" | "peek"), name, ref rest @ ..] => {
                let cost = value(rest, "cost").map_or(Ok(1), str::parse)?;
                return self.ask(verb, name, key_in(rest), cost, value(rest, "as"));
            }
            ["wait", waiter, name, ref rest @ ..] => return self.wait(waiter, name, rest),
            ["cancel", waiter] => {
                let limiter = self.limiters.get(self.waits.limiter_of(waiter)?).ok_or("no such limiter")?;
                return Ok(self.waits.cancel(waiter, limiter)?.to_owned());
            }
            ["close", name] => match self.limiter(name)? {
                Limiter::Concurrency(limiter) => limiter.close(),
                Limiter::KeyedConcurrency(limiter) => limiter.close(),
                _ => return Err("no such concurrency limiter".into()),
            },
            ["waiting", name] => {
                let Stats { waiting, timed_out, cancelled, .. } = match self.limiter(name)? {
                    Limiter::Rate(limiter) => limiter.stats(),
                    Limiter::Concurrency(limiter) => limiter.stats(),
                    Limiter::KeyedRate(limiter) => limiter.stats(),
                    Limiter::KeyedConcurrency(limiter) => limiter.stats(),
                };
                return Ok(format!("ok waiting={waiting} timed_out={timed_out} cancelled={cancelled}"));
            }
            ["reserve", name, ref rest @ ..] => {
                return match reserve(self.limiter(name)?, rest)? {
                    Ok(reservation) => {
                        let answer = format!("granted wait={}", reservation.wait_ns);
                        if let Some(id) = value(rest, "as") {
                            self.reservations.insert(id.to_owned(), reservation);
                        }
                        Ok(answer)
                    }
                    Err(status) => Ok(status.name().to_owned()),
                };
            }
            ["unreserve", name, id, ref rest @ ..] => {
                let reservation = self.reservations.remove(id).ok_or("no such reservation")?;
                let credited = match (self.limiter(name)?, key_in(rest)) {
                    (Limiter::Rate(limiter), None) => limiter.cancel_reservation(reservation)?,
                    (Limiter::KeyedRate(limiter), Some(key)) => limiter.cancel_reservation(key, reservation)?,
                    _ => return Err("a rate limiter, with a key if it is keyed".into()),
                };
                return Ok(if credited { "credited" } else { "not_credited" }.to_owned());
            }
            ["many", name, keys, ref rest @ ..] => {
                let keys = listed(value(&[keys], "keys").ok_or("keys")?);
                return self.ask_many(name, &keys, value(rest, "cost").map_or(Ok(1), str::parse)?);
            }
            ["refund", name, id, ref rest @ ..] => self.refund(name, id, key_in(rest))?,
            ["release", id, ref rest @ ..] => self.release(id, rest != ["failed"])?,
            ["reset", name, ref rest @ ..] => match (self.limiter(name)?, key_in(rest)) {
                (Limiter::Rate(limiter), None) => limiter.reset(),
                (Limiter::KeyedRate(limiter), Some(key)) => limiter.reset(key),
                _ => return Err("a rate limiter, with a key if it is keyed".into()),
            },
            ["reconfigure", name, ref rest @ ..] => match self.limiter(name)? {
                Limiter::Rate(limiter) => limiter.reconfigure(quotas(rest)?)?,
                Limiter::KeyedRate(limiter) => limiter.reconfigure(quotas(rest)?)?,
                _ => return Err("no such rate limiter".into()),
            },
            ["quota", name, key, ref rest @ ..] => {
                let (limiter, key) = (self.keyed_rate(name)?, key_in(&[key]).ok_or("key")?);
                match value(rest, "text") {
                    Some(text) => limiter.set_quota(key, decoded(text).as_str())?,
                    None => limiter.set_quota(key, quotas(rest)?)?,
                }
            }
            ["clear", name, key] => self.keyed_rate(name)?.clear_quota(key_in(&[key]).ok_or("key")?),
            ["top", name, most] => {
                let top = self.keyed_rate(name)?.top_denied(value(&[most], "n").ok_or("n")?.parse()?);
                let told = top.iter().map(|denied| format!(" {}:{}:{}", hex(&denied.key), denied.count, denied.error));
                return Ok(format!("ok{}", told.collect::<String>()));
            }
            ["limit", name, limit] => match self.limiter(name)? {
                Limiter::Concurrency(limiter) => limiter.set_limit(limit.parse()?)?,
                Limiter::KeyedConcurrency(limiter) => limiter.set_limit(limit.parse()?)?,
                _ => return Err("no such concurrency limiter".into()),
            },
            ["in_flight", name, key] => match self.limiter(name)? {
                Limiter::KeyedConcurrency(limiter) => {
                    return Ok(format!("ok {}", limiter.in_flight(key_in(&[key]).ok_or("key")?)));
                }
                _ => return Err("no such keyed concurrency limiter".into()),
            },
            ["key", parts] => {
                return Ok(format!("ok {}", hex(&key_of(&listed(value(&[parts], "parts").ok_or("parts")?)))));
            }
            ["ip", address, ref rest @ ..] => {
                // Reading an address is the standard library's.
                let Ok(address) = decoded(value(&[address], "address").ok_or("address")?).parse() else {
                    return Ok("error address".to_owned());
                };
                let prefix = value(rest, "prefix").map(str::parse).transpose()?;
                return Ok(format!("ok {}", hex(&ip_key(address, prefix)?)));
            }
            ["stats", name] => return self.stats(name),
            _ => return Err("no such command".into()),
        }
        Ok(done)
    }

    /// Keyed if there is `max_keys=`.
    fn rate_limiter(&self, quotas: impl IntoQuotas, words: &[&str]) -> Result<Limiter> {
        let Some(max_keys) = value(words, "max_keys") else {
            let mut options = RateOptions::new().clock(&self.clock);
            if let Some(max_waiters) = value(words, "max_waiters") {
                options = options.max_waiters(max_waiters.parse()?);
            }
            return Ok(Limiter::Rate(Box::new(options.build(quotas)?)));
        };
        let mut options = KeyedRateOptions::new().max_keys(max_keys.parse()?).clock(&self.clock);
        if let Some(name) = value(words, "when_full") {
            options = options.when_full(name.parse()?);
        }
        if let Some(entries) = value(words, "track_denied") {
            options = options.track_denied(entries.parse()?);
        }
        if let Some(max_waiters) = value(words, "max_waiters") {
            options = options.max_waiters(max_waiters.parse()?);
        }
        Ok(Limiter::KeyedRate(Box::new(options.build(quotas)?)))
    }

    fn concurrency_limiter(&self, words: &[&str]) -> Result<Limiter> {
        let limit = value(words, "limit").ok_or("limit")?.parse()?;
        let tracked = value(words, "track_hold_time") == Some("1");
        if let Some(max_keys) = value(words, "max_keys") {
            let mut options = KeyedConcurrencyOptions::new().max_keys(max_keys.parse()?).track_hold_time(tracked);
            if let Some(max_waiters) = value(words, "max_waiters") {
                options = options.max_waiters(max_waiters.parse()?);
            }
            return Ok(Limiter::KeyedConcurrency(Box::new(options.clock(&self.clock).build(limit)?)));
        }
        let mut options = ConcurrencyOptions::new().track_hold_time(tracked).clock(&self.clock);
        if let Some(max_waiters) = value(words, "max_waiters") {
            options = options.max_waiters(max_waiters.parse()?);
        }
        Ok(Limiter::Concurrency(Box::new(options.build(limit)?)))
    }

    fn ask(&mut self, verb: &str, name: &str, key: Option<Vec<u8>>, cost: u64, id: Option<&str>) -> Result<String> {
        let decision = match (self.limiter(name)?, key) {
            (Limiter::Rate(limiter), None) => match verb {
                "try" => return Ok(said(limiter.try_acquire_n(cost)?).to_owned()),
                "decide" => limiter.decide_n(cost)?,
                _ => limiter.peek_n(cost)?,
            },
            (Limiter::KeyedRate(limiter), Some(key)) => match verb {
                "try" => return Ok(said(limiter.try_acquire_n(key, cost)?).to_owned()),
                "decide" => limiter.decide_n(key, cost)?,
                _ => limiter.peek_n(key, cost)?,
            },
            (Limiter::Concurrency(limiter), None) => {
                let permit = limiter.try_acquire_raw(cost)?.ok();
                return Ok(self.keep(name, id, permit.is_some(), Held::Plain(permit)));
            }
            (Limiter::KeyedConcurrency(limiter), Some(key)) => {
                let permit = limiter.try_acquire_raw(key, cost)?.ok();
                return Ok(self.keep(name, id, permit.is_some(), Held::Keyed(permit)));
            }
            _ => return Err("a key, for keyed limiters and only for them".into()),
        };
        let figures = figures(&decision);
        if let Some(id) = id {
            self.decisions.insert(id.to_owned(), decision);
        }
        Ok(figures)
    }

    fn wait(&mut self, waiter: &str, name: &str, words: &[&str]) -> Result<String> {
        let limiter = self.limiters.get(name).ok_or("no such limiter")?;
        let (said, permit) = self.waits.wait(waiter, (name, limiter), words)?;
        if let Some(permit) = permit {
            self.permits.insert(waiter.to_owned(), (name.to_owned(), permit));
        }
        Ok(said.to_owned())
    }

    fn keep(&mut self, name: &str, id: Option<&str>, admitted: bool, held: Held) -> String {
        if let Some(id) = id {
            self.permits.insert(id.to_owned(), (name.to_owned(), held));
        }
        said(admitted).to_owned()
    }

    fn ask_many(&self, name: &str, keys: &[Vec<u8>], cost: u64) -> Result<String> {
        let limiter = self.keyed_rate(name)?;
        let mut statuses = vec![Status::Denied; keys.len()];
        limiter.try_acquire_many(keys, cost, &mut statuses)?;
        let answers: Vec<_> = statuses.iter().map(|status| said(*status == Status::Allowed)).collect();
        Ok(format!("ok {}", answers.join(",")))
    }

    fn refund(&self, name: &str, id: &str, key: Option<Vec<u8>>) -> Result<()> {
        let decision = self.decisions.get(id).ok_or("no such decision")?;
        match (self.limiter(name)?, key) {
            (Limiter::Rate(limiter), None) => limiter.refund(decision)?,
            (Limiter::KeyedRate(limiter), Some(key)) => limiter.refund(key, decision)?,
            _ => return Err("a rate limiter, with a key if it is keyed".into()),
        }
        Ok(())
    }

    fn release(&mut self, id: &str, ok: bool) -> Result<()> {
        let (name, held) = self.permits.get(id).ok_or("no such permit")?;
        let released = match (self.limiter(name)?, held) {
            (Limiter::Concurrency(limiter), Held::Plain(permit)) => {
                let spent = RawPermit { limiter_id: limiter.id(), permits: 0, acquired_at_ns: 0, process: 0 };
                limiter.release(permit.as_ref().unwrap_or(&spent), ok)?;
                Held::Plain(None)
            }
            (Limiter::KeyedConcurrency(limiter), Held::Keyed(permit)) => {
                let spent = RawKeyedPermit { limiter_id: limiter.id(), key_hash: [0; 2], permits: 0 };
                limiter.release(permit.as_ref().unwrap_or(&spent), ok)?;
                Held::Keyed(None)
            }
            _ => return Err("another limiter has the name by now".into()),
        };
        let name = name.clone();
        self.permits.insert(id.to_owned(), (name, released));
        Ok(())
    }

    fn stats(&self, name: &str) -> Result<String> {
        match self.limiter(name)? {
            Limiter::KeyedRate(limiter) => {
                let Stats { allowed, denied, evicted_live, capacity, .. } = limiter.stats();
                Ok(format!("ok allowed={allowed} denied={denied} evicted_live={evicted_live} capacity={capacity}"))
            }
            Limiter::KeyedConcurrency(limiter) => {
                let stats = limiter.stats();
                let Stats { limit, allowed, denied, released_ok, released_failed, capacity, .. } = stats;
                let mut text = format!(
                    "ok limit={limit} allowed={allowed} denied={denied} released_ok={released_ok} \
                     released_failed={released_failed} capacity={capacity}"
                );
                if limiter.tracks_hold_time() {
                    text += &hold_times(&stats);
                }
                Ok(text)
            }
            Limiter::Rate(limiter) => {
                let Stats { allowed, denied, .. } = limiter.stats();
                Ok(format!("ok allowed={allowed} denied={denied}"))
            }
            Limiter::Concurrency(limiter) => {
                let stats = limiter.stats();
                let mut text = format!(
                    "ok limit={} in_flight={} available={} allowed={} denied={} released_ok={} released_failed={}",
                    stats.limit,
                    stats.in_flight,
                    stats.available,
                    stats.allowed,
                    stats.denied,
                    stats.released_ok,
                    stats.released_failed
                );
                if limiter.tracks_hold_time() {
                    text += &hold_times(&stats);
                }
                Ok(text)
            }
        }
    }

    fn keyed_rate(&self, name: &str) -> Result<&KeyedRateLimiter> {
        match self.limiter(name)? {
            Limiter::KeyedRate(limiter) => Ok(limiter),
            _ => Err("no such keyed rate limiter".into()),
        }
    }

    fn limiter(&self, name: &str) -> Result<&Limiter> {
        Ok(self.limiters.get(name).ok_or("no such limiter")?)
    }
}

fn hold_times(stats: &Stats) -> String {
    format!(" hold_total={} hold_max={}", stats.hold_time_total.as_nanos(), stats.hold_time_max.as_nanos())
}

fn said(admitted: bool) -> &'static str {
    if admitted { "allowed" } else { "refused" }
}

fn figures(decision: &Decision) -> String {
    let time = |ns: u64| if ns == NEVER_NS { "never".to_owned() } else { ns.to_string() };
    format!(
        "{} limit={} remaining={} retry_after={} reset_after={} quota={}",
        decision.status(),
        decision.limit(),
        decision.remaining(),
        time(decision.retry_after_ns()),
        time(decision.reset_after_ns()),
        decision.quota()
    )
}
