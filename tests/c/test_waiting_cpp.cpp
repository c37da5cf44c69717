// Waiting in tidegate.hpp: on the thread, without one, as a std::future; and reservations. What limiters decide is the
// vectors' subject.

#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "check.h"
#include "thrown.hpp"
#include "tidegate.hpp"

namespace {

using namespace std::chrono_literals;
using tidegate::ConcurrencyLimiter;
using tidegate::ConcurrencyOptions;
using tidegate::ManualClock;
using tidegate::Mistake;
using tidegate::Outcome;
using tidegate::Permit;
using tidegate::RateLimiter;
using tidegate::RateOptions;
using tidegate::Reservation;
using tidegate::Status;
using tidegate::Wait;

// Rounds of a storm, of all threads together. Fewer under a memory checker, which runs one thread at a time.
int rounds = 100000;

template <class Owner>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<Owner> && std::is_nothrow_move_assignable_v<Owner> &&
                            !std::is_copy_constructible_v<Owner> && !std::is_copy_assignable_v<Owner>;
static_assert(moves_only<Wait<Permit>> && moves_only<Wait<Outcome>> && moves_only<Reservation>);
static_assert(noexcept(std::declval<ConcurrencyLimiter &>().acquire()) && noexcept(std::declval<RateLimiter &>().acquire()));
static_assert(noexcept(std::declval<Wait<Permit> &>().cancel()));

// Nobody waits and nothing is out.
bool is_at_rest(const ConcurrencyLimiter &limiter) {
    return limiter.in_flight() == 0 && limiter.waiting() == 0 && limiter.available() == limiter.limit();
}

void a_thread_waits_until_it_is_its_turn_or_its_timeout_is_over() {
    ConcurrencyLimiter limiter(1);
    Permit held = limiter.acquire();
    CHECK(held && held.status() == Status::allowed && held.permits() == 1);
    Permit late = limiter.acquire(1, 5ms);
    CHECK(!late && late.status() == Status::timed_out);
    CHECK(limiter.acquire(2).status() == Status::exceeds_capacity);
    CHECK(limiter.acquire(0).status() == Status::invalid_cost);
    std::thread other([&limiter] { CHECK(limiter.acquire(1, 1h).permits() == 1); });
    while (limiter.waiting() == 0) {
        std::this_thread::yield();
    }
    held.release();
    other.join();
    CHECK(is_at_rest(limiter));

    RateLimiter tokens("100/s burst 1");
    CHECK(tokens.acquire() && tokens.acquire(1, 1h) && tokens.acquire(1, tidegate::never));
    CHECK(tokens.stats().allowed == 3);
    RateLimiter slow("1/h");
    CHECK(slow.acquire() && slow.acquire(1, 1us).status() == Status::timed_out && slow.stats().timed_out == 1);
}

void p2_a_body_that_throws_gives_its_permit_back_and_a_refusal_changes_nothing() {
    ConcurrencyLimiter limiter(1);
    try {
        Permit permit = limiter.acquire();
        CHECK(!limiter.acquire(1, 0s) && limiter.in_flight() == 1);
        throw tidegate::Error(Status::denied, "the body's own");
    } catch (const tidegate::Error &error) {
        CHECK(error.status() == Status::denied);
    }
    CHECK(is_at_rest(limiter));
}

void p5_p16_who_gave_up_leaves_nothing_behind_and_0_tries_once() {
    ManualClock clock;
    ConcurrencyOptions options;
    options.clock = &clock;
    ConcurrencyLimiter limiter(1, options);
    Permit a = limiter.acquire(1, 0s);
    Wait<Permit> b = limiter.acquire_async(1, 10ms);
    CHECK(a && !b.wait_for(0s) && limiter.waiting() == 1);
    clock.advance(10ms);
    CHECK(b.wait_for(0s) && b.get().status() == Status::timed_out);
    a.release();
    CHECK(limiter.acquire(1, 0s));
    CHECK(is_at_rest(limiter));
}

void p6_a_head_that_leaves_is_passed_over() {
    ConcurrencyLimiter limiter(1);
    Permit held = limiter.acquire();
    Wait<Permit> a = limiter.acquire_async(), b = limiter.acquire_async();
    {
        Wait<Permit> dropped = limiter.acquire_async();
        CHECK(limiter.waiting() == 3);
    }
    CHECK(limiter.waiting() == 2);
    CHECK(a.cancel() && a.cancel().status() == Status::too_late);
    held.release();
    CHECK(b.wait_for(0s) && b.cancel().status() == Status::too_late);
    CHECK(a.get().status() == Status::cancelled);
    Permit granted = b.get();
    CHECK(granted && !limiter.try_acquire());
    CHECK(b.get().status() == Status::invalid_ticket && b.cancel().status() == Status::invalid_ticket);
    granted.release();
    CHECK(is_at_rest(limiter) && limiter.stats().cancelled == 2);
}

void p7_a_permit_that_was_handed_over_and_not_fetched_is_given_back() {
    ConcurrencyLimiter limiter(1);
    Permit held = limiter.acquire();
    {
        Wait<Permit> wait = limiter.acquire_async();
        held.release();
        CHECK(limiter.in_flight() == 1 && !limiter.try_acquire());
        Wait<Permit> moved = std::move(wait);
        CHECK(wait.get().status() == Status::invalid_ticket);
    }
    CHECK(is_at_rest(limiter));
    Wait<Permit> at_once = limiter.acquire_async();
    CHECK(at_once.wait_for(0s) && limiter.in_flight() == 1);
    at_once = limiter.acquire_async();
    CHECK(limiter.in_flight() == 1 && limiter.waiting() == 0);
    CHECK(at_once.get());
    CHECK(is_at_rest(limiter));
}

void tokens_that_were_granted_and_not_fetched_are_given_back() {
    ManualClock clock;
    RateLimiter limiter("10/s burst 10", clock);
    CHECK(limiter.acquire(10));
    {
        Wait<Outcome> dropped = limiter.acquire_async(5), behind = limiter.acquire_async(5);
        clock.advance(500ms);
        CHECK(dropped.wait_for(0s) && dropped.cancel().status() == Status::too_late);
        dropped = limiter.acquire_async();
        CHECK(behind.wait_for(0s) && behind.get());
        CHECK(limiter.waiting() == 1);
    }
    CHECK(limiter.peek().remaining() == 0 && limiter.waiting() == 0);
    clock.advance(100ms);
    CHECK(limiter.acquire_async().get() && limiter.peek().remaining() == 0);
}

void p15_closing_ends_all_waits_for_ever() {
    ConcurrencyLimiter limiter(1);
    Permit held = limiter.acquire();
    Wait<Permit> wait = limiter.acquire_async(1, 1h);
    CHECK(limiter.close());
    CHECK(wait.get().status() == Status::closed && limiter.acquire().status() == Status::closed);
    CHECK(limiter.set_limit(5) && limiter.try_acquire().status() == Status::closed);
    CHECK(limiter.acquire_async().get().status() == Status::closed);
    CHECK(held.release() && limiter.in_flight() == 0);
}

void p17_a_wait_that_would_outlast_its_timeout_is_refused_at_once() {
    ManualClock clock;
    RateLimiter limiter("1/s burst 1", clock);
    CHECK(limiter.acquire());
    CHECK(limiter.acquire(1, 999ms).status() == Status::timed_out);
    Wait<Outcome> first = limiter.acquire_async(1, 1s);
    CHECK(limiter.acquire_async(1, 1s).get().status() == Status::timed_out);
    CHECK(limiter.waiting() == 1 && !limiter.try_acquire());
    clock.advance(1s);
    CHECK(first.get() && limiter.peek().retry_after() == 1s);
    CHECK(first.get().status() == Status::invalid_ticket);
}

void p18_many_waits_are_on_time_without_a_thread_or_a_timer() {
    ManualClock clock;
    RateLimiter limiter("1000/s burst 1", clock);
    CHECK(limiter.acquire());
    std::vector<Wait<Outcome>> waits;
    for (int i = 0; i < 5000; i++) {
        waits.push_back(limiter.acquire_async());
    }
    clock.advance(5s - 1ns);
    CHECK(!waits.back().wait_for(0s) && waits[4998].wait_for(0s));
    clock.advance(1ns);
    int granted = 0;
    for (Wait<Outcome> &wait : waits) {
        granted += wait.get() ? 1 : 0;
    }
    CHECK_EQUAL(granted, 5000);
}

void get_sleeps_until_it_is_due_and_wait_for_no_longer_than_it_says() {
    RateLimiter limiter("50/s burst 1");
    const auto began = std::chrono::steady_clock::now();
    CHECK(limiter.acquire());
    Wait<Outcome> first = limiter.acquire_async(), second = limiter.acquire_async();
    CHECK(first.get() && second.get());
    // The limiter's clock and this one may run apart by parts per million.
    CHECK(std::chrono::steady_clock::now() - began >= 39ms);
    RateLimiter slow("1/h");
    CHECK(slow.acquire() && !slow.acquire_async().wait_for(1ms));

    ConcurrencyLimiter gate(1);
    Permit held = gate.acquire();
    CHECK(gate.acquire_async(1, 2ms).get().status() == Status::timed_out);
    Wait<Permit> wait = gate.acquire_async();
    std::thread releaser([&held] {
        std::this_thread::sleep_for(2ms);
        held.release();
    });
    CHECK(wait.wait_for(tidegate::never) && wait.get());
    releaser.join();
}

void a_future_waits_in_its_get_and_leaves_when_it_is_dropped() {
    ConcurrencyLimiter limiter(1);
    Permit held = limiter.acquire();
    std::future<Permit> first = limiter.acquire_async().future();
    std::future<Permit> second = limiter.acquire_async(1, 1h).future();
    CHECK(limiter.waiting() == 2 && first.wait_for(0s) == std::future_status::deferred);
    held.release();
    CHECK(limiter.in_flight() == 1);
    {
        std::future<Permit> dropped = std::move(first);
    }
    Permit granted = second.get();
    CHECK(granted && granted.status() == Status::allowed);
    granted.release();
    CHECK(is_at_rest(limiter));

    RateLimiter tokens("200/s burst 1");
    CHECK(tokens.acquire());
    std::future<Outcome> token = tokens.acquire_async(1, 1h).future();
    CHECK(token.get());
    CHECK(tokens.stats().allowed == 2);
}

void a_wait_keeps_its_limiter() {
    auto limiter = std::make_unique<ConcurrencyLimiter>(1);
    Permit held = limiter->acquire();
    Wait<Permit> wait = limiter->acquire_async();
    limiter.reset();
    CHECK(!wait.wait_for(0s));
    held.release();
    CHECK(wait.get());
}

void no_more_wait_than_max_waiters() {
    ConcurrencyOptions options;
    options.max_waiters = 1;
    ConcurrencyLimiter limiter(1, options);
    Permit held = limiter.acquire();
    Wait<Permit> wait = limiter.acquire_async();
    CHECK(limiter.acquire().status() == Status::queue_full);
    options.max_waiters = 0;
    ConcurrencyLimiter none(1, options);
    Permit only = none.acquire();
    CHECK(only && none.acquire(1, 1h).status() == Status::queue_full);

    RateOptions rate_options;
    rate_options.max_waiters = 0;
    RateLimiter tokens("1/h", rate_options);
    CHECK(tokens.acquire() && tokens.acquire().status() == Status::queue_full);
}

void wrong_arguments_are_told() {
    Mistake mistake;
    ConcurrencyOptions options;
    options.max_waiters = -1;
    CHECK(!ConcurrencyLimiter::make(1, options, mistake));
    CHECK(mistake.text() == "max_waiters: got -1; allowed: 0 to 4294967294");
    CHECK(!ConcurrencyLimiter::make(-1, options, mistake) && mistake.text().substr(0, 9) == "limit: go");
    RateOptions rate_options;
    rate_options.max_waiters = tidegate::max_max_waiters + 1;
    CHECK(!RateLimiter::make("1/s", rate_options, mistake));
    CHECK(mistake.text() == "max_waiters: got 4294967295; allowed: 0 to 4294967294");
    CHECK(!RateLimiter::make("1/x", rate_options, mistake) && mistake.text().substr(0, 6) == "quota:");
    CHECK(!RateLimiter::make({"1/s", "2/x"}, rate_options, mistake) && mistake.text().substr(0, 6) == "quota:");

    RateLimiter tokens("1/s");
    ConcurrencyLimiter gate(1);
    CHECK_TEXT(thrown([&] { (void)tokens.acquire(1, -1s); }).c_str(), "timeout: got -1 s; allowed: 0 ns or more");
    CHECK_TEXT(thrown([&] { (void)gate.acquire_async(1, -1ms); }).c_str(), "timeout: got -1 ms; allowed: 0 ns or more");
    CHECK_TEXT(thrown([&] { (void)tokens.reserve(1, -1h); }).c_str(), "max_wait: got -1 h; allowed: 0 ns or more");
    CHECK(tokens.acquire(0).status() == Status::invalid_cost);
    CHECK(tokens.acquire_async(-1).get().status() == Status::invalid_cost);
    CHECK(tokens.peek().remaining() == 1 && is_at_rest(gate));

    ConcurrencyLimiter moved = std::move(gate);
    CHECK(gate.acquire().status() == Status::null_pointer && gate.close().status() == Status::null_pointer);
    CHECK(gate.acquire_async().get().status() == Status::null_pointer && gate.waiting() == 0);
}

void f10_reservations_are_charged_at_once_and_credited_only_from_the_end() {
    ManualClock clock;
    RateLimiter limiter("1/s burst 1", clock);
    CHECK(limiter.try_acquire());
    Reservation first = limiter.reserve(), second = limiter.reserve(), third = limiter.reserve(1, 3s);
    CHECK(first && first.wait() == 1s && second.wait() == 2s && third.wait_ns() == 3000000000u);
    CHECK(limiter.reserve(1, 3s).status() == Status::timed_out);
    clock.advance(500ms);
    CHECK(limiter.cancel_reservation(first).status() == Status::too_late);
    CHECK(limiter.cancel_reservation(first).status() == Status::invalid_decision);
    Reservation fourth = limiter.reserve();
    CHECK(fourth.due_ns() == 4000000000u && fourth.wait() == 3500ms);
    Reservation moved = std::move(fourth);
    CHECK(limiter.cancel_reservation(fourth).status() == Status::invalid_decision);
    CHECK(limiter.cancel_reservation(moved));
    CHECK(RateLimiter("1/s fixed_window").reserve().status() == Status::unsupported);
}

// xorshift64*: the same numbers from the same seed.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15) {}

    std::uint64_t below(std::uint64_t bound) {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return (state_ * 0x2545F4914F6CDD1D >> 33) % bound;
    }

private:
    std::uint64_t state_;
};

void p13_permits_balance_after_a_storm() {
    constexpr int threads = 8;
    ConcurrencyLimiter limiter(4);
    std::atomic<int> wrong{0};
    std::atomic<std::uint64_t> inside{0};
    const auto storm = [&](std::uint64_t seed) {
        Random random(seed);
        const auto use = [&](const Permit &permit) {
            wrong += inside.fetch_add(permit.permits()) + permit.permits() > 6 ? 1 : 0;
            inside -= permit.permits();
        };
        for (int i = 0; i < rounds / threads; i++) {
            const std::uint64_t wanted = 1 + random.below(3);
            switch (random.below(8)) {
            case 0:
            case 1:
                use(limiter.acquire(wanted, std::chrono::microseconds(random.below(200))));
                break;
            case 2:
                use(limiter.acquire(wanted));
                break;
            case 3:
                use(limiter.try_acquire(wanted));
                break;
            case 4:
                wrong += limiter.set_limit(3 + random.below(4)) ? 0 : 1;
                break;
            case 5: {
                // Dropped while it waits, or once it was granted.
                Wait<Permit> wait = limiter.acquire_async(wanted);
                if (random.below(2) == 0) {
                    std::this_thread::yield();
                }
                break;
            }
            case 6: {
                Wait<Permit> wait = limiter.acquire_async(wanted);
                if (random.below(2) == 0) {
                    wait.cancel();
                }
                use(wait.get());
                break;
            }
            default: {
                std::future<Permit> future = limiter.acquire_async(wanted, 100us).future();
                if (random.below(2) == 0) {
                    use(future.get());
                }
            }
            }
        }
    };
    std::vector<std::thread> running;
    for (std::uint64_t seed = 1; seed <= threads; seed++) {
        running.emplace_back(storm, seed);
    }
    for (std::thread &thread : running) {
        thread.join();
    }
    CHECK_EQUAL(wrong, 0);
    CHECK(limiter.set_limit(4));
    CHECK(is_at_rest(limiter));
}

}  // namespace

// usage: test_waiting_cpp [ROUNDS ANYTHING]
int main(int count, char **arguments) {
    if (count == 3) {
        rounds = std::stoi(arguments[1]) * 8;
    }
    RUN(a_thread_waits_until_it_is_its_turn_or_its_timeout_is_over);
    RUN(p2_a_body_that_throws_gives_its_permit_back_and_a_refusal_changes_nothing);
    RUN(p5_p16_who_gave_up_leaves_nothing_behind_and_0_tries_once);
    RUN(p6_a_head_that_leaves_is_passed_over);
    RUN(p7_a_permit_that_was_handed_over_and_not_fetched_is_given_back);
    RUN(tokens_that_were_granted_and_not_fetched_are_given_back);
    RUN(p15_closing_ends_all_waits_for_ever);
    RUN(p17_a_wait_that_would_outlast_its_timeout_is_refused_at_once);
    RUN(p18_many_waits_are_on_time_without_a_thread_or_a_timer);
    RUN(get_sleeps_until_it_is_due_and_wait_for_no_longer_than_it_says);
    RUN(a_future_waits_in_its_get_and_leaves_when_it_is_dropped);
    RUN(a_wait_keeps_its_limiter);
    RUN(no_more_wait_than_max_waiters);
    RUN(wrong_arguments_are_told);
    RUN(f10_reservations_are_charged_at_once_and_credited_only_from_the_end);
    RUN(p13_permits_balance_after_a_storm);
    return finish();
}
