// tidegate.hpp: owners, durations, errors. What limiters decide is the vectors' subject.

#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "check.h"
#include "thrown.hpp"
#include "tidegate.hpp"

bool second_unit_takes_one(const tidegate::RateLimiter &limiter);
tidegate::Permit second_unit_lends(const tidegate::ConcurrencyLimiter &limiter);
const void *second_unit_address_of_never();

namespace {

using namespace std::chrono_literals;
using tidegate::ConcurrencyLimiter;
using tidegate::ConcurrencyOptions;
using tidegate::Decision;
using tidegate::Error;
using tidegate::ManualClock;
using tidegate::Mistake;
using tidegate::Permit;
using tidegate::Quota;
using tidegate::RateLimiter;
using tidegate::Status;

template <class Owner>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<Owner> && std::is_nothrow_move_assignable_v<Owner> &&
                            !std::is_copy_constructible_v<Owner> && !std::is_copy_assignable_v<Owner>;
static_assert(moves_only<RateLimiter> && moves_only<ConcurrencyLimiter> && moves_only<Permit>);
static_assert(moves_only<Decision> && moves_only<tidegate::Clock> && moves_only<ManualClock>);

static_assert(noexcept(std::declval<RateLimiter &>().try_acquire()));
static_assert(noexcept(std::declval<RateLimiter &>().decide()) && noexcept(std::declval<RateLimiter &>().peek()));
static_assert(noexcept(std::declval<RateLimiter &>().refund(std::declval<Decision &>())));
static_assert(noexcept(RateLimiter::make("1/s", std::declval<Mistake &>())));
static_assert(noexcept(std::declval<ConcurrencyLimiter &>().try_acquire()));
static_assert(noexcept(std::declval<Permit &>().release()));

static_assert(!std::is_convertible_v<tidegate::Outcome, bool>, "an outcome is no number");
static_assert(!std::is_convertible_v<Permit, bool> && !std::is_convertible_v<Decision, bool>);

void an_outcome_tells_a_mistake_from_a_denial() {
    ManualClock clock;
    RateLimiter limiter("2/s", clock);
    CHECK(limiter.try_acquire(2));
    tidegate::Outcome denied = limiter.try_acquire();
    CHECK(!denied && denied.status() == Status::denied && !denied.is_mistake());
    tidegate::Outcome never = limiter.try_acquire(3);
    CHECK(!never && never.status() == Status::exceeds_capacity && !never.is_mistake());
    tidegate::Outcome mistake = limiter.try_acquire(0);
    CHECK(!mistake && mistake.status() == Status::invalid_cost && mistake.is_mistake());
    CHECK(limiter.decide(tidegate::max_cost + 1).status() == Status::invalid_cost);
    CHECK(limiter.decide(0).limit() == 0);
    CHECK(name(mistake.status()) == "invalid_cost");
}

void a_decision_tells_its_figures_as_numbers_and_as_durations() {
    ManualClock clock;
    RateLimiter limiter("1/s", clock);
    Decision granted = limiter.decide();
    CHECK(granted && granted.allowed() && granted.status() == Status::allowed);
    CHECK(granted.limit() == 1 && granted.remaining() == 0 && granted.quota() == 0);
    CHECK(granted.retry_after() == 0ns && granted.reset_after() == 1s && granted.reset_after_ns() == 1000000000u);
    clock.advance(200ms);
    Decision denied = limiter.decide();
    CHECK(!denied && denied.status() == Status::denied);
    CHECK(denied.retry_after() == 800ms && denied.retry_after_ns() == 800000000u);
    CHECK(limiter.peek(2).retry_after() == tidegate::never && limiter.peek(2).retry_after_ns() == tidegate::never_ns);
}

void f3_whole_seconds_round_up_and_are_none_for_never() {
    ManualClock clock;
    RateLimiter limiter("1/min", clock);
    CHECK(limiter.decide().retry_after_seconds() == 0u);
    CHECK(limiter.decide().retry_after_seconds() == 60u);
    clock.advance(1ns);
    CHECK(limiter.decide().retry_after_seconds() == 60u);
    clock.advance(1s);
    CHECK(limiter.decide().retry_after_seconds() == 59u);
    clock.set(1min - 1ns);
    CHECK(limiter.decide().retry_after_seconds() == 1u);
    CHECK(limiter.decide(2).retry_after_seconds() == std::nullopt);
    CHECK(RateLimiter(Quota(0, 1s)).decide().retry_after_seconds() == std::nullopt);
    CHECK(limiter.decide(0).retry_after_seconds() == std::nullopt);
}

template <class Shown>
std::string printed(const Shown &shown) {
    std::ostringstream out;
    out << shown;
    return out.str();
}

void what_limiters_are_and_say_can_be_printed() {
    ManualClock clock;
    RateLimiter limiter({"1/s", "5/min fixed_window"}, clock);
    CHECK(printed(limiter) == "1/s; 5/min fixed_window" && limiter.text() == printed(limiter));
    CHECK(printed(Quota(3, 2s)) == "3/2s");
    CHECK(printed(limiter.decide()) ==
          "allowed limit=1 remaining=0 retry_after_ns=0 reset_after_ns=60000000000 quota=0");
    CHECK(printed(limiter.decide(9)) ==
          "exceeds_capacity limit=1 remaining=0 retry_after_ns=never reset_after_ns=60000000000 quota=0");
    CHECK(printed(limiter.try_acquire(0)) == "invalid_cost" && printed(Status::queue_full) == "queue_full");
    ConcurrencyLimiter gate(4);
    Permit permit = gate.try_acquire();
    CHECK(printed(gate) == "1 of 4 out");
}

void a_refund_works_once_also_after_a_move() {
    ManualClock clock;
    RateLimiter limiter("5/h", clock), other("5/h", clock);
    Decision first = limiter.decide(3);
    Decision moved = std::move(first);
    CHECK(limiter.refund(first).status() == Status::invalid_decision);
    CHECK(other.refund(moved).status() == Status::invalid_decision);
    CHECK(limiter.refund(moved));
    CHECK(limiter.refund(moved).status() == Status::invalid_decision);
    CHECK(limiter.peek().remaining() == 5);
    moved = limiter.decide(2);
    CHECK(limiter.refund(moved) && limiter.peek().remaining() == 5);
}

void reset_and_reconfigure_act_on_the_limiter_in_use() {
    ManualClock clock;
    RateLimiter limiter("5/min", clock);
    CHECK(limiter.try_acquire(5));
    limiter.reconfigure("10/min");
    CHECK(limiter.peek().remaining() == 5);
    limiter.reconfigure(Quota(3, 1min));
    CHECK(limiter.peek().remaining() == 0);
    CHECK(limiter.reset());
    CHECK(limiter.peek().remaining() == 3);
    CHECK(thrown([&] { limiter.reconfigure("3/min fixed_window"); }).rfind("quota: got ", 0) == 0);
    Mistake mistake;
    CHECK(limiter.reconfigure("10/month", mistake).status() == Status::invalid_option);
    CHECK(mistake.status() == Status::invalid_option && mistake.text().rfind("quota: got \"10/month\"", 0) == 0);
    CHECK(limiter.reconfigure({"4/min", "1/h"}, mistake).is_mistake() && mistake.text().rfind("quota: got ", 0) == 0);
    CHECK(limiter.reconfigure({"4/min"}, mistake));
    CHECK(mistake.status() == Status::allowed && mistake.text().empty());
    CHECK(limiter.stats().allowed == 1 && limiter.stats().denied == 0);
}

void a_quota_tells_what_it_was_made_of() {
    const Quota quota =
        Quota(3, 2s).with_algorithm(tidegate::Algorithm::fixed_window).with_anchor(tidegate::Anchor::clock);
    CHECK(quota.limit() == 3 && quota.period() == 2s && quota.period_ns() == 2000000000u && quota.burst() == 3);
    CHECK(quota.algorithm() == tidegate::Algorithm::fixed_window && quota.anchor() == tidegate::Anchor::clock);
    CHECK(quota.text() == "3/2s fixed_window anchor clock");
    CHECK(quota != Quota(3, 2s));
    CHECK(Quota(1, std::chrono::duration<double>(0.1)).period() >= 100ms);
    CHECK(Quota(1, std::chrono::duration<double, std::nano>(0.25)).period() == 1ns);
    CHECK(thrown([] { (void)Quota(1, 0s).text(); }) != "");
}

void building_without_exceptions_tells_the_same_mistake() {
    Mistake mistake;
    CHECK(!RateLimiter::make("10/month", mistake));
    CHECK(mistake.status() == Status::invalid_option && mistake.text().rfind("quota: got \"10/month\"", 0) == 0);
    ManualClock clock;
    std::optional<RateLimiter> limiter = RateLimiter::make("1/s", clock, mistake);
    CHECK(limiter && limiter->try_acquire() && mistake.status() == Status::allowed);
    CHECK(!ConcurrencyLimiter::make(std::uint64_t{1} << 31, mistake));
    CHECK(mistake.text() == "limit: got 2147483648; allowed: 0 to 2147483647");
    CHECK(ConcurrencyLimiter::make(0, mistake).has_value());
}

void a_permit_is_given_back_at_the_end_of_its_scope() {
    ConcurrencyLimiter limiter(2);
    {
        Permit permit = limiter.try_acquire(2);
        CHECK(permit && permit.permits() == 2 && permit.status() == Status::allowed);
        CHECK(limiter.in_flight() == 2 && limiter.available() == 0);
        Permit refused = limiter.try_acquire();
        CHECK(!refused && refused.permits() == 0 && refused.status() == Status::denied);
        CHECK(refused.release().status() == Status::invalid_permit);
    }
    CHECK(limiter.available() == 2);
    CHECK(limiter.try_acquire(3).status() == Status::exceeds_capacity);
    CHECK(limiter.try_acquire(0).status() == Status::invalid_cost);
    CHECK(limiter.stats().released_ok == 1);
}

void p2_a_permit_is_given_back_when_the_work_throws() {
    ConcurrencyLimiter limiter(1);
    try {
        Permit permit = limiter.try_acquire();
        throw Error(Status::denied, "of the work itself");
    } catch (const Error &) {
    }
    CHECK(limiter.in_flight() == 0);
}

void p4_a_second_release_is_a_mistake_and_the_end_of_the_scope_is_none() {
    ConcurrencyLimiter limiter(3);
    Permit other = limiter.try_acquire();
    {
        Permit permit = limiter.try_acquire();
        CHECK(permit.release(false));
        CHECK(!permit);
        CHECK(permit.release().status() == Status::invalid_permit);
    }
    CHECK(limiter.in_flight() == 1);
    CHECK(limiter.stats().released_failed == 1 && limiter.stats().released_ok == 0);
}

void a_permit_that_is_moved_is_held_once() {
    ConcurrencyLimiter limiter(2);
    Permit first = limiter.try_acquire();
    Permit second = std::move(first);
    CHECK(!first && second && limiter.in_flight() == 1);
    second = limiter.try_acquire();
    CHECK(second && limiter.in_flight() == 1);
    Permit &same = second;
    second = std::move(same);
    CHECK(second && limiter.in_flight() == 1);
    std::vector<Permit> permits;
    permits.push_back(std::move(second));
    permits.clear();
    CHECK(limiter.in_flight() == 0);
}

void a_permit_keeps_its_limiter_alive() {
    std::optional<ConcurrencyLimiter> limiter(std::in_place, 2);
    Permit first = limiter->try_acquire();
    Permit second = limiter->try_acquire();
    Permit refused = limiter->try_acquire();
    limiter.reset();
    CHECK(first.release());
    CHECK(first.release().status() == Status::invalid_permit);
    CHECK(refused.release().status() == Status::invalid_permit);
    Permit moved = std::move(second);
    CHECK(second.release().status() == Status::invalid_permit);
    CHECK(moved.release(false));
    const auto of_one_that_is_gone = [] { return ConcurrencyLimiter(1).try_acquire(); };
    CHECK(of_one_that_is_gone().permits() == 1);
}

void the_limit_may_change_while_permits_are_out() {
    ConcurrencyLimiter limiter(2);
    Permit permit = limiter.try_acquire(2);
    CHECK(limiter.set_limit(1));
    CHECK(limiter.limit() == 1 && limiter.in_flight() == 2 && limiter.available() == 0);
    CHECK(limiter.set_limit(ConcurrencyLimiter::max_limit + 1).status() == Status::invalid_option);
    CHECK(limiter.set_limit(-1).status() == Status::invalid_option);
    CHECK(limiter.set_limit(0) && limiter.limit() == 0);
    CHECK(limiter.try_acquire().status() == Status::denied);
}

void hold_times_are_measured_on_the_clock_that_was_given() {
    ManualClock clock;
    ConcurrencyOptions options;
    options.track_hold_time = true;
    options.clock = &clock;
    ConcurrencyLimiter limiter(2, options);
    Permit permit = limiter.try_acquire();
    clock.advance(150ms);
    permit.release();
    CHECK(limiter.stats().hold_time_total == 150ms && limiter.stats().hold_time_max == 150ms);
    CHECK(ConcurrencyLimiter(2).stats().hold_time_total == 0ns);
}

void what_was_moved_from_answers_null_pointer_and_never_crashes() {
    RateLimiter limiter("1/h");
    RateLimiter moved = std::move(limiter);
    CHECK(limiter.try_acquire().status() == Status::null_pointer);
    CHECK(limiter.decide().status() == Status::null_pointer && limiter.peek().status() == Status::null_pointer);
    CHECK(limiter.reset().status() == Status::null_pointer);
    Decision decision = moved.decide();
    CHECK(limiter.refund(decision).status() == Status::null_pointer);
    CHECK(limiter.quotas().empty() && limiter.stats().allowed == 0);
    CHECK(thrown([&] { limiter.reconfigure("1/s"); }, Status::null_pointer) ==
          "limiter: got NULL; allowed: a pointer that is not NULL");
    ConcurrencyLimiter gate(1);
    ConcurrencyLimiter moved_gate = std::move(gate);
    CHECK(gate.try_acquire().status() == Status::null_pointer && gate.limit() == 0);
    ManualClock clock;
    ManualClock moved_clock = std::move(clock);
    CHECK(clock.advance_ns(1).status() == Status::null_pointer && clock.now_ns() == 0);
    CHECK(clock.advance(1ns).status() == Status::null_pointer && clock.set(1ns).status() == Status::null_pointer);
    CHECK(thrown([&] { RateLimiter("1/s", clock); }, Status::null_pointer).rfind("clock: ", 0) == 0);
    ConcurrencyOptions options;
    options.clock = &clock;
    CHECK(thrown([&] { ConcurrencyLimiter(1, options); }, Status::null_pointer).rfind("clock: ", 0) == 0);
}

void shared_owners_are_one_limiter() {
    ManualClock clock;
    std::optional<RateLimiter> first(std::in_place, "1/h", clock);
    RateLimiter second = first->share();
    CHECK(first->try_acquire());
    first.reset();
    CHECK(!second.try_acquire());
    ConcurrencyLimiter gate(1);
    ConcurrencyLimiter gate_again = gate.share();
    Permit permit = gate.try_acquire();
    CHECK(!gate_again.try_acquire());
}

void clocks_take_durations_and_refuse_negative_ones() {
    ManualClock clock;
    clock.advance(1h);
    CHECK(clock.now_ns() == 3600000000000u);
    clock.set(30min);
    clock.set(31min);
    CHECK(clock.now_ns() == 3660000000000u);
    CHECK(thrown([&] { clock.advance(-1ns); }) == "by: got -1 ns; allowed: 0 ns or more");
    CHECK(thrown([&] { clock.set(-1min); }) == "to: got -1 min; allowed: 0 ns or more");
    CHECK(clock.advance(1ns) && clock.set(1h));
    tidegate::Clock monotonic = tidegate::Clock::monotonic();
    CHECK(monotonic.now_ns() <= monotonic.now_ns());
    RateLimiter limiter("1/h", monotonic);
    CHECK(limiter.try_acquire() && !limiter.try_acquire());
}

void two_translation_units_share_one_header() {
    RateLimiter limiter("2/h");
    ConcurrencyLimiter gate(1);
    CHECK(limiter.try_acquire() && second_unit_takes_one(limiter) && !second_unit_takes_one(limiter));
    Permit permit = second_unit_lends(gate);
    CHECK(permit && !gate.try_acquire());
    CHECK(second_unit_address_of_never() == &tidegate::never);
}

void ten_threads_are_admitted_exactly_to_the_limit() {
    constexpr std::uint64_t limit = 5000;
    ManualClock clock;
    RateLimiter limiter(Quota(limit, 1h).with_algorithm(tidegate::Algorithm::fixed_window), clock);
    ConcurrencyLimiter gate(3);
    std::atomic<std::uint64_t> admitted{0}, crowded{0};
    std::atomic<int> inside{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 10; ++i) {
        threads.emplace_back([&] {
            for (int call = 0; call < 1000; ++call) {
                admitted += limiter.try_acquire() ? 1 : 0;
                if (Permit permit = gate.try_acquire()) {
                    crowded += ++inside > 3 ? 1 : 0;
                    --inside;
                }
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(admitted == limit);
    CHECK(crowded == 0);
    CHECK(gate.in_flight() == 0 && gate.available() == 3);
}

void the_loaded_release_is_told() {
    CHECK(tidegate::version() == tidegate_version() && !tidegate::version().empty());
}

}  // namespace

int main() {
    RUN(an_outcome_tells_a_mistake_from_a_denial);
    RUN(a_decision_tells_its_figures_as_numbers_and_as_durations);
    RUN(f3_whole_seconds_round_up_and_are_none_for_never);
    RUN(what_limiters_are_and_say_can_be_printed);
    RUN(a_refund_works_once_also_after_a_move);
    RUN(reset_and_reconfigure_act_on_the_limiter_in_use);
    RUN(a_quota_tells_what_it_was_made_of);
    RUN(building_without_exceptions_tells_the_same_mistake);
    RUN(a_permit_is_given_back_at_the_end_of_its_scope);
    RUN(p2_a_permit_is_given_back_when_the_work_throws);
    RUN(p4_a_second_release_is_a_mistake_and_the_end_of_the_scope_is_none);
    RUN(a_permit_that_is_moved_is_held_once);
    RUN(a_permit_keeps_its_limiter_alive);
    RUN(the_limit_may_change_while_permits_are_out);
    RUN(hold_times_are_measured_on_the_clock_that_was_given);
    RUN(what_was_moved_from_answers_null_pointer_and_never_crashes);
    RUN(shared_owners_are_one_limiter);
    RUN(clocks_take_durations_and_refuse_negative_ones);
    RUN(two_translation_units_share_one_header);
    RUN(ten_threads_are_admitted_exactly_to_the_limit);
    RUN(the_loaded_release_is_told);
    return finish();
}
