//! Waiting on a thread, beside tokio's Semaphore and one of a textbook.

use crate::peers::{Semaphore, block_on};
use crate::rounds::{Case, report, together};
use tidegate::ConcurrencyLimiter;

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
