//! tidegate's core beside its peers in Rust, interleaved in one process. Prints JSON lines; `bench/run.py` reads them.

mod gate;
mod keyed;
mod memory;
mod order;
mod peers;
mod permits;
mod rate;
mod rounds;

/// More than any loop here can spend.
pub const PLENTY: u64 = 1_000_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [child, subject] = &arguments[..]
        && child == memory::CHILD
    {
        return memory::child(subject);
    }
    // tower's limits set timers; the rest doesn't notice.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let _inside = runtime.enter();
    rate::same_work();
    keyed::same_work();
    permits::same_work();

    let quick = std::env::var_os("QUICK").is_some();
    let rounds = if quick { 7 } else { 21 };
    rate::allowed(rounds);
    rate::refused(rounds);
    rate::figures(rounds);
    rate::several(rounds);
    rate::awaited(rounds);
    rate::one_call(rounds);
    for threads in [2, 10] {
        rate::contended(rounds, threads);
    }
    keyed::gcra(rounds);
    keyed::contended(rounds);
    memory::all(if quick { 1 } else { 5 });
    permits::lend(rounds);
    for threads in [2, 10] {
        permits::contended(rounds, threads);
    }
    permits::wait(rounds);
    permits::hand_over(rounds, if quick { 20_000 } else { 50_000 });
    gate::enter(rounds);
    rate::counter_race(if quick { 1 } else { 3 });
}
