//! Runs conformance scripts (`docs/design.md`, §12) and prints their transcript. Arguments: the files.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;
use tidegate::{
    Algorithm, Anchor, ConcurrencyLimiter, ConcurrencyOptions, Decision, ManualClock, NEVER_NS, Quota, RateLimiter,
    RawPermit, Stats,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

enum Limiter {
    Rate(Box<RateLimiter>),
    Concurrency(Box<ConcurrencyLimiter>),
}

/// What a script has made so far.
#[derive(Default)]
struct Script {
    clock: ManualClock,
    limiters: HashMap<String, Limiter>,
    decisions: HashMap<String, Decision>,
    /// `None`: refused or released.
    permits: HashMap<String, (String, Option<RawPermit>)>,
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
                _ => println!(
                    "{} {}",
                    index + 1,
                    script.answer(&words).map_err(|fault| format!("{path}:{line}: {fault}"))?
                ),
            }
        }
    }
    Ok(())
}

impl Script {
    /// The answer to one command; a mistake that the library names is an answer too.
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
                    Some(text) => RateLimiter::with_clock(decoded(text).as_str(), &self.clock)?,
                    None => RateLimiter::with_clock(quotas(rest)?, &self.clock)?,
                };
                self.limiters.insert(name.to_owned(), Limiter::Rate(Box::new(limiter)));
            }
            ["conc", name, ref rest @ ..] => {
                let tracked = value(rest, "track_hold_time") == Some("1");
                let options = ConcurrencyOptions::new().track_hold_time(tracked).clock(&self.clock);
                let limiter = options.build(value(rest, "limit").ok_or("limit")?.parse()?)?;
                self.limiters.insert(name.to_owned(), Limiter::Concurrency(Box::new(limiter)));
            }
            [verb @ ("try" | "decide" | "peek"), name, ref rest @ ..] => {
                let cost = value(rest, "cost").map_or(Ok(1), str::parse)?;
                return self.ask(verb, name, cost, value(rest, "as"));
            }
            ["refund", name, id] => self.rate(name)?.refund(self.decisions.get(id).ok_or("no such decision")?)?,
            ["release", id, ref rest @ ..] => self.release(id, rest != ["failed"])?,
            ["reset", name] => self.rate(name)?.reset(),
            ["reconfigure", name, ref rest @ ..] => self.rate(name)?.reconfigure(quotas(rest)?)?,
            ["limit", name, limit] => self.concurrency(name)?.set_limit(limit.parse()?)?,
            ["stats", name] => return self.stats(name),
            _ => return Err("no such command".into()),
        }
        Ok(done)
    }

    fn ask(&mut self, verb: &str, name: &str, cost: u64, id: Option<&str>) -> Result<String> {
        let said = |admitted| (if admitted { "allowed" } else { "refused" }).to_owned();
        match self.limiters.get(name).ok_or("no such limiter")? {
            Limiter::Rate(limiter) if verb == "try" => Ok(said(limiter.try_acquire_n(cost)?)),
            Limiter::Rate(limiter) => {
                let decision = if verb == "decide" { limiter.decide_n(cost)? } else { limiter.peek_n(cost)? };
                let figures = figures(&decision);
                if let Some(id) = id {
                    self.decisions.insert(id.to_owned(), decision);
                }
                Ok(figures)
            }
            Limiter::Concurrency(limiter) => {
                let permit = limiter.try_acquire_raw(cost)?.ok();
                let answer = said(permit.is_some());
                if let Some(id) = id {
                    self.permits.insert(id.to_owned(), (name.to_owned(), permit));
                }
                Ok(answer)
            }
        }
    }

    fn release(&mut self, id: &str, ok: bool) -> Result<()> {
        let (name, permit) = self.permits.get(id).ok_or("no such permit")?;
        let limiter = self.concurrency(name)?;
        let spent = RawPermit { limiter_id: limiter.id(), permits: 0, acquired_at_ns: 0 };
        limiter.release(permit.as_ref().unwrap_or(&spent), ok)?;
        let name = name.clone();
        self.permits.insert(id.to_owned(), (name, None));
        Ok(())
    }

    fn stats(&self, name: &str) -> Result<String> {
        match self.limiters.get(name).ok_or("no such limiter")? {
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
                    let ns = |duration: Duration| duration.as_nanos();
                    write!(text, " hold_total={} hold_max={}", ns(stats.hold_time_total), ns(stats.hold_time_max))?;
                }
                Ok(text)
            }
        }
    }

    fn rate(&self, name: &str) -> Result<&RateLimiter> {
        match self.limiters.get(name) {
            Some(Limiter::Rate(limiter)) => Ok(limiter),
            _ => Err("no such rate limiter".into()),
        }
    }

    fn concurrency(&self, name: &str) -> Result<&ConcurrencyLimiter> {
        match self.limiters.get(name) {
            Some(Limiter::Concurrency(limiter)) => Ok(limiter),
            _ => Err("no such concurrency limiter".into()),
        }
    }
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

fn value<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// `limit= per= [burst= algorithm= anchor=]`, several joined by `+`.
fn quotas(words: &[&str]) -> Result<Vec<Quota>> {
    words.split(|word| *word == "+").map(quota).collect()
}

fn quota(words: &[&str]) -> Result<Quota> {
    let limit = value(words, "limit").ok_or("limit")?.parse()?;
    let per_ns = value(words, "per").ok_or("per")?.parse()?;
    let mut quota = Quota::new(limit, Duration::from_nanos(per_ns));
    if let Some(burst) = value(words, "burst") {
        quota = quota.with_burst(burst.parse()?);
    }
    if let Some(name) = value(words, "algorithm") {
        quota = quota.with_algorithm(name.parse::<Algorithm>()?);
    }
    if let Some(name) = value(words, "anchor") {
        quota = quota.with_anchor(name.parse::<Anchor>()?);
    }
    Ok(quota)
}

/// Percent-decoded text.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = (byte == b'%').then(|| after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok())).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
