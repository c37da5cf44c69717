// tidegate.hpp: keyed limiters, and what a key may be made of.

#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "check.h"
#include "thrown.hpp"

namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using tidegate::Decision;
using tidegate::Key;
using tidegate::KeyedConcurrencyLimiter;
using tidegate::KeyedConcurrencyOptions;
using tidegate::KeyedPermit;
using tidegate::KeyedRateLimiter;
using tidegate::KeyedRateOptions;
using tidegate::ManualClock;
using tidegate::Mistake;
using tidegate::Outcome;
using tidegate::Status;
using tidegate::WhenFull;

template <class Owner>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<Owner> && std::is_nothrow_move_assignable_v<Owner> &&
                            !std::is_copy_constructible_v<Owner> && !std::is_copy_assignable_v<Owner>;
static_assert(moves_only<KeyedRateLimiter> && moves_only<KeyedConcurrencyLimiter> && moves_only<KeyedPermit>);
static_assert(noexcept(std::declval<KeyedRateLimiter &>().try_acquire(""sv)));
static_assert(noexcept(std::declval<KeyedRateLimiter &>().decide(""sv)));
static_assert(noexcept(std::declval<KeyedConcurrencyLimiter &>().try_acquire(""sv)));
static_assert(noexcept(KeyedRateLimiter::make("1/s", std::declval<Mistake &>())));
static_assert(!std::is_convertible_v<int, Key> && !std::is_convertible_v<std::nullptr_t, Key>);
static_assert(!std::is_convertible_v<std::vector<int>, Key>, "only bytes are a key");

KeyedRateOptions on(const ManualClock &clock, tidegate::Count max_keys = 100) {
    KeyedRateOptions options;
    options.clock = &clock;
    options.max_keys = max_keys;
    return options;
}

void texts_and_bytes_are_keys_and_the_same_bytes_are_the_same_key() {
    ManualClock clock;
    KeyedRateLimiter limiter("1/h", on(clock));
    const std::string text = "ann";
    const char *pointer = "ann";
    const std::vector<unsigned char> bytes = {'a', 'n', 'n'};
    const std::array<std::byte, 3> array = {std::byte{'a'}, std::byte{'n'}, std::byte{'n'}};
    CHECK(limiter.try_acquire("ann"));
    CHECK(!limiter.try_acquire(text));
    CHECK(!limiter.try_acquire(pointer));
    CHECK(!limiter.try_acquire(bytes));
    CHECK(!limiter.try_acquire(array));
    CHECK(!limiter.try_acquire(std::string_view("anna", 3)));
    CHECK(!limiter.try_acquire({"ann", 3}));
    CHECK(limiter.try_acquire("ann\0"sv));
    CHECK(limiter.try_acquire(""));
    CHECK(!limiter.try_acquire(std::string_view()));
}

void a_null_pointer_is_a_mistake_and_no_key() {
    KeyedRateLimiter limiter("1/h");
    KeyedConcurrencyLimiter gate(1);
    const char *nothing = nullptr;
    const Outcome outcome = limiter.try_acquire(nothing);
    CHECK(outcome.is_mistake() && outcome.status() == Status::invalid_key);
    CHECK(limiter.decide(nothing).status() == Status::invalid_key);
    CHECK(gate.try_acquire(nothing).status() == Status::invalid_key);
    CHECK(thrown([&] { (void)tidegate::key_of({"ann", nothing}); }, Status::invalid_key) ==
          "key: got a null pointer among the parts; allowed: bytes");
    CHECK(thrown([&] { (void)limiter.try_acquire_many({"ann", nothing}); }, Status::invalid_key) ==
          "key: got a null pointer; allowed: bytes");
    CHECK(limiter.try_acquire("ann"));
}

void decisions_tell_the_figures_of_the_key_and_are_refunded_to_it() {
    ManualClock clock;
    KeyedRateLimiter limiter("5/s", on(clock));
    Decision decision = limiter.decide("ann", 3);
    CHECK(decision && decision.remaining() == 2 && decision.limit() == 5);
    CHECK(limiter.decide("ann", 3).retry_after() == 200ms);
    CHECK(limiter.peek("bob").remaining() == 5);
    CHECK(limiter.refund("bob", decision).status() == Status::invalid_decision);
    CHECK(limiter.refund("ann", decision));
    CHECK(!limiter.refund("ann", decision));
    CHECK(limiter.peek("ann").remaining() == 5);
    CHECK(limiter.try_acquire("ann", 5) && limiter.reset("ann") && limiter.peek("ann").remaining() == 5);
}

void a_batch_has_an_outcome_for_each_key() {
    ManualClock clock;
    KeyedRateLimiter limiter("1/s", on(clock));
    const std::vector<std::string> keys = {"ann", "bob", "ann"};
    const std::vector<Outcome> outcomes = limiter.try_acquire_many(keys);
    CHECK(outcomes.size() == 3 && outcomes[0] && outcomes[1] && outcomes[2].status() == Status::denied);
    CHECK(limiter.try_acquire_many({"ann", "carl"})[1]);
    CHECK(limiter.try_acquire_many(std::vector<std::string_view>()).empty());
    CHECK(thrown([&] { (void)limiter.try_acquire_many(keys, 0); }, Status::invalid_cost).find("cost: got 0") == 0);
    CHECK(thrown([&] { (void)limiter.try_acquire_many(keys, -1); }, Status::invalid_cost).find("cost: got -1") == 0);
}

void a_limiter_is_built_with_room_and_a_rule_for_when_it_is_full() {
    ManualClock clock;
    KeyedRateOptions options = on(clock, 1);
    options.when_full = WhenFull::deny_new;
    KeyedRateLimiter denying("1/h", options);
    KeyedRateLimiter evicting("1/h", on(clock, 1));
    for (const char name : "abcdefgh"sv) {
        CHECK(denying.try_acquire({&name, 1}) && evicting.try_acquire({&name, 1}));
    }
    CHECK(denying.try_acquire("new").status() == Status::keys_full && evicting.try_acquire("new"));
    CHECK(evicting.stats().evicted_live == 1 && denying.stats().evicted_live == 0);
    CHECK(denying.capacity() == 1 && denying.len() == 8 && denying.stats().live_keys == 8);
    CHECK(KeyedRateLimiter("1/h").capacity() == 100000);
}

void a_limiter_is_reconfigured_shared_and_shown() {
    ManualClock clock;
    KeyedRateLimiter limiter({"10/h", "100/d"}, on(clock));
    CHECK(limiter.try_acquire("ann", 4));
    limiter.reconfigure({"20/h", "100/d"});
    const KeyedRateLimiter owner = limiter.share();
    CHECK(owner.peek("ann").remaining() == 16 && owner.quotas().size() == 2);
    std::ostringstream shown;
    shown << owner << ", " << KeyedConcurrencyLimiter(4);
    CHECK(shown.str() == "20/h; 100/d, 4 of each of 100000 keys");
    Mistake mistake;
    CHECK(!limiter.reconfigure("1/s", mistake) && mistake.text().find("quota: got ") == 0);
    const KeyedRateLimiter moved = std::move(limiter);
    CHECK(limiter.try_acquire("ann").status() == Status::null_pointer && limiter.capacity() == 0);
    CHECK(moved.try_acquire("ann"));
}

void mistakes_of_building_name_the_argument() {
    ManualClock clock;
    CHECK(thrown([&] { KeyedRateLimiter("1/s", on(clock, 0)); }) == "max_keys: got 0; allowed: 1 to 4294967296");
    CHECK(thrown([&] { KeyedRateLimiter("1/s", on(clock, -1)); }) == "max_keys: got -1; allowed: 1 to 4294967296");
    CHECK(thrown([] { KeyedRateLimiter("1/s sliding_log"); }).find("algorithm: got ") == 0);
    CHECK(thrown([] { KeyedRateLimiter(std::vector<std::string>{"1/s", "1/x"}); }).find("quota: got ") == 0);
    CHECK(thrown([] { KeyedConcurrencyLimiter(-1); }) == "limit: got -1; allowed: 0 to 2147483647");
    KeyedConcurrencyOptions options;
    options.max_keys = 0;
    CHECK(thrown([&] { KeyedConcurrencyLimiter(1, options); }) == "max_keys: got 0; allowed: 1 to 4294967296");
    Mistake mistake;
    CHECK(!KeyedConcurrencyLimiter::make(1, options, mistake) && mistake.status() == Status::invalid_option);
    CHECK(KeyedConcurrencyLimiter::make(0, mistake) && mistake.status() == Status::allowed);
    CHECK(!KeyedRateLimiter::make("", mistake) && mistake.status() == Status::invalid_option);
    const ManualClock moved = std::move(clock);
    CHECK(!KeyedRateLimiter::make("1/s", on(clock), mistake) && mistake.status() == Status::null_pointer);
}

void permits_of_a_key_are_given_back_at_the_end_of_their_scope() {
    KeyedConcurrencyLimiter limiter(2);
    {
        const KeyedPermit permit = limiter.try_acquire("/report", 2);
        CHECK(permit && permit.permits() == 2 && limiter.in_flight("/report") == 2);
        CHECK(limiter.available("/report") == 0 && limiter.available("/index") == 2);
        CHECK(limiter.try_acquire("/report").status() == Status::denied);
        CHECK(limiter.try_acquire("/report", 3).status() == Status::exceeds_capacity);
    }
    CHECK(limiter.in_flight("/report") == 0);
    KeyedPermit permit = limiter.try_acquire("/report");
    KeyedPermit moved = std::move(permit);
    CHECK(!permit && permit.release().status() == Status::invalid_permit);
    CHECK(moved.release(false) && moved.release().status() == Status::invalid_permit);
    const tidegate::Stats stats = limiter.stats();
    CHECK(stats.released_ok == 1 && stats.released_failed == 1 && stats.in_flight == 0);
    CHECK(limiter.set_limit(3) && limiter.limit() == 3 && !limiter.set_limit(-1));
}

void a_permit_may_outlive_the_limiter_and_end_on_another_thread() {
    std::optional<KeyedConcurrencyLimiter> limiter(1);
    KeyedPermit permit = limiter->try_acquire("/report");
    limiter.reset();
    std::thread([held = std::move(permit)] { CHECK(static_cast<bool>(held)); }).join();
}

void keys_of_parts_and_of_addresses_are_those_of_c() {
    const std::vector<std::string> parts = {"a", "b/"};
    CHECK(tidegate::key_of({"a", "b/"}) == "\x01\0\0\0\0\0\0\0a\x02\0\0\0\0\0\0\0b/"sv);
    CHECK(tidegate::key_of(parts) == tidegate::key_of({"a", "b/"}));
    CHECK(tidegate::key_of({"a", "bc"}) != tidegate::key_of({"ab", "c"}));
    CHECK(tidegate::key_of({}).empty());
    CHECK(tidegate::ip_key("203.0.113.7") == "\xcb\0\x71\x07"sv);
    CHECK(tidegate::ip_key("203.0.113.7", 24) == "\xcb\0\x71\0"sv);
    CHECK(tidegate::ip_key("2001:db8:1:2:3::4") == tidegate::ip_key("2001:db8:1:2::", 64));
    CHECK(thrown([] { (void)tidegate::ip_key("nowhere"); }) ==
          "address: got \"nowhere\"; allowed: an IPv4 or IPv6 address");
    CHECK(thrown([] { (void)tidegate::ip_key("::1", 129); }) == "prefix: got 129; allowed: 0 to 128");
    CHECK(thrown([] { (void)tidegate::ip_key("::1", -1); }) == "prefix: got -1; allowed: 0 to 128");
    CHECK(thrown([] { (void)tidegate::ip_key("1.2.3.4", 33); }) == "prefix: got 33; allowed: 0 to 32 for this address");
}

void a_key_may_have_quotas_of_its_own() {
    KeyedRateLimiter limiter("5/h");
    CHECK(static_cast<bool>(limiter.try_acquire("ann", 2)));
    limiter.set_quota("ann", "9/h");
    CHECK(limiter.peek("ann").remaining() == 7 && limiter.peek("bob").remaining() == 5);
    limiter.set_quota("ann", tidegate::Quota(20, 1h));
    CHECK(limiter.peek("ann").remaining() == 18);
    CHECK(limiter.clear_quota("ann") && limiter.peek("ann").remaining() == 3);
    Mistake mistake;
    CHECK(limiter.set_quota("ann", "5/h; 6/h", mistake).status() == Status::invalid_option);
    CHECK(thrown([&] { limiter.set_quota("ann", "nonsense"); }).substr(0, 11) == "quota: got ");
    CHECK(thrown([&] { limiter.set_quota(static_cast<const char *>(nullptr), "5/h"); }, Status::invalid_key).substr(0, 5) == "key: ");
}

void keys_refused_most_are_named() {
    KeyedRateOptions options;
    options.track_denied = 2;
    KeyedRateLimiter limiter("0/h", options);
    for (const char *key : {"ann", "ann", "ann", "bob", "cat", "cat"}) {
        CHECK(!limiter.try_acquire(key));
    }
    const std::vector<tidegate::DeniedKey> top = limiter.top_denied(9);
    CHECK(top.size() == 2 && top[0].key == "cat" && top[0].count == 3 && top[0].error == 1);
    CHECK(top[1].key == "ann" && top[1].count == 3 && top[1].error == 0);
    CHECK(limiter.top_denied(1).size() == 1 && KeyedRateLimiter("0/h").top_denied(1).empty());
    options.track_denied = -1;
    CHECK(thrown([&] { KeyedRateLimiter("0/h", options); }) == "track_denied: got -1; allowed: 0 to 65536");
}

void a_table_may_lie_in_a_region_of_the_callers() {
    alignas(64) static unsigned char region[256];
    KeyedRateOptions options;
    options.max_keys = 3;
    options.region = region;
    options.region_size = KeyedRateLimiter::region_size(3, 2);
    CHECK(options.region_size == sizeof region);
    {
        KeyedRateLimiter limiter("1/h; 2/h", options);
        CHECK(limiter.try_acquire("ann") && !limiter.try_acquire("ann"));
    }
    options.region_size = 255;
    CHECK(thrown([&] { KeyedRateLimiter("1/h; 2/h", options); }, Status::invalid_memory).substr(0, 21) == "region: got 255 bytes");
    CHECK(thrown([] { (void)KeyedRateLimiter::region_size(0); }) == "max_keys: got 0; allowed: 1 to 4294967296");
    CHECK(thrown([] { (void)KeyedRateLimiter::region_size(1, 17); }) == "quotas: got 17 quotas; allowed: 1 to 16 quotas");
}

void hold_times_of_a_keys_permits_are_tracked_on_request() {
    ManualClock clock;
    KeyedConcurrencyOptions options;
    options.track_hold_time = true;
    options.clock = &clock;
    KeyedConcurrencyLimiter limiter(1, options);
    {
        const KeyedPermit permit = limiter.try_acquire("/report");
        clock.advance(70ns);
    }
    CHECK(limiter.stats().hold_time_max == 70ns && limiter.stats().hold_time_total == 70ns);
}

}  // namespace

int main() {
    RUN(texts_and_bytes_are_keys_and_the_same_bytes_are_the_same_key);
    RUN(a_null_pointer_is_a_mistake_and_no_key);
    RUN(decisions_tell_the_figures_of_the_key_and_are_refunded_to_it);
    RUN(a_batch_has_an_outcome_for_each_key);
    RUN(a_limiter_is_built_with_room_and_a_rule_for_when_it_is_full);
    RUN(a_limiter_is_reconfigured_shared_and_shown);
    RUN(mistakes_of_building_name_the_argument);
    RUN(permits_of_a_key_are_given_back_at_the_end_of_their_scope);
    RUN(a_permit_may_outlive_the_limiter_and_end_on_another_thread);
    RUN(keys_of_parts_and_of_addresses_are_those_of_c);
    RUN(a_key_may_have_quotas_of_its_own);
    RUN(keys_refused_most_are_named);
    RUN(a_table_may_lie_in_a_region_of_the_callers);
    RUN(hold_times_of_a_keys_permits_are_tracked_on_request);
    return finish();
}
