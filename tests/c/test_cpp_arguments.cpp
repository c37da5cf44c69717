// tidegate.hpp: what may be given as a count, a quota or a duration, and how what may not is told.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "check.h"
#include "thrown.hpp"
#include "tidegate.hpp"

namespace {

using namespace std::chrono_literals;
using tidegate::Clock;
using tidegate::ConcurrencyLimiter;
using tidegate::Count;
using tidegate::ManualClock;
using tidegate::Mistake;
using tidegate::Quota;
using tidegate::RateLimiter;
using tidegate::Status;
using Strings = std::vector<std::string>;

enum Unscoped { four = 4 };
enum class Scoped { four = 4 };

template <class Given>
constexpr bool is_count = std::is_convertible_v<Given, Count> && std::is_constructible_v<ConcurrencyLimiter, Given>;
static_assert(is_count<int> && is_count<unsigned> && is_count<std::int64_t> && is_count<std::uint64_t>);
static_assert(is_count<short> && is_count<const std::size_t &> && is_count<Unscoped>);
static_assert(!is_count<bool> && !is_count<double> && !is_count<float> && !is_count<Scoped>);
static_assert(!is_count<std::nullptr_t> && !is_count<const char *> && !is_count<std::string>);
static_assert(!std::is_constructible_v<ConcurrencyLimiter> && !std::is_constructible_v<ConcurrencyLimiter, Quota>);

template <class... Given>
constexpr bool is_quotas = std::is_constructible_v<RateLimiter, Given...>;
static_assert(is_quotas<const char *> && is_quotas<const char (&)[4]> && is_quotas<std::string>);
static_assert(is_quotas<std::string_view> && is_quotas<Quota> && is_quotas<std::vector<Quota>> && is_quotas<Strings>);
static_assert(is_quotas<const char *, ManualClock &> && is_quotas<Quota, const Clock &>);
static_assert(!is_quotas<> && !is_quotas<int> && !is_quotas<unsigned> && !is_quotas<double> && !is_quotas<bool>);
static_assert(!is_quotas<std::nullptr_t> && !is_quotas<std::vector<int>> && !is_quotas<std::vector<std::nullptr_t>>);
static_assert(!is_quotas<std::nullptr_t, ManualClock &> && !is_quotas<const char *, std::nullptr_t>);

// No handle of C is taken over by accident.
static_assert(!std::is_constructible_v<RateLimiter, tidegate_rate_limiter *>);
static_assert(!std::is_constructible_v<ConcurrencyLimiter, tidegate_concurrency_limiter *>);
static_assert(!std::is_constructible_v<tidegate::Permit, const tidegate_concurrency_limiter *>);

void every_zero_is_a_limit_of_zero() {
    const ConcurrencyLimiter limiters[] = {ConcurrencyLimiter(0), ConcurrencyLimiter(0u), ConcurrencyLimiter{0},
                                           ConcurrencyLimiter(0ull), ConcurrencyLimiter('\0')};
    for (const ConcurrencyLimiter &limiter : limiters) {
        CHECK(limiter.limit() == 0 && limiter.try_acquire().status() == Status::denied);
    }
    ConcurrencyLimiter c(0);
    CHECK(c.limit() == 0);
    CHECK(ConcurrencyLimiter(four).limit() == 4);
    CHECK(RateLimiter(Quota(0, 1s)).try_acquire().status() == Status::denied);
}

void negative_counts_are_told_as_they_were_given() {
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    CHECK(thrown([] { ConcurrencyLimiter limiter(-1); }) == "limit: got -1; allowed: 0 to 2147483647");
    CHECK(thrown([] { ConcurrencyLimiter limiter(least); }) ==
          "limit: got -9223372036854775808; allowed: 0 to 2147483647");
    CHECK(thrown([] { Quota(-5, 1s); }) == "limit: got -5; allowed: 0 to 9007199254740991");
    CHECK(thrown([] { Quota(5, 1s).with_burst(static_cast<short>(-7)); }) ==
          "burst: got -7; allowed: 1 to 9007199254740991");
    Mistake mistake;
    CHECK(!ConcurrencyLimiter::make(-1, mistake) && mistake.status() == Status::invalid_option);
    CHECK(mistake.text() == "limit: got -1; allowed: 0 to 2147483647");
    RateLimiter limiter("5/h");
    ConcurrencyLimiter gate(1);
    CHECK(limiter.try_acquire(-1).status() == Status::invalid_cost);
    CHECK(limiter.decide(-1).status() == Status::invalid_cost && limiter.peek(-1).status() == Status::invalid_cost);
    CHECK(gate.try_acquire(least).status() == Status::invalid_cost);
    CHECK(limiter.peek().remaining() == 5 && gate.in_flight() == 0);
}

void large_counts_are_told_without_the_flags_of_c() {
    CHECK(thrown([] { ConcurrencyLimiter limiter(std::uint64_t{1} << 31); }) ==
          "limit: got 2147483648; allowed: 0 to 2147483647");
    CHECK(thrown([] { ConcurrencyLimiter limiter(~std::uint64_t{0}); }) ==
          "limit: got 18446744073709551615; allowed: 0 to 2147483647");
    CHECK(ConcurrencyLimiter(ConcurrencyLimiter::max_limit).limit() == 2147483647);
    CHECK(thrown([] { Quota(tidegate::max_cost + 1, 1s); }) ==
          "limit: got 9007199254740992; allowed: 0 to 9007199254740991");
    CHECK(thrown([] { Quota(1, 1s).with_burst(tidegate::max_cost + 1); }) ==
          "burst: got 9007199254740992; allowed: 1 to 9007199254740991");
}

void a_limiter_is_built_from_a_text_a_quota_or_a_list() {
    ManualClock clock;
    const Quota quota(1, 1h);
    const std::string text = "1/h";
    const std::vector<Quota> list = {quota, Quota(2, 1h)};
    const Strings texts = {"1/h", "2/h"};
    const std::array<const char *, 2> array = {"1/h", "2/h"};
    RateLimiter limiters[] = {RateLimiter("1/h", clock),
                              RateLimiter(text, clock),
                              RateLimiter(std::string_view(text), clock),
                              RateLimiter(quota, clock),
                              RateLimiter({quota, Quota(2, 1h)}, clock),
                              RateLimiter(list, clock),
                              RateLimiter(texts, clock),
                              RateLimiter(array, clock),
                              RateLimiter({"1/h", "2/h"}, clock),
                              RateLimiter({text, std::string("2/h")}, clock),
                              RateLimiter({"1/h", Quota(2, 1h)}, clock),
                              RateLimiter("1/h"),
                              RateLimiter(quota),
                              RateLimiter(texts),
                              RateLimiter({quota, quota}),
                              RateLimiter({"1/h", "2/h"}),
                              RateLimiter{quota},
                              RateLimiter{text},
                              RateLimiter{"1/h", "2/h"},
                              RateLimiter{"1/h; 2/h"}};
    for (const RateLimiter &limiter : limiters) {
        CHECK(limiter.try_acquire());
        CHECK(!limiter.try_acquire());
    }
    for (int i = 4; i <= 10; ++i) {
        CHECK(limiters[i].quotas() == list);
    }
    limiters[6].reconfigure({"9/h", "8/h"});
    limiters[6].reconfigure(Strings{"4/h", "5/h"});
    CHECK(limiters[6].text() == "4/h; 5/h");
}

void the_first_wrong_text_of_a_list_is_named() {
    CHECK(thrown([] { RateLimiter({"1/s", "10/month", "5/M"}); }).rfind("quota: got \"10/month\"", 0) == 0);
    CHECK(thrown([] { RateLimiter(Strings{"1/s", "5/M"}); }).rfind("quota: got \"5/M\"", 0) == 0);
    CHECK(thrown([] { RateLimiter({"1/s", "1/s; 2/h"}); }) ==
          "quota: got \"1/s; 2/h\"; allowed: one quota; in a list each has a text of its own");
    CHECK(thrown([] { RateLimiter(Strings{}); }) == "quotas: got 0 quotas; allowed: 1 to 16 quotas");
    CHECK(thrown([] { RateLimiter(Strings(17, "1/s")); }) == "quotas: got 17 quotas; allowed: 1 to 16 quotas");
    CHECK(RateLimiter(Strings(16, "1/s")).quotas().size() == 16);
    CHECK(thrown([] { RateLimiter("1/s; 2/h").reconfigure({"1/s", "2/h burst 0"}); }) ==
          "burst: got 0; allowed: 1 to 9007199254740991");
    Mistake mistake;
    CHECK(!RateLimiter::make({"1/s", "x"}, mistake) && mistake.text().rfind("quota: got \"x\"", 0) == 0);
    CHECK(RateLimiter::make({"1/s", "2/h"}, mistake) && mistake.status() == Status::allowed && mistake.text().empty());
}

void a1_each_wrong_part_of_a_quota_is_named() {
    CHECK(thrown([] { Quota(1, 1s).with_burst(0); }) == "burst: got 0; allowed: 1 to 9007199254740991");
    CHECK(thrown([] { RateLimiter(Quota(1, 1s).with_burst(5).with_algorithm(tidegate::Algorithm::sliding_log)); }) ==
          "burst: got 5 with sliding_log; allowed: a burst with gcra only");
    CHECK(thrown([] { RateLimiter(Quota(1, 1s).with_anchor(tidegate::Anchor::clock)); }) ==
          "anchor: got clock with gcra; allowed: an anchor with fixed_window only");
    CHECK(thrown([] { RateLimiter(std::vector<Quota>()); }) == "quotas: got 0 quotas; allowed: 1 to 16 quotas");
    CHECK(thrown([] { RateLimiter(std::vector<Quota>(17, Quota(1, 1s))); }) ==
          "quotas: got 17 quotas; allowed: 1 to 16 quotas");
}

void a1_a_wrong_period_is_told_as_it_was_given() {
    using Seconds = std::chrono::duration<double>;
    const std::string allowed = "; allowed: 1 ns to 63072000000000000 ns (2 years)";
    CHECK(thrown([] { Quota(1, 0s); }) == "period: got 0 s" + allowed);
    CHECK(thrown([] { Quota(10, -1s); }) == "period: got -1 s" + allowed);
    CHECK(thrown([] { Quota(10, -5ms); }) == "period: got -5 ms" + allowed);
    CHECK(thrown([] { Quota(10, Seconds(-0.5)); }) == "period: got -0.5 s" + allowed);
    CHECK(thrown([] { Quota(1, Seconds(INFINITY)); }) == "period: got inf s" + allowed);
    CHECK(thrown([] { Quota(1, Seconds(std::nan(""))); }).rfind("period: got nan s;", 0) == 0);
    CHECK(thrown([] { Quota(1, std::chrono::duration<double, std::ratio<3600>>(INFINITY)); }) ==
          "period: got inf h" + allowed);
    CHECK(thrown([] { Quota(1, std::chrono::hours(8760001)); }) == "period: got 8760001 h" + allowed);
    CHECK(thrown([] { Quota(1, std::chrono::minutes::max()); }).rfind("period: got ", 0) == 0);
    CHECK(thrown([] { Quota(1, std::chrono::duration<int, std::ratio<86400>>(731)); }) ==
          "period: got 731 * 86400/1 s" + allowed);
    CHECK(thrown([] { Quota(1, tidegate::never); }) == "period: got 9223372036854775807 ns" + allowed);
}

void the_longest_period_is_that_of_the_library() {
    constexpr auto longest = std::chrono::hours(2 * 365 * 24);
    CHECK(RateLimiter(Quota(1, longest)).try_acquire());
    const std::string ours = thrown([&] { Quota(1, longest + 1ns); });
    tidegate_quota raw = Quota(1, longest).raw();
    ++raw.period_ns;
    CHECK(ours == thrown([&] { RateLimiter limiter((Quota(raw))); }));
    CHECK(ours.rfind("period: got 63072000000000001 ns; allowed: ", 0) == 0);
}

void a6_texts_are_read_in_full_or_refused() {
    CHECK(Quota::parse("100/minute burst 20") == Quota(100, 1min).with_burst(20));
    CHECK(Quota::parse("100/minute burst 20").text() == "100/min burst 20");
    CHECK(Quota::parse_list("1/s; 5/h").size() == 2);
    CHECK(thrown([] { Quota::parse("1/s; 5/h"); }) ==
          "quota: got \"1/s; 5/h\"; allowed: one quota; parse_list() reads several");
    for (const char *text : {"5/M", "10/month", "100/s burst", "1e3/s", ""}) {
        CHECK(thrown([=] { Quota::parse(text); }).rfind("quota: got \"" + std::string(text) + "\"", 0) == 0);
    }
    CHECK(thrown([] { Quota::parse(std::string_view()); }).rfind("quota: got \"\"", 0) == 0);
}

void whole_seconds_as_float_are_exact() {
    for (std::uint32_t s = 1; s <= 63072000; s = s + s / 9 + 1) {
        // No more bits than a float holds.
        while (static_cast<std::uint32_t>(static_cast<float>(s)) != s) {
            s++;
        }
        const std::uint64_t ns = std::uint64_t{1000000000} * s;
        CHECK(Quota(1, std::chrono::duration<float>(static_cast<float>(s))).period_ns() == ns);
        CHECK(Quota(1, std::chrono::duration<double>(s)).period_ns() == ns);
    }
    CHECK(Quota(1, std::chrono::duration<float>(17280000.f)).period() == 17280000s);
    CHECK(Quota(1, std::chrono::duration<float, std::ratio<3600>>(0.5f)).period() == 1800s);
    CHECK(Quota(1, std::chrono::duration<float>(0.1f)).period() == 100000002ns);
    CHECK(Quota(1, std::chrono::duration<double>(0.1)).period() == 100ms);
    CHECK(thrown([] { Quota(1, std::chrono::duration<float>(-1.5f)); }).rfind("period: got -1.5 s; ", 0) == 0);
    ManualClock clock;
    clock.advance(std::chrono::duration<float>(31536000.f));
    CHECK(clock.now_ns() == 31536000000000000u);
}

void a_text_at_no_address_is_empty() {
    const char *unset = std::getenv("TIDEGATE_NO_SUCH_VARIABLE");
    CHECK(unset == nullptr);
    CHECK(thrown([] { RateLimiter limiter(std::getenv("TIDEGATE_NO_SUCH_VARIABLE")); }).rfind("quota: got \"\"", 0) == 0);
    CHECK(thrown([=] { Quota::parse(unset); }).rfind("quota: got \"\"", 0) == 0);
    CHECK(thrown([=] { Quota::parse_list(unset); }).rfind("quota: got \"\"", 0) == 0);
    CHECK(thrown([=] { RateLimiter limiter(unset); }).rfind("quota: got \"\"", 0) == 0);
    CHECK(thrown([=] { RateLimiter limiter({"1/s", unset}); }).rfind("quota: got \"\"", 0) == 0);
    Mistake mistake;
    CHECK(!RateLimiter::make(unset, mistake) && mistake.text().rfind("quota: got \"\"", 0) == 0);
}

}  // namespace

int main() {
    RUN(every_zero_is_a_limit_of_zero);
    RUN(negative_counts_are_told_as_they_were_given);
    RUN(large_counts_are_told_without_the_flags_of_c);
    RUN(a_limiter_is_built_from_a_text_a_quota_or_a_list);
    RUN(the_first_wrong_text_of_a_list_is_named);
    RUN(a1_each_wrong_part_of_a_quota_is_named);
    RUN(a1_a_wrong_period_is_told_as_it_was_given);
    RUN(the_longest_period_is_that_of_the_library);
    RUN(a6_texts_are_read_in_full_or_refused);
    RUN(whole_seconds_as_float_are_exact);
    RUN(a_text_at_no_address_is_empty);
    return finish();
}
