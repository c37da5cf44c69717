//! Waiting with keys: each key has a line of its own, and keeps its place while anybody stands in it.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidegate::{
    Event, KeyedConcurrencyLimiter, KeyedConcurrencyOptions, KeyedRateLimiter, KeyedRateOptions, ManualClock, NEVER_NS,
    RawKeyedPermit, Started, Status, Ticket, WhenFull,
};

const SECOND: Duration = Duration::from_secs(1);

type Told = Arc<Mutex<Vec<(String, String)>>>;

fn tell<T>(told: &Told, key: &str, event: &Event<T>) {
    let event = match event {
        Event::Granted(_) => "granted",
        Event::Refused(status) => status.name(),
        Event::PollAgain => return,
    };
    told.lock().unwrap().push((key.to_owned(), event.to_owned()));
}

fn taken(told: &Told) -> Vec<String> {
    std::mem::take(&mut *told.lock().unwrap()).into_iter().map(|(key, event)| format!("{key} {event}")).collect()
}

struct Permits {
    limiter: KeyedConcurrencyLimiter,
    told: Told,
    granted: Arc<Mutex<Vec<RawKeyedPermit>>>,
}

impl Permits {
    fn new(limiter: KeyedConcurrencyLimiter) -> Self {
        Self { limiter, told: Told::default(), granted: Arc::default() }
    }

    fn wait(&self, key: &str, timeout: Option<Duration>) -> Started<RawKeyedPermit> {
        let (told, granted, name) = (self.told.clone(), self.granted.clone(), key.to_owned());
        let listener = move |event| {
            tell(&told, &name, &event);
            if let Event::Granted(permit) = event {
                granted.lock().unwrap().push(permit);
            }
        };
        self.limiter.acquire_by_ticket(key, 1, timeout, listener).unwrap()
    }

    fn waits(&self, key: &str, timeout: Option<Duration>) -> Ticket {
        match self.wait(key, timeout) {
            Started::Pending { ticket, .. } => ticket,
            other => panic!("{other:?}"),
        }
    }

    fn hold(&self, key: &str) -> RawKeyedPermit {
        self.limiter.try_acquire_raw(key, 1).unwrap().unwrap()
    }

    fn release(&self, permit: RawKeyedPermit) {
        self.limiter.release(&permit, true).unwrap();
    }

    fn drain(&self) {
        loop {
            let Some(permit) = self.granted.lock().unwrap().pop() else { break };
            self.release(permit);
        }
        let stats = self.limiter.stats();
        assert_eq!((stats.in_flight, stats.waiting, stats.live_keys), (0, 0, 0));
    }
}

#[test]
fn each_key_has_its_own_line_and_nobody_overtakes_in_it() {
    let permits = Permits::new(KeyedConcurrencyLimiter::new(1, 1_000).unwrap());
    let [ann, bob] = ["ann", "bob"].map(|key| permits.hold(key));
    for key in ["ann", "bob", "ann"] {
        permits.waits(key, None);
    }
    assert_eq!((permits.limiter.waiting("ann"), permits.limiter.waiting("bob")), (2, 1));
    permits.release(bob);
    assert_eq!(taken(&permits.told), ["bob granted"]);
    permits.release(ann);
    assert_eq!(taken(&permits.told), ["ann granted"]);
    assert!(permits.limiter.try_acquire("ann").is_none(), "one still waits");
    assert_eq!(permits.limiter.available("ann"), 0);
    permits.drain();
    assert_eq!(taken(&permits.told), ["ann granted"]);
    assert!(permits.limiter.try_acquire("ann").is_some());
}

#[test]
fn who_times_out_or_leaves_is_passed_over() {
    let clock = ManualClock::new();
    let options = KeyedConcurrencyOptions::new().max_keys(1_000).clock(&clock);
    let permits = Permits::new(options.build(1).unwrap());
    let held = permits.hold("k");
    permits.waits("k", Some(SECOND));
    let second = permits.waits("k", None);
    permits.waits("k", Some(3 * SECOND));
    clock.advance(SECOND);
    assert_eq!(taken(&permits.told), ["k timed_out"]);
    assert!(permits.limiter.cancel_ticket(second).unwrap());
    assert!(!permits.limiter.cancel_ticket(second).unwrap(), "too late");
    assert_eq!(permits.limiter.poll_ticket(second), Ok(None));
    assert!(permits.limiter.poll_ticket(Ticket::from_u64(99 << 32)).is_err());
    permits.release(held);
    assert_eq!(taken(&permits.told), ["k cancelled", "k granted"]);
    permits.drain();
    let stats = permits.limiter.stats();
    assert_eq!((stats.timed_out, stats.cancelled, stats.allowed), (1, 1, 2));
}

#[test]
fn a_key_that_is_waited_for_keeps_its_place() {
    // Eight slots in all.
    let permits = Permits::new(KeyedConcurrencyLimiter::new(0, 1).unwrap());
    let keys = ["0", "1", "2", "3", "4", "5", "6", "7"];
    let tickets = keys.map(|key| permits.waits(key, None));
    assert_eq!(permits.wait("8", None), Started::Refused(Status::KeysFull));
    permits.limiter.set_limit(1).unwrap();
    assert_eq!(taken(&permits.told).len(), 8);
    assert!(permits.limiter.cancel_ticket(tickets[0]).is_ok_and(|won| !won));
    permits.drain();
    assert!(permits.limiter.try_acquire("8").is_some(), "all places are free again");
}

#[test]
fn closing_and_limits_reach_every_key() {
    let permits = Permits::new(KeyedConcurrencyLimiter::new(1, 1_000).unwrap());
    let [ann, bob] = ["ann", "bob"].map(|key| permits.hold(key));
    permits.waits("ann", None);
    permits.waits("bob", None);
    permits.limiter.set_limit(2).unwrap();
    let mut events = taken(&permits.told);
    events.sort();
    assert_eq!(events, ["ann granted", "bob granted"]);
    permits.waits("ann", None);
    permits.limiter.close();
    assert_eq!(taken(&permits.told), ["ann closed"]);
    assert_eq!(permits.limiter.try_acquire_raw("new", 1).unwrap(), Err(Status::Closed));
    assert_eq!(permits.limiter.acquire("ann", None).unwrap_err().status(), Status::Closed);
    permits.release(ann);
    permits.release(bob);
    permits.drain();
}

#[test]
fn no_more_wait_for_a_key_than_may() {
    let options = KeyedConcurrencyOptions::new().max_keys(10).max_waiters(1);
    let permits = Permits::new(options.build(1).unwrap());
    let _held = [permits.hold("a"), permits.hold("b")];
    permits.waits("a", None);
    assert_eq!(permits.wait("a", None), Started::Refused(Status::QueueFull));
    permits.waits("b", None);
}

#[test]
fn permits_of_keys_balance_after_a_storm() {
    const THREADS: u64 = 8;
    let limiter = Arc::new(KeyedConcurrencyLimiter::new(2, 64).unwrap());
    let inside: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for seed in 1..=THREADS {
            let (limiter, inside) = (&limiter, &inside);
            scope.spawn(move || {
                let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                for _ in 0..12_500 {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let key = random % 16;
                    let name = key.to_le_bytes();
                    match random >> 32 & 3 {
                        0 => drop(limiter.try_acquire(name)),
                        1 => {
                            let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
                            let _ = Box::pin(limiter.acquire_async(name)).as_mut().poll(context);
                        }
                        _ => {
                            let timeout = (random >> 40 & 3 > 0).then(|| Duration::from_micros(random >> 50 & 127));
                            if let Ok(permit) = limiter.acquire(name, timeout) {
                                let inside = &inside[key as usize];
                                assert!(inside.fetch_add(1, Ordering::SeqCst) < 2);
                                inside.fetch_sub(1, Ordering::SeqCst);
                                permit.release(true);
                            }
                        }
                    }
                }
            });
        }
    });
    let stats = limiter.stats();
    assert_eq!((stats.in_flight, stats.waiting, stats.live_keys), (0, 0, 0));
}

struct Tokens {
    limiter: KeyedRateLimiter,
    clock: ManualClock,
    told: Told,
}

impl Tokens {
    fn new(quotas: &str) -> Self {
        Self::with(KeyedRateOptions::new().max_keys(1_000), quotas)
    }

    fn with(options: KeyedRateOptions, quotas: &str) -> Self {
        let clock = ManualClock::new();
        Self { limiter: options.clock(&clock).build(quotas).unwrap(), clock, told: Told::default() }
    }

    fn wait(&self, key: &str, cost: u64, timeout: Option<Duration>) -> Started<()> {
        let (told, name) = (self.told.clone(), key.to_owned());
        self.limiter.acquire_by_ticket(key, cost, timeout, move |event| tell(&told, &name, &event)).unwrap()
    }

    fn waits(&self, key: &str) -> Ticket {
        match self.wait(key, 1, None) {
            Started::Pending { ticket, .. } => ticket,
            other => panic!("{other:?}"),
        }
    }
}

const KINDS: [&str; 3] = ["1/s", "1/s fixed_window", "1/s fixed_window anchor clock"];

#[test]
fn tokens_of_each_key_go_to_its_own_line() {
    for quota in KINDS {
        let tokens = Tokens::new(quota);
        assert!(tokens.limiter.try_acquire("ann") && tokens.limiter.try_acquire("bob"));
        tokens.waits("ann");
        tokens.waits("ann");
        tokens.waits("bob");
        let behind = tokens.limiter.decide("ann");
        assert_eq!((behind.status(), behind.remaining()), (Status::Denied, 0), "{quota}");
        assert_eq!(behind.retry_after(), 3 * SECOND, "{quota}: behind two");
        assert!(!tokens.limiter.try_acquire("ann"));
        assert!(tokens.limiter.try_acquire("eve"));
        tokens.clock.advance(SECOND);
        let mut events = taken(&tokens.told);
        events.sort();
        assert_eq!(events, ["ann granted", "bob granted"], "{quota}");
        assert!(!tokens.limiter.try_acquire("ann"), "{quota}: one still waits");
        tokens.clock.advance(SECOND);
        assert_eq!(taken(&tokens.told), ["ann granted"], "{quota}");
        tokens.clock.advance(SECOND);
        assert!(tokens.limiter.try_acquire("ann"), "{quota}");
        assert_eq!(tokens.limiter.stats().waiting, 0);
    }
}

#[test]
fn a_wait_for_a_key_that_would_outlast_its_timeout_does_not_begin() {
    let tokens = Tokens::new("1/s");
    assert!(tokens.limiter.try_acquire("k"));
    tokens.waits("k");
    assert_eq!(tokens.wait("k", 1, Some(SECOND)), Started::Refused(Status::TimedOut));
    assert!(
        matches!(tokens.wait("k", 1, Some(2 * SECOND)), Started::Pending { wake_after_ns, .. } if wake_after_ns == 2_000_000_000)
    );
    assert_eq!(tokens.wait("k", 2, None), Started::Refused(Status::ExceedsCapacity));
    tokens.clock.advance(2 * SECOND);
    assert_eq!(taken(&tokens.told).len(), 2);
}

#[test]
fn who_waits_for_a_key_is_not_forgotten_in_a_flood() {
    for when_full in [WhenFull::Evict, WhenFull::DenyNew] {
        let tokens = Tokens::with(KeyedRateOptions::new().max_keys(1).when_full(when_full), "2/s");
        assert!(tokens.limiter.try_acquire_n("victim", 2).unwrap());
        tokens.waits("victim");
        for flood in 0..1_000 {
            let _ = tokens.limiter.try_acquire_n(format!("{flood}"), 2);
        }
        assert!(!tokens.limiter.try_acquire("victim"));
        tokens.clock.advance(SECOND / 2);
        assert_eq!(taken(&tokens.told), ["victim granted"], "{when_full:?}");
        assert_eq!(tokens.limiter.peek("victim").remaining(), 0, "what it owes was kept");
    }
}

#[test]
fn changes_reach_who_waits_for_a_key() {
    for change in ["refund", "reset", "reconfigure", "set_quota"] {
        let tokens = Tokens::new("1/min");
        let decision = tokens.limiter.decide("k");
        tokens.waits("k");
        match change {
            "refund" => tokens.limiter.refund("k", &decision).unwrap(),
            "reset" => tokens.limiter.reset("k"),
            "reconfigure" => tokens.limiter.reconfigure("2/min").unwrap(),
            _ => tokens.limiter.set_quota("k", "2/min").unwrap(),
        }
        assert_eq!(taken(&tokens.told), ["k granted"], "{change}");
    }
    let tokens = Tokens::new("1/min");
    tokens.limiter.set_quota("k", "2/s").unwrap();
    assert!(tokens.limiter.try_acquire_n("k", 2).unwrap());
    tokens.waits("k");
    tokens.limiter.clear_quota("k");
    assert!(!tokens.limiter.try_acquire("k"), "it is still waited for, where it is now");
    tokens.clock.advance(60 * SECOND);
    assert_eq!(taken(&tokens.told), ["k granted"]);
}

#[test]
fn several_quotas_of_a_key_are_waited_for_as_one() {
    let tokens = Tokens::new("1/s; 2/min fixed_window");
    assert!(tokens.limiter.try_acquire("k"));
    tokens.waits("k");
    tokens.waits("k");
    tokens.clock.advance(SECOND);
    assert_eq!(taken(&tokens.told), ["k granted"]);
    tokens.clock.advance(58 * SECOND);
    assert!(taken(&tokens.told).is_empty());
    tokens.clock.advance(SECOND);
    assert_eq!(taken(&tokens.told), ["k granted"]);
}

#[test]
fn a_late_clock_delays_no_key_whichever_of_its_quotas_had_forgotten_it() {
    let tokens = Tokens::new("1/min; 1/100us fixed_window");
    assert!(tokens.limiter.try_acquire("k"));
    tokens.clock.advance(SECOND);
    // The window is over, so that its table lets go of the key.
    tokens.limiter.reconfigure("1/min; 2/100us fixed_window").unwrap();
    tokens.waits("k");
    tokens.clock.advance(179 * SECOND);
    assert_eq!(taken(&tokens.told), ["k granted"]);
    assert!(tokens.limiter.try_acquire("k"), "it was charged as of one minute, and the next token came a minute later");
}

#[test]
fn only_the_head_of_a_line_needs_a_timer_and_leaving_just_leaves() {
    let tokens = Tokens::new("1/s");
    assert!(tokens.limiter.try_acquire("k"));
    let head = tokens.waits("k");
    let Started::Pending { ticket, wake_after_ns } = tokens.wait("k", 1, None) else { panic!("it waits") };
    assert_eq!(wake_after_ns, NEVER_NS);
    assert!(tokens.limiter.cancel_ticket(ticket).unwrap() && tokens.limiter.cancel_ticket(head).unwrap());
    assert_eq!(tokens.limiter.waiting("k"), 0);
    tokens.clock.advance(SECOND);
    assert!(tokens.limiter.try_acquire("k"));
}

#[test]
fn a_thread_waits_for_tokens_of_a_key() {
    let limiter = KeyedRateLimiter::new("50/s burst 1", 100).unwrap();
    let began = std::time::Instant::now();
    for _ in 0..4 {
        limiter.acquire("k", None).unwrap();
        limiter.acquire("other", None).unwrap();
    }
    assert!(began.elapsed() >= Duration::from_millis(59));
    assert_eq!(limiter.stats().allowed, 8);
}

#[test]
fn tokens_of_a_key_that_nobody_wants_any_more_are_refunded() {
    for quotas in ["10/s burst 10", "10/s burst 10; 100/s"] {
        let tokens = Tokens::new(quotas);
        let limiter = &tokens.limiter;
        let granted = Arc::new(Mutex::new(Vec::new()));
        let wait_for = |key: &'static str| {
            assert!(limiter.try_acquire_n(key, 10).unwrap());
            let granted = granted.clone();
            let listener = move |event| {
                if let Event::Granted(grant) = event {
                    granted.lock().unwrap().push((key, grant));
                }
            };
            let started = limiter.acquire_refundable_by_ticket(key, 5, None, listener).unwrap();
            assert!(matches!(started, Started::Pending { .. }));
        };
        wait_for("ann");
        tokens.clock.advance(2 * SECOND);
        wait_for("ann");
        wait_for("bob");
        tokens.clock.advance(SECOND / 2);
        granted.lock().unwrap()[1..].sort_by_key(|(key, _)| *key);
        let [("ann", long_ago), ("ann", now), ("bob", of_bob)] = granted.lock().unwrap()[..] else {
            panic!("all are due")
        };
        limiter.refund_grant("ann", long_ago).unwrap();
        assert_eq!(limiter.peek("ann").remaining(), 0, "{quotas}: what came back by itself is not given back again");
        assert_eq!(limiter.refund_grant("ann", of_bob).unwrap_err().status(), Status::InvalidDecision);
        limiter.refund_grant("ann", now).unwrap();
        assert_eq!(limiter.peek("ann").remaining(), 5, "{quotas}");
        limiter.reset("bob");
        assert!(limiter.try_acquire_n("bob", 10).unwrap());
        limiter.refund_grant("bob", of_bob).unwrap();
        assert_eq!(limiter.peek("bob").remaining(), 0, "{quotas}: the reset voided it");
    }
}
