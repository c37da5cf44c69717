//! Storms: threads that acquire, cancel, time out, release and resize at random, on the real clock. Whatever happened in between,
//! at the end all is back, nobody waits, and nothing is held for those who left.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidegate::{ConcurrencyLimiter, Event, RateLimiter, Started};

const THREADS: u64 = 8;
const ROUNDS: u64 = 100_000 / THREADS;

/// xorshift64*: the same numbers from the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }
}

fn storm(run: impl Fn(&mut Random) + Sync) {
    std::thread::scope(|scope| {
        for seed in 1..=THREADS {
            let run = &run;
            scope.spawn(move || {
                let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                (0..ROUNDS).for_each(|_| run(&mut random));
            });
        }
    });
}

#[test]
fn permits_balance_after_a_storm() {
    let limiter = Arc::new(ConcurrencyLimiter::new(4).unwrap());
    let (inside, ends, waits) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
    storm(|random| {
        let permits = 1 + random.below(3);
        match random.below(8) {
            0..=2 => {
                let timeout = (random.below(4) > 0).then(|| Duration::from_micros(random.below(200)));
                if let Ok(permit) = limiter.acquire_n(permits, timeout) {
                    assert!(inside.fetch_add(permits, Ordering::SeqCst) + permits <= 6, "the highest limit");
                    std::hint::spin_loop();
                    inside.fetch_sub(permits, Ordering::SeqCst);
                    permit.release(random.below(2) == 0);
                }
            }
            3 => drop(limiter.try_acquire_n(permits).unwrap()),
            4 => limiter.set_limit(3 + random.below(4)).unwrap(),
            5 => {
                let mut future = Box::pin(limiter.acquire_async());
                let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
                let _ = future.as_mut().poll(context);
                if random.below(2) == 0 {
                    std::thread::yield_now();
                }
            }
            _ => {
                let listener = {
                    let (limiter, ends) = (Arc::clone(&limiter), Arc::clone(&ends));
                    move |event| match event {
                        Event::Granted(permit) => {
                            limiter.release(&permit, true).unwrap();
                            ends.fetch_add(1, Ordering::Relaxed);
                        }
                        Event::Refused(_) => {
                            ends.fetch_add(1, Ordering::Relaxed);
                        }
                        Event::PollAgain => {}
                    }
                };
                match limiter.acquire_by_ticket(permits, None, listener).unwrap() {
                    Started::Granted(permit) => limiter.release(&permit, true).unwrap(),
                    Started::Refused(_) => {}
                    Started::Pending { ticket, .. } => {
                        waits.fetch_add(1, Ordering::Relaxed);
                        if random.below(2) == 0 {
                            limiter.cancel_ticket(ticket).unwrap();
                        }
                    }
                }
            }
        }
    });
    limiter.set_limit(4).unwrap();
    assert_eq!((limiter.in_flight(), limiter.waiting(), limiter.available()), (0, 0, 4));
    assert_eq!(ends.load(Ordering::Relaxed), waits.load(Ordering::Relaxed), "each wait has one end");
    assert_eq!(inside.load(Ordering::SeqCst), 0);
}

#[test]
fn tokens_are_never_more_than_due_in_a_storm() {
    const PER_SECOND: u64 = 200_000;
    let limiter = Arc::new(RateLimiter::new(format!("{PER_SECOND}/s burst 100").as_str()).unwrap());
    let granted = Arc::new(AtomicU64::new(0));
    let tickets = Mutex::new(Vec::new());
    let began = std::time::Instant::now();
    storm(|random| {
        let cost = 1 + random.below(3);
        match random.below(8) {
            0..=2 => {
                // Never for ever: the head may be a ticket that nobody polls any more.
                let timeout = Duration::from_micros(if random.below(4) > 0 { random.below(300) } else { 100_000 });
                if limiter.acquire_n(cost, timeout).is_ok() {
                    granted.fetch_add(cost, Ordering::Relaxed);
                }
            }
            3 | 4 => {
                if limiter.try_acquire_n(cost).unwrap() {
                    granted.fetch_add(cost, Ordering::Relaxed);
                }
            }
            5 => {
                // Left while it waits; granted tokens that nobody looked at may come back or not, and are not counted.
                let mut future = Box::pin(limiter.acquire_async(cost, None, |_| std::future::ready(())).unwrap());
                let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
                if future.as_mut().poll(context).is_ready() {
                    granted.fetch_add(cost, Ordering::Relaxed);
                }
            }
            _ => {
                let listener = {
                    let granted = Arc::clone(&granted);
                    move |event| {
                        if let Event::Granted(()) = event {
                            granted.fetch_add(cost, Ordering::Relaxed);
                        }
                    }
                };
                match limiter.acquire_by_ticket(cost, Some(Duration::from_millis(1)), listener).unwrap() {
                    Started::Granted(()) => {
                        granted.fetch_add(cost, Ordering::Relaxed);
                    }
                    Started::Refused(_) => {}
                    Started::Pending { ticket, .. } if random.below(2) == 0 => {
                        limiter.cancel_ticket(ticket).unwrap();
                    }
                    Started::Pending { ticket, .. } => tickets.lock().unwrap().push(ticket),
                }
            }
        }
    });
    std::thread::sleep(Duration::from_millis(2));
    for ticket in tickets.into_inner().unwrap() {
        limiter.poll_ticket(ticket).unwrap();
    }
    let due = 100.0 + began.elapsed().as_secs_f64() * PER_SECOND as f64;
    let granted = granted.load(Ordering::Relaxed);
    assert!(granted as f64 <= due, "{granted} of {due}");
    assert_eq!(limiter.waiting(), 0);
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(limiter.peek().remaining(), 100, "nothing is held for those who left");
}
