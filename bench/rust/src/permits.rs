//! Permits that are taken and given back.

use crate::peers::{Nothing, Semaphore, at_once, block_on, call_if_ready, call_when_ready};
use crate::rounds::{Case, report, together};
use std::hint::black_box;
use tidegate::{ConcurrencyLimiter, ConcurrencyOptions};
use tower::limit::ConcurrencyLimit;

const CALLS: u32 = 200_000;
const LIMIT: usize = 10;

struct Subjects {
    ours: ConcurrencyLimiter,
    tokio: tokio::sync::Semaphore,
    tower: ConcurrencyLimit<Nothing>,
}

fn subjects() -> Subjects {
    Subjects {
        ours: ConcurrencyLimiter::new(LIMIT as u64).expect("a limit"),
        tokio: tokio::sync::Semaphore::new(LIMIT),
        tower: ConcurrencyLimit::new(Nothing, LIMIT),
    }
}

/// All lend as many permits at once, before anything is timed.
pub fn same_work() {
    let Subjects { ours, tokio, mut tower } = subjects();
    let lent = (
        (0..20).filter_map(|_| ours.try_acquire()).collect::<Vec<_>>().len(),
        (0..20).filter_map(|_| tokio.try_acquire().ok()).collect::<Vec<_>>().len(),
        (0..20).filter_map(|_| call_if_ready(&mut tower)).collect::<Vec<_>>().len(),
    );
    assert_eq!(lent, (LIMIT, LIMIT, LIMIT));
}

pub fn lend(rounds: usize) {
    let Subjects { ours, tokio, mut tower } = subjects();
    report(
        "concurrency try_acquire + release",
        together(
            rounds,
            &mut [
                Case::new("tidegate", CALLS, || drop(black_box(&ours).try_acquire().expect("free"))),
                Case::new("tokio", CALLS, || drop(black_box(&tokio).try_acquire().expect("free"))),
                Case::new("tower", CALLS, || drop(call_if_ready(black_box(&mut tower)).expect("free"))),
                Case::new("tidegate acquire", CALLS, || drop(black_box(&ours).acquire(None).expect("free"))),
            ],
        ),
    );
    let tracked = ConcurrencyOptions::new().track_hold_time(true).build(LIMIT as u64).expect("a limit");
    report(
        "concurrency try_acquire + release, hold times",
        together(
            rounds,
            &mut [Case::new("tidegate", CALLS, || drop(black_box(&tracked).try_acquire().expect("free")))],
        ),
    );
}

/// There is a permit for each thread, so that nobody is refused.
pub fn contended(rounds: usize, threads: usize) {
    let calls = 2_000_000 / threads as u32;
    let Subjects { ours, tokio, tower } = subjects();
    report(
        &format!("concurrency try_acquire + release, {threads} threads"),
        together(
            rounds,
            &mut [
                Case::contended("tidegate", calls, threads, || || drop(ours.try_acquire().expect("free"))),
                Case::contended("tokio", calls, threads, || || drop(tokio.try_acquire().expect("free"))),
                Case::contended("tower", calls / 10, threads, || {
                    let mut tower = tower.clone();
                    move || drop(call_if_ready(&mut tower).expect("free"))
                }),
            ],
        ),
    );
}

/// Where a permit is free: on the calling thread, and as a future.
pub fn wait(rounds: usize) {
    let Subjects { ours, tokio, mut tower } = subjects();
    let plain = Semaphore::new(LIMIT);
    report(
        "acquire + release",
        together(
            rounds,
            &mut [
                Case::new("tidegate", CALLS, || drop(black_box(&ours).acquire(None).expect("free"))),
                Case::new("tokio", CALLS, || drop(block_on(black_box(&tokio).acquire()).expect("not closed"))),
                Case::new("Mutex + Condvar", CALLS, || {
                    black_box(&plain).acquire();
                    plain.release();
                }),
            ],
        ),
    );
    report(
        "await acquire + release",
        together(
            rounds,
            &mut [
                Case::new("tidegate", CALLS, || drop(at_once(black_box(&ours).acquire_async()).expect("not closed"))),
                Case::new("tokio", CALLS, || drop(at_once(black_box(&tokio).acquire()).expect("not closed"))),
                Case::new("tower", CALLS, || at_once(call_when_ready(black_box(&mut tower)))),
            ],
        ),
    );
}

/// Two threads, two limiters of one permit each: who takes a permit of one gives back that of the other, which the other thread
/// waits for. So they alternate strictly, and each call is a hand-over.
pub fn hand_over(rounds: usize, calls: u32) {
    let [ping, pong] = [(); 2].map(|()| ConcurrencyLimiter::new(1).expect("a limit"));
    // Without hold times all permits of a limiter are the same data.
    let [of_ping, of_pong] = [&ping, &pong].map(|limiter| limiter.acquire_raw(1, None).expect("free"));
    ping.release(&of_ping, true).expect("held");
    let [tokio_ping, tokio_pong] = [1, 0].map(tokio::sync::Semaphore::new);
    let [plain_ping, plain_pong] = [1, 0].map(Semaphore::new);
    let ours = |take: &ConcurrencyLimiter, give: &ConcurrencyLimiter, held| {
        let _held = take.acquire_raw(1, None).expect("no end");
        give.release(held, true).expect("held by the other");
    };
    let theirs = |take: &tokio::sync::Semaphore, give: &tokio::sync::Semaphore| {
        block_on(take.acquire()).expect("not closed").forget();
        give.add_permits(1);
    };
    report(
        "hand-over between 2 threads",
        together(
            rounds,
            &mut [
                Case::alternating("tidegate", calls, || ours(&ping, &pong, &of_pong), || ours(&pong, &ping, &of_ping)),
                Case::alternating(
                    "tokio",
                    calls,
                    || theirs(&tokio_ping, &tokio_pong),
                    || theirs(&tokio_pong, &tokio_ping),
                ),
                Case::alternating(
                    "Mutex + Condvar",
                    calls,
                    || {
                        plain_ping.acquire();
                        plain_pong.release();
                    },
                    || {
                        plain_pong.acquire();
                        plain_ping.release();
                    },
                ),
            ],
        ),
    );
}
