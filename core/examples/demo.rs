//! tidegate at work: a handler that lets four in at once, a counter of visits, and ten threads that race for one window.
//!
//! Its last line, `DEMO {...}`, gives what it saw; `demo/run.py` judges it.

use std::sync::Barrier;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};
use tidegate::{ConcurrencyLimiter, Error, RateLimiter};

const CALLERS: usize = 10;
const AT_ONCE: u64 = 4;
const HANDLING: Duration = Duration::from_millis(200);
const RACE_LIMIT: u64 = 5_000_000;
const RACE: Duration = Duration::from_millis(3_500);

fn main() -> Result<(), Error> {
    let (limit_ok, limit_refused) = limit()?;
    println!("limit: ten callers at once on {AT_ONCE} permits: {limit_ok} let in, {limit_refused} refused");
    let nolimit_ok = together(|| true);
    println!("nolimit: ten callers at once: {nolimit_ok} let in");
    let (visit, retry_after) = visit()?;
    println!("visit: three per 2 s, four visits, and one when the window is over: {visit}");
    let race = race()?;
    println!(
        "race: {CALLERS} threads for {:.1} s on {RACE_LIMIT} a second: {} admitted, {} refused, {:.1} million calls a second",
        RACE.as_secs_f64(),
        race.admitted,
        race.refused,
        race.calls_per_s / 1e6
    );
    let ok = (limit_ok, limit_refused) == (4, 6)
        && retry_after
        && nolimit_ok == CALLERS
        && visit == "200 200 200 429 200"
        && race.admitted == 4 * RACE_LIMIT
        && race.refused > 0;
    println!(
        r#"DEMO {{"language": "rust", "limit_ok": {limit_ok}, "limit_refused": {limit_refused}, "retry_after": {retry_after}, "nolimit_ok": {nolimit_ok}, "visit": "{visit}", "race_limit": {RACE_LIMIT}, "race_admitted": {}, "race_refused": {}, "race_calls_per_s": {:.0}, "ok": {ok}}}"#,
        race.admitted, race.refused, race.calls_per_s
    );
    std::process::exit(i32::from(!ok));
}

/// Ten callers at once; how many were let in.
fn together(call: impl Fn() -> bool + Sync) -> usize {
    let barrier = Barrier::new(CALLERS);
    scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    call()
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().expect("no panic")).filter(|let_in| *let_in).count()
    })
}

fn limit() -> Result<(usize, usize), Error> {
    let limiter = ConcurrencyLimiter::new(AT_ONCE)?;
    let let_in = together(|| {
        let permit = limiter.try_acquire();
        if permit.is_some() {
            sleep(HANDLING);
        }
        permit.is_some()
    });
    Ok((let_in, CALLERS - let_in))
}

/// What four visits and one after the wait were told, and whether the refusal named a wait.
fn visit() -> Result<(String, bool), Error> {
    let limiter = RateLimiter::new("3/2s fixed_window")?;
    let mut decisions: Vec<_> = (0..4).map(|_| limiter.decide()).collect();
    let wait = decisions[3].retry_after();
    sleep(wait + Duration::from_millis(5));
    decisions.push(limiter.decide());
    let told = decisions.iter().map(|decision| if decision.allowed() { "200" } else { "429" });
    Ok((told.collect::<Vec<_>>().join(" "), Duration::ZERO < wait && wait <= Duration::from_secs(2)))
}

struct Race {
    admitted: u64,
    refused: u64,
    calls_per_s: f64,
}

/// Windows open at 0, 1, 2 and 3 s, so four times the limit is admitted, however many ask.
fn race() -> Result<Race, Error> {
    let limiter = RateLimiter::new("5000000/s fixed_window")?;
    let barrier = Barrier::new(CALLERS);
    let begun = Instant::now();
    let counts: Vec<(u64, u64)> = scope(|scope| {
        let racers: Vec<_> = (0..CALLERS)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    let (mut admitted, mut refused) = (0, 0);
                    while begun.elapsed() < RACE {
                        for _ in 0..1_000 {
                            if limiter.try_acquire() {
                                admitted += 1;
                            } else {
                                refused += 1;
                            }
                        }
                    }
                    (admitted, refused)
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().expect("no panic")).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let admitted = counts.iter().map(|(admitted, _)| admitted).sum();
    let refused = counts.iter().map(|(_, refused)| refused).sum();
    Ok(Race { admitted, refused, calls_per_s: (admitted + refused) as f64 / seconds })
}
