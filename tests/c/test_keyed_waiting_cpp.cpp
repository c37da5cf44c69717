// Waiting with keys in tidegate.hpp: on the thread and without one, in a line for each key.

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <type_traits>
#include <vector>

#include "check.h"
#include "thrown.hpp"
#include "tidegate.hpp"

namespace {

using namespace std::chrono_literals;
using tidegate::KeyedConcurrencyLimiter;
using tidegate::KeyedConcurrencyOptions;
using tidegate::KeyedPermit;
using tidegate::KeyedRateLimiter;
using tidegate::KeyedRateOptions;
using tidegate::ManualClock;
using tidegate::Mistake;
using tidegate::Outcome;
using tidegate::Reservation;
using tidegate::RateLimiter;
using tidegate::Status;
using tidegate::Wait;

static_assert(std::is_nothrow_move_constructible_v<Wait<KeyedPermit>> && !std::is_copy_constructible_v<Wait<KeyedPermit>>);
static_assert(noexcept(std::declval<KeyedConcurrencyLimiter &>().acquire("k")));
static_assert(noexcept(std::declval<KeyedRateLimiter &>().acquire("k")));

// Nobody waits and nothing is out.
bool is_at_rest(const KeyedConcurrencyLimiter &limiter) {
    const tidegate::Stats stats = limiter.stats();
    return stats.in_flight == 0 && stats.waiting == 0 && stats.live_keys == 0;
}

void each_key_has_its_own_line_of_permits() {
    KeyedConcurrencyLimiter limiter(1);
    KeyedPermit ann = limiter.acquire("ann"), bob = limiter.acquire("bob", 1, 0s);
    CHECK(ann && bob && ann.status() == Status::allowed);
    Wait<KeyedPermit> a = limiter.acquire_async("ann"), b = limiter.acquire_async("ann"), c = limiter.acquire_async("bob");
    CHECK(limiter.waiting("ann") == 2 && limiter.waiting("bob") == 1 && limiter.waiting("eve") == 0);
    bob.release();
    CHECK(c.wait_for(0s) && !a.wait_for(0s));
    ann.release();
    CHECK(a.wait_for(0s) && !b.wait_for(0s) && !limiter.try_acquire("ann"));
    CHECK(a.get().release());
    CHECK(b.get() && c.get());
    CHECK(a.get().status() == Status::invalid_ticket);
    CHECK(is_at_rest(limiter));
}

void who_leaves_or_times_out_is_passed_over() {
    ManualClock clock;
    KeyedConcurrencyOptions options;
    options.clock = &clock;
    KeyedConcurrencyLimiter limiter(1, options);
    KeyedPermit held = limiter.acquire("k");
    Wait<KeyedPermit> a = limiter.acquire_async("k", 1, 10ms), b = limiter.acquire_async("k");
    Wait<KeyedPermit> c = limiter.acquire_async("k");
    {
        const Wait<KeyedPermit> dropped = limiter.acquire_async("k");
        std::future<KeyedPermit> future = limiter.acquire_async("k").future();
        CHECK(limiter.waiting("k") == 5);
    }
    CHECK(limiter.waiting("k") == 3);
    clock.advance(10ms);
    CHECK(a.wait_for(0s) && a.get().status() == Status::timed_out);
    CHECK(b.cancel() && b.cancel().status() == Status::too_late && b.get().status() == Status::cancelled);
    CHECK(limiter.acquire("k", 1, 0s).status() == Status::timed_out);
    held.release();
    CHECK(c.get());
    CHECK(limiter.stats().timed_out == 2 && limiter.stats().cancelled == 3);
    CHECK(is_at_rest(limiter));
    {
        // Handed over, and not fetched.
        KeyedPermit again = limiter.acquire("k");
        Wait<KeyedPermit> dropped = limiter.acquire_async("k");
        again.release();
        CHECK(limiter.in_flight("k") == 1);
    }
    CHECK(is_at_rest(limiter));
}

void closing_ends_the_waits_of_all_keys() {
    KeyedConcurrencyLimiter limiter(1);
    KeyedPermit ann = limiter.acquire("ann"), bob = limiter.acquire("bob");
    Wait<KeyedPermit> a = limiter.acquire_async("ann"), b = limiter.acquire_async("bob");
    CHECK(limiter.close());
    CHECK(a.get().status() == Status::closed && b.get().status() == Status::closed);
    CHECK(limiter.acquire("new").status() == Status::closed);
    CHECK(limiter.acquire_async("new").get().status() == Status::closed);
    CHECK(ann.release() && bob.release());
    CHECK(is_at_rest(limiter));
}

void each_key_has_its_own_line_of_tokens() {
    ManualClock clock;
    KeyedRateOptions options;
    options.clock = &clock;
    KeyedRateLimiter limiter("1/s", options);
    CHECK(limiter.acquire("ann") && limiter.acquire("bob", 1, 0s));
    CHECK(limiter.acquire("ann", 1, 999ms).status() == Status::timed_out);
    Wait<Outcome> a = limiter.acquire_async("ann", 1, 1s), b = limiter.acquire_async("ann"), c = limiter.acquire_async("bob");
    CHECK(limiter.acquire_async("ann", 2).get().status() == Status::exceeds_capacity);
    CHECK(limiter.waiting("ann") == 2 && limiter.waiting("bob") == 1);
    clock.advance(1s);
    CHECK(a.wait_for(0s) && c.wait_for(0s) && !b.wait_for(0s) && !limiter.try_acquire("ann"));
    CHECK(a.get() && c.get() && b.cancel() && b.get().status() == Status::cancelled);
    CHECK(limiter.stats().waiting == 0 && limiter.stats().timed_out == 1 && limiter.stats().cancelled == 1);

    // A wait for tokens is of one type, with keys or without.
    RateLimiter plain("1/s");
    Wait<Outcome> any = plain.acquire_async();
    CHECK(any.get());
    any = limiter.acquire_async("eve");
    CHECK(any.get());
}

void tokens_of_a_key_that_were_granted_and_not_fetched_are_given_back() {
    ManualClock clock;
    KeyedRateOptions options;
    options.clock = &clock;
    KeyedRateLimiter limiter("10/s burst 10", options);
    for (const char *key : {"ann", ""}) {
        CHECK(limiter.acquire(key, 10));
        Wait<Outcome> dropped = limiter.acquire_async(key, 5);
        clock.advance(500ms);
        CHECK(dropped.wait_for(0s) && limiter.peek(key).remaining() == 0);
        dropped = limiter.acquire_async("other");
        CHECK(limiter.peek(key).remaining() == 5);
    }
}

void each_key_has_its_own_row_of_reservations() {
    ManualClock clock;
    KeyedRateOptions options;
    options.clock = &clock;
    KeyedRateLimiter limiter("1/s burst 1", options);
    CHECK(limiter.acquire("ann"));
    Reservation first = limiter.reserve("ann"), second = limiter.reserve("ann", 1, 2s), bobs = limiter.reserve("bob");
    CHECK(first.wait() == 1s && second.due_ns() == 2000000000 && bobs.wait() == 0s);
    CHECK(limiter.reserve("ann", 1, 2s).status() == Status::timed_out);
    CHECK(limiter.reserve("ann", 2).status() == Status::exceeds_capacity);
    CHECK(limiter.cancel_reservation("bob", second).status() == Status::invalid_decision);
    CHECK(limiter.cancel_reservation("ann", first).status() == Status::too_late);
    CHECK(limiter.cancel_reservation("ann", second));
    CHECK(limiter.cancel_reservation("ann", second).status() == Status::invalid_decision);
    CHECK(limiter.cancel_reservation("bob", bobs).status() == Status::too_late);
    CHECK(KeyedRateLimiter("1/s fixed_window").reserve("k").status() == Status::unsupported);
}

void a_thread_waits_for_its_key() {
    KeyedRateLimiter tokens("100/s burst 1");
    CHECK(tokens.acquire("k") && tokens.acquire("k", 1, 1h) && tokens.acquire_async("k").get());
    CHECK(tokens.stats().allowed == 3);
    KeyedConcurrencyLimiter limiter(1);
    KeyedPermit held = limiter.acquire("k");
    CHECK(limiter.acquire("k", 1, 5ms).status() == Status::timed_out);
    std::thread other([&limiter] { CHECK(limiter.acquire("k", 1, 1h).permits() == 1); });
    while (limiter.waiting("k") == 0) {
        std::this_thread::yield();
    }
    held.release();
    other.join();
    CHECK(is_at_rest(limiter));
}

void permits_of_keys_balance_when_threads_wait_and_leave() {
    KeyedConcurrencyLimiter limiter(2);
    std::atomic<int> inside[4] = {}, too_many{0};
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 4; seed++) {
        threads.emplace_back([&, seed] {
            for (unsigned i = 0; i < 500; i++) {
                const unsigned key = (i * 7 + seed) % 4;
                const char name[] = {static_cast<char>('a' + key), '\0'};
                Wait<KeyedPermit> wait = limiter.acquire_async(name, 1, 1ms);
                if (i % 3 == 0) {
                    continue;
                }
                if (i % 3 == 1) {
                    wait.cancel();
                }
                if (const KeyedPermit permit = wait.get()) {
                    too_many += ++inside[key] > 2;
                    --inside[key];
                }
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(too_many == 0);
    CHECK(is_at_rest(limiter));
}

void wrong_arguments_and_too_many_waiters_are_told() {
    KeyedConcurrencyOptions options;
    options.max_waiters = 0;
    KeyedConcurrencyLimiter limiter(1, options);
    KeyedPermit held = limiter.acquire("k");
    CHECK(limiter.acquire("k").status() == Status::queue_full);
    CHECK(limiter.acquire("k", 0).status() == Status::invalid_cost);
    CHECK(limiter.acquire(tidegate::Key(nullptr, 1)).status() == Status::invalid_key);
    CHECK(limiter.acquire_async("k", -1).get().status() == Status::invalid_cost);
    CHECK_TEXT(thrown([&] { (void)limiter.acquire("k", 1, -1ns); }).c_str(), "timeout: got -1 ns; allowed: 0 ns or more");
    KeyedRateOptions rate_options;
    rate_options.max_waiters = 1;
    KeyedRateLimiter tokens("1/h", rate_options);
    CHECK(tokens.acquire("k"));
    Wait<Outcome> wait = tokens.acquire_async("k");
    CHECK(tokens.acquire("k").status() == Status::queue_full && !wait.wait_for(0s));
    Mistake mistake;
    options.max_waiters = rate_options.max_waiters = tidegate::max_max_waiters + 1;
    CHECK(!KeyedConcurrencyLimiter::make(1, options, mistake));
    CHECK(mistake.text() == "max_waiters: got 4294967295; allowed: 0 to 4294967294");
    CHECK(!KeyedRateLimiter::make("1/s", rate_options, mistake));
    CHECK(mistake.text() == "max_waiters: got 4294967295; allowed: 0 to 4294967294");
    KeyedConcurrencyLimiter moved = std::move(limiter);
    CHECK(limiter.acquire("k").status() == Status::null_pointer && limiter.waiting("k") == 0);
    CHECK(limiter.acquire_async("k").get().status() == Status::null_pointer && !limiter.close());
}

}  // namespace

int main() {
    RUN(each_key_has_its_own_line_of_permits);
    RUN(who_leaves_or_times_out_is_passed_over);
    RUN(closing_ends_the_waits_of_all_keys);
    RUN(each_key_has_its_own_line_of_tokens);
    RUN(tokens_of_a_key_that_were_granted_and_not_fetched_are_given_back);
    RUN(each_key_has_its_own_row_of_reservations);
    RUN(a_thread_waits_for_its_key);
    RUN(permits_of_keys_balance_when_threads_wait_and_leave);
    RUN(wrong_arguments_and_too_many_waiters_are_told);
    return finish();
}
