// tidegate for C++17 and later: in-process limiters, exact and fast. Header-only over tidegate.h; link with -ltidegate.
//
//     #include <iostream>
//     #include <tidegate.hpp>
//
//     int main() {
//         tidegate::RateLimiter limiter("100/s burst 20");
//         if (tidegate::Decision decision = limiter.decide()) {
//             std::cout << "go ahead, " << decision.remaining() << " left\n";
//         } else if (auto seconds = decision.retry_after_seconds()) {
//             std::cout << "429, Retry-After: " << *seconds << '\n';
//         } else {
//             std::cout << "429, for ever\n";
//         }
//
//         tidegate::ConcurrencyLimiter gate(4);
//         if (tidegate::Permit permit = gate.try_acquire()) {
//             std::cout << "at most four are here at once\n";
//         }
//     }
//
// Limiters, clocks, permits and decisions are move-only. Limiters and clocks own one share of an object of tidegate.h;
// share() makes another. All their members may be called from any thread at once.
//
// acquire() waits on the calling thread, acquire_async() does not: see Wait. Whoever waits first goes
// first. In the child of a fork nobody waits and no permit is out: those of the parent are the parent's, and giving one back
// does nothing.
//
// What decides or asks is noexcept and answers with a Status, so that a mistake is told apart from a denial. What
// builds or reads texts throws Error, or, given a Mistake to fill, is noexcept and throws nothing. A limiter that was
// moved from answers Status::null_pointer.
//
// Keyed limiters do the same for each key, which is any text or bytes, see Key.
//
// Limits, costs and numbers of permits are any integers, see Count. Statuses, outcomes, decisions, quotas and limiters can
// be written to a std::ostream.

#ifndef TIDEGATE_HPP
#define TIDEGATE_HPP

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <future>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <ratio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tidegate.h"

namespace tidegate {

using std::chrono::nanoseconds;

// The largest cost, number of permits, limit and burst: 2^53 - 1.
inline constexpr std::uint64_t max_cost = TIDEGATE_MAX_COST;

// A time that never comes: the chrono form and the exact one.
inline constexpr nanoseconds never = nanoseconds::max();
inline constexpr std::uint64_t never_ns = TIDEGATE_NEVER_NS;

// ------------------------------------------------------------------------------------------------------------ statuses

// What became of a call. Zero and above are outcomes, below zero are the caller's mistakes; the numbers are those of C.
enum class Status : std::int32_t {
    allowed = TIDEGATE_ALLOWED,
    denied = TIDEGATE_DENIED,
    exceeds_capacity = TIDEGATE_EXCEEDS_CAPACITY,
    timed_out = TIDEGATE_TIMED_OUT,
    closed = TIDEGATE_CLOSED,
    queue_full = TIDEGATE_QUEUE_FULL,
    keys_full = TIDEGATE_KEYS_FULL,
    cancelled = TIDEGATE_CANCELLED,
    pending = TIDEGATE_PENDING,
    too_late = TIDEGATE_TOO_LATE,
    poll_again = TIDEGATE_POLL_AGAIN,
    no_rule = TIDEGATE_NO_RULE,
    null_pointer = TIDEGATE_ERROR_NULL_POINTER,
    struct_size = TIDEGATE_ERROR_STRUCT_SIZE,
    invalid_option = TIDEGATE_ERROR_OPTION,
    invalid_key = TIDEGATE_ERROR_KEY,
    invalid_cost = TIDEGATE_ERROR_COST,
    invalid_permit = TIDEGATE_ERROR_PERMIT,
    invalid_decision = TIDEGATE_ERROR_DECISION,
    invalid_ticket = TIDEGATE_ERROR_TICKET,
    invalid_memory = TIDEGATE_ERROR_MEMORY,
    unsupported = TIDEGATE_ERROR_UNSUPPORTED,
    forked = TIDEGATE_ERROR_FORKED,
    panic = TIDEGATE_ERROR_PANIC,
};

// The name of a status, the same in every language: "allowed", "exceeds_capacity", ...
inline std::string_view name(Status status) noexcept {
    return tidegate_status_name(static_cast<std::int32_t>(status));
}

template <class Traits>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, Status status) {
    return out << name(status);
}

// The release of the library that is loaded, such as "0.1.0".
inline std::string_view version() noexcept {
    return tidegate_version();
}

// The answer of a call that tells no figures: true if allowed, or done. Else a denial or a mistake, told by status().
class Outcome {
public:
    constexpr explicit Outcome(Status status) noexcept : status_(status) {}

    constexpr explicit operator bool() const noexcept { return status_ == Status::allowed; }
    constexpr Status status() const noexcept { return status_; }

    // Whether the call was a mistake of the caller's, and nothing was decided.
    constexpr bool is_mistake() const noexcept { return static_cast<std::int32_t>(status_) < 0; }

    template <class Traits>
    friend std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, Outcome outcome) {
        return out << outcome.status();
    }

private:
    Status status_;
};

// -------------------------------------------------------------------------------------------------------------- counts

// A limit, burst, cost or number of permits as the caller gives it: any integer. Negative ones are refused like those that
// are too large, and told as they were given. A bool, a fraction or a null pointer is no count and does not compile.
class Count {
public:
    template <class Integer,
              std::enable_if_t<(std::is_integral_v<Integer> || std::is_enum_v<Integer>) && sizeof(Integer) <= 8 &&
                                   std::is_convertible_v<Integer, std::uint64_t> && !std::is_same_v<Integer, bool>,
                               int> = 0>
    constexpr Count(Integer value) noexcept
        : value_(static_cast<std::uint64_t>(value)), is_negative_(value < Integer{}) {}

    // As C takes it: what is negative is larger than any bound.
    constexpr std::uint64_t value() const noexcept { return value_; }
    constexpr bool is_negative() const noexcept { return is_negative_; }

private:
    std::uint64_t value_;
    bool is_negative_;
};

// -------------------------------------------------------------------------------------------------------------- errors

// What was wrong, without exceptions: filled by calls that take one.
class Mistake {
public:
    // Status::allowed as long as nothing was wrong.
    Status status() const noexcept { return status_; }

    // `ARGUMENT: got VALUE; allowed: WHAT`; lives as long as this object.
    std::string_view text() const noexcept { return text_; }

    // For this header: a buffer and what was returned for it.
    char *buffer() noexcept { return text_; }
    bool take(std::int32_t status) noexcept {
        status_ = static_cast<Status>(status);
        if (status >= 0) {
            text_[0] = '\0';
        }
        return status >= 0;
    }

    // For this header: a mistake of its own, in parts.
    void set(Status status, std::initializer_list<std::string_view> text) noexcept {
        std::size_t length = 0;
        for (const std::string_view part : text) {
            length += part.copy(text_ + length, sizeof text_ - 1 - length);
        }
        text_[length] = '\0';
        status_ = status;
    }

    // For this header: whether a count is in its range; names it if not.
    bool check(const char *argument, Count count, std::uint64_t min, std::uint64_t max) noexcept {
        if (min <= count.value() && count.value() <= max) {
            return true;
        }
        const unsigned long long size = count.is_negative() ? 0 - count.value() : count.value();
        status_ = Status::invalid_option;
        std::snprintf(text_, sizeof text_, "%s: got %s%llu; allowed: %llu to %llu", argument,
                      count.is_negative() ? "-" : "", size, static_cast<unsigned long long>(min),
                      static_cast<unsigned long long>(max));
        return false;
    }

private:
    Status status_ = Status::allowed;
    char text_[TIDEGATE_ERROR_SIZE] = {};
};

// The same as an exception.
class Error : public std::runtime_error {
public:
    Error(Status status, const std::string &text) : std::runtime_error(text), status_(status) {}
    explicit Error(const Mistake &mistake) : Error(mistake.status(), std::string(mistake.text())) {}

    Status status() const noexcept { return status_; }

private:
    Status status_;
};

namespace detail {

struct Free {
    void operator()(tidegate_clock *object) const noexcept { tidegate_clock_free(object); }
    void operator()(tidegate_rate_limiter *object) const noexcept { tidegate_rate_limiter_free(object); }
    void operator()(tidegate_concurrency_limiter *object) const noexcept { tidegate_concurrency_limiter_free(object); }
    void operator()(tidegate_keyed_rate_limiter *object) const noexcept { tidegate_keyed_rate_limiter_free(object); }
    void operator()(tidegate_keyed_concurrency_limiter *object) const noexcept {
        tidegate_keyed_concurrency_limiter_free(object);
    }
};

template <class Object>
using Owner = std::unique_ptr<Object, Free>;

inline nanoseconds duration(std::uint64_t ns) noexcept {
    return ns >= static_cast<std::uint64_t>(never.count()) ? never : nanoseconds(static_cast<std::int64_t>(ns));
}

// Constructors that take a handle over want this, so that no argument of a caller's can mean one.
struct Adopt {
    explicit Adopt() = default;
};

inline std::uint64_t checked(const char *argument, Count count, std::uint64_t min, std::uint64_t max) {
    Mistake mistake;
    if (!mistake.check(argument, count, min, max)) {
        throw Error(mistake);
    }
    return count.value();
}

template <class Period>
std::string unit() {
    if constexpr (std::is_same_v<Period, std::nano>) {
        return "ns";
    } else if constexpr (std::is_same_v<Period, std::micro>) {
        return "us";
    } else if constexpr (std::is_same_v<Period, std::milli>) {
        return "ms";
    } else if constexpr (std::is_same_v<Period, std::ratio<1>>) {
        return "s";
    } else if constexpr (std::is_same_v<Period, std::ratio<60>>) {
        return "min";
    } else if constexpr (std::is_same_v<Period, std::ratio<3600>>) {
        return "h";
    } else {
        return "* " + std::to_string(Period::num) + "/" + std::to_string(Period::den) + " s";
    }
}

// A duration as it was given, such as "-1 s" or "inf h".
template <class Rep, class Period>
std::string shown(std::chrono::duration<Rep, Period> time) {
    if constexpr (std::is_integral_v<Rep>) {
        return std::to_string(time.count()) + " " + unit<typename Period::type>();
    } else {
        char count[64];
        std::snprintf(count, sizeof count, "%g", static_cast<double>(time.count()));
        return count + (" " + unit<typename Period::type>());
    }
}

// Whole nanoseconds, rounded up; what is longer than `never` counts as that. Throws Error for NaN and what is outside of
// the range.
template <class Rep, class Period>
std::uint64_t whole_ns(const char *argument, std::chrono::duration<Rep, Period> time, std::uint64_t min_ns,
                       std::uint64_t max_ns, const std::string &allowed) {
    if constexpr (std::is_same_v<Rep, float>) {
        // In float the product would lose what 24 bits cannot hold; in double whole seconds of 136 years are exact.
        return whole_ns(argument, std::chrono::duration<double, Period>(time), min_ns, max_ns, allowed);
    }
    const auto rough = std::chrono::duration<long double, std::nano>(time).count();
    if (rough >= 0) {
        const bool fits = rough < static_cast<long double>(never.count());
        const auto ns = static_cast<std::uint64_t>((fits ? std::chrono::ceil<nanoseconds>(time) : never).count());
        if (min_ns <= ns && ns <= max_ns) {
            return ns;
        }
    }
    throw Error(Status::invalid_option, argument + (": got " + shown(time)) + "; allowed: " + allowed);
}

// How far a clock is moved, or to which time.
template <class Rep, class Period>
std::uint64_t clock_ns(const char *argument, std::chrono::duration<Rep, Period> time) {
    return whole_ns(argument, time, 0, static_cast<std::uint64_t>(never.count()), "0 ns or more");
}

// How long to wait at most; `never` is for ever.
template <class Rep, class Period>
std::uint64_t wait_ns(const char *argument, std::chrono::duration<Rep, Period> time) {
    const std::uint64_t ns = clock_ns(argument, time);
    return ns == static_cast<std::uint64_t>(never.count()) ? never_ns : ns;
}

template <class Rep, class Period>
std::uint64_t period_ns(std::chrono::duration<Rep, Period> period) {
    constexpr std::uint64_t max_ns = std::uint64_t{2} * 365 * 24 * 3600 * 1000000000;
    return whole_ns("period", period, 1, max_ns, "1 ns to " + std::to_string(max_ns) + " ns (2 years)");
}

// Whether a text may be given as this, nullptr left out.
template <class Given>
inline constexpr bool is_text = std::is_convertible_v<const Given &, std::string_view> && !std::is_null_pointer_v<Given>;

// The text that is given; none at a null pointer, such as getenv() returns.
template <class Given>
std::string_view text_of(const Given &given) noexcept(noexcept(std::string_view(given))) {
    if constexpr (std::is_pointer_v<Given>) {
        return given == nullptr ? std::string_view() : std::string_view(given);
    } else {
        return given;
    }
}

}  // namespace detail

// -------------------------------------------------------------------------------------------------------------- clocks

// A clock to build limiters on. Without one they go by the machine's monotonic clock.
class Clock {
public:
    static Clock monotonic() {
        tidegate_clock *clock = nullptr;
        const std::int32_t status = tidegate_clock_monotonic_new(&clock);
        return Clock(made(status, clock));
    }

    // Nanoseconds since the clock's origin; never going back. 0 after a move.
    std::uint64_t now_ns() const noexcept {
        std::uint64_t now_ns = 0;
        tidegate_clock_now_ns(get(), &now_ns);
        return now_ns;
    }

    const tidegate_clock *get() const noexcept { return clock_.get(); }

protected:
    explicit Clock(tidegate_clock *clock) noexcept : clock_(clock) {}

    static tidegate_clock *made(std::int32_t status, tidegate_clock *clock) {
        if (status < 0) {
            throw Error(static_cast<Status>(status), "clock: got none; allowed: a clock");
        }
        return clock;
    }

private:
    detail::Owner<tidegate_clock> clock_;
};

// A clock that moves only when told: for tests. Begins at 0, which is also its Unix epoch.
class ManualClock : public Clock {
public:
    ManualClock() : Clock(make()) {}

    // Moves the clock on. Throws Error for negative times.
    template <class Rep, class Period>
    Outcome advance(std::chrono::duration<Rep, Period> by) {
        return advance_ns(detail::clock_ns("by", by));
    }
    Outcome advance_ns(std::uint64_t by_ns) noexcept {
        return Outcome(static_cast<Status>(tidegate_clock_advance(get(), by_ns)));
    }

    // Sets the time as a machine's clock is set: a step back counts as no time. Throws Error for negative times.
    template <class Rep, class Period>
    Outcome set(std::chrono::duration<Rep, Period> to) {
        return set_ns(detail::clock_ns("to", to));
    }
    Outcome set_ns(std::uint64_t to_ns) noexcept {
        return Outcome(static_cast<Status>(tidegate_clock_set(get(), to_ns)));
    }

private:
    static tidegate_clock *make() {
        tidegate_clock *clock = nullptr;
        const std::int32_t status = tidegate_clock_manual_new(&clock);
        return made(status, clock);
    }
};

// -------------------------------------------------------------------------------------------------------------- quotas

enum class Algorithm : std::uint32_t {
    gcra = TIDEGATE_ALGORITHM_GCRA,
    fixed_window = TIDEGATE_ALGORITHM_FIXED_WINDOW,
    sliding_window = TIDEGATE_ALGORITHM_SLIDING_WINDOW,
    sliding_log = TIDEGATE_ALGORITHM_SLIDING_LOG,
};

enum class Anchor : std::uint32_t {
    first = TIDEGATE_ANCHOR_FIRST,
    clock = TIDEGATE_ANCHOR_CLOCK,
};

// What a rate limiter enforces: `limit` tokens per period, and how. Each number is checked where it is given, whether they
// go together when a limiter is built.
class Quota {
public:
    // A limit of 0 to max_cost, where 0 refuses everything, per 1 ns to 2 years of 365 days. Fractions of a nanosecond
    // round up. Throws Error for others.
    template <class Rep, class Period>
    Quota(Count limit, std::chrono::duration<Rep, Period> period) {
        raw_.struct_size = sizeof raw_;
        raw_.limit = detail::checked("limit", limit, 0, max_cost);
        raw_.flags = raw_.limit == 0 ? TIDEGATE_QUOTA_LIMIT_ZERO : 0;
        raw_.period_ns = detail::period_ns(period);
        raw_.algorithm = TIDEGATE_ALGORITHM_GCRA;
        raw_.anchor = TIDEGATE_ANCHOR_FIRST;
    }
    explicit Quota(const tidegate_quota &raw) noexcept : raw_(raw) {}

    // Reads the text of one quota, such as "100/s burst 20". Throws Error.
    static Quota parse(std::string_view text) {
        tidegate_quota raw{};
        Mistake mistake;
        if (!read_one(text, "one quota; parse_list() reads several", raw, mistake)) {
            throw Error(mistake);
        }
        return Quota(raw);
    }
    static Quota parse(const char *text) { return parse(detail::text_of(text)); }

    // Reads the text of one or more quotas, joined by ';'. Throws Error.
    static std::vector<Quota> parse_list(std::string_view text) {
        tidegate_quota raw[TIDEGATE_MAX_QUOTAS];
        std::size_t count = 0;
        Mistake mistake;
        if (!read(text, raw, count, mistake)) {
            throw Error(mistake);
        }
        return std::vector<Quota>(raw, raw + count);
    }
    static std::vector<Quota> parse_list(const char *text) { return parse_list(detail::text_of(text)); }

    // How many tokens may be spent at once, 1 to max_cost; only with gcra. Throws Error for others.
    Quota with_burst(Count burst) const {
        Quota quota = *this;
        quota.raw_.burst = detail::checked("burst", burst, 1, max_cost);
        return quota;
    }
    Quota with_algorithm(Algorithm algorithm) const noexcept {
        Quota quota = *this;
        quota.raw_.algorithm = static_cast<std::uint32_t>(algorithm);
        return quota;
    }
    // Where fixed windows begin; only with fixed windows.
    Quota with_anchor(Anchor anchor) const noexcept {
        Quota quota = *this;
        quota.raw_.anchor = static_cast<std::uint32_t>(anchor);
        return quota;
    }

    std::uint64_t limit() const noexcept { return raw_.limit; }
    nanoseconds period() const noexcept { return detail::duration(raw_.period_ns); }
    std::uint64_t period_ns() const noexcept { return raw_.period_ns; }
    std::uint64_t burst() const noexcept { return raw_.burst == 0 ? raw_.limit : raw_.burst; }
    Algorithm algorithm() const noexcept { return static_cast<Algorithm>(raw_.algorithm); }
    Anchor anchor() const noexcept { return static_cast<Anchor>(raw_.anchor); }

    // The shortest usual text, which parses back to an equal quota. Throws Error if the quota is not acceptable.
    std::string text() const {
        char text[TIDEGATE_QUOTA_TEXT_SIZE];
        std::size_t length = 0;
        const std::int32_t status = tidegate_quota_format(&raw_, text, sizeof text, &length);
        if (status < 0) {
            throw Error(static_cast<Status>(status), "quota: got one that no limiter accepts; allowed: a valid quota");
        }
        return std::string(text, length);
    }

    const tidegate_quota &raw() const noexcept { return raw_; }

    friend bool operator==(const Quota &one, const Quota &other) noexcept {
        return one.limit() == other.limit() && one.period_ns() == other.period_ns() && one.burst() == other.burst() &&
               one.algorithm() == other.algorithm() && one.anchor() == other.anchor();
    }
    friend bool operator!=(const Quota &one, const Quota &other) noexcept { return !(one == other); }

    template <class Traits>
    friend std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const Quota &quota) {
        return out << quota.text();
    }

private:
    friend class Quotas;

    static bool read(std::string_view text, tidegate_quota (&raw)[TIDEGATE_MAX_QUOTAS], std::size_t &count,
                     Mistake &mistake) noexcept {
        return mistake.take(tidegate_quota_parse(text.data(), text.size(), raw, TIDEGATE_MAX_QUOTAS, &count,
                                                 mistake.buffer(), TIDEGATE_ERROR_SIZE));
    }

    // The same for a text that must be of one quota; `allowed` is said of one that is of several.
    static bool read_one(std::string_view text, const char *allowed, tidegate_quota &raw, Mistake &mistake) noexcept {
        tidegate_quota all[TIDEGATE_MAX_QUOTAS];
        std::size_t count = 0;
        if (!read(text, all, count, mistake)) {
            return false;
        }
        if (count != 1) {
            mistake.set(Status::invalid_option, {"quota: got \"", text.substr(0, 100), "\"; allowed: ", allowed});
            return false;
        }
        raw = all[0];
        return true;
    }

    tidegate_quota raw_{};
};

// What rate limiters are built from, and made of by itself: a text, a quota, or a list of quotas and texts that all must
// admit. Give it as an argument and do not keep it: a text is not copied.
class Quotas {
public:
    // One of a list: a quota, or the text of one.
    class Item {
    public:
        Item(const Quota &quota) noexcept : quota_(&quota) {}
        template <class Text, std::enable_if_t<detail::is_text<Text>, int> = 0>
        Item(const Text &text) noexcept(noexcept(detail::text_of(text))) : text_(detail::text_of(text)) {}

    private:
        friend class Quotas;

        const Quota *quota_ = nullptr;
        std::string_view text_;
    };

    template <class Text, std::enable_if_t<detail::is_text<Text>, int> = 0>
    Quotas(const Text &text) noexcept(noexcept(detail::text_of(text))) : is_text_(true), text_(detail::text_of(text)) {}
    Quotas(const Quota &quota) noexcept { add(quota); }

    // In braces; a text that is alone there may be of several quotas.
    Quotas(std::initializer_list<Item> list) noexcept {
        if (list.size() == 1 && list.begin()->quota_ == nullptr) {
            is_text_ = true;
            text_ = list.begin()->text_;
            return;
        }
        for (const Item &item : list) {
            add(item);
        }
    }

    // A vector, an array or another range.
    template <class List,
              std::enable_if_t<std::is_convertible_v<decltype(*std::begin(std::declval<const List &>())), Item>, int> = 0>
    Quotas(const List &list) noexcept {
        for (const auto &item : list) {
            add(item);
        }
    }

private:
    friend class RateLimiter;
    friend class KeyedRateLimiter;

    // The first item that is wrong is the list's mistake. A list that is too long is refused by its count alone.
    void add(const Item &item) noexcept {
        const char *allowed = "one quota; in a list each has a text of its own";
        tidegate_quota raw{};
        if (item.quota_ != nullptr) {
            raw = item.quota_->raw();
        } else if (mistake_.status() != Status::allowed || !Quota::read_one(item.text_, allowed, raw, mistake_)) {
            return;
        }
        if (count_ < TIDEGATE_MAX_QUOTAS) {
            raw_[count_] = raw;
        }
        ++count_;
    }

    bool is_text_ = false;
    std::string_view text_;
    tidegate_quota raw_[TIDEGATE_MAX_QUOTAS];
    std::size_t count_ = 0;
    Mistake mistake_;
};

// ---------------------------------------------------------------------------------------------------------- statistics

// What a limiter has done since it was built, and how it stands. Counts are of calls; what does not apply is 0.
struct Stats {
    std::uint64_t allowed = 0;
    std::uint64_t denied = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t limit = 0;
    std::uint64_t in_flight = 0;
    std::uint64_t available = 0;
    std::uint64_t waiting = 0;
    std::uint64_t evicted_live = 0;
    std::uint64_t released_ok = 0;
    std::uint64_t released_failed = 0;
    nanoseconds hold_time_total{0};
    nanoseconds hold_time_max{0};
    std::uint64_t live_keys = 0;
    std::uint64_t capacity = 0;

    Stats() = default;
    explicit Stats(const tidegate_stats &raw) noexcept
        : allowed(raw.allowed), denied(raw.denied), timed_out(raw.timed_out), cancelled(raw.cancelled),
          limit(raw.limit), in_flight(raw.in_flight), available(raw.available), waiting(raw.waiting),
          evicted_live(raw.evicted_live), released_ok(raw.released_ok), released_failed(raw.released_failed),
          hold_time_total(detail::duration(raw.hold_time_total_ns)),
          hold_time_max(detail::duration(raw.hold_time_max_ns)), live_keys(raw.live_keys), capacity(raw.capacity) {}
};

// ------------------------------------------------------------------------------------------------------------- waiting

// How many may wait at once, at most.
inline constexpr std::uint64_t max_max_waiters = TIDEGATE_MAX_WAITERS;

namespace detail {

// A wait as its owner and its callback share it.
template <class Traits>
struct WaitState {
    using Raw = typename Traits::Raw;

    std::mutex mutex;
    std::condition_variable changed;
    Status status = Status::pending;
    bool poll_again = false;
    Raw granted{};
    // The limiter of an owner that is gone, which what comes after all is given back to.
    typename Traits::Limiter abandoned{};

    // `user_data` is a share of the state, which the last call takes with it.
    static void tell(void *user_data, std::int32_t status, const Raw *given) noexcept {
        auto *share = static_cast<std::shared_ptr<WaitState> *>(user_data);
        const bool is_last = status != TIDEGATE_POLL_AGAIN;
        typename Traits::Limiter abandoned{};
        Raw granted = given == nullptr ? Raw{} : *given;
        {
            const std::lock_guard<std::mutex> lock((*share)->mutex);
            (*share)->poll_again = !is_last;
            if (is_last) {
                (*share)->status = static_cast<Status>(status);
                (*share)->granted = granted;
                abandoned = std::move((*share)->abandoned);
            }
            (*share)->changed.notify_all();
        }
        if (is_last) {
            delete share;
        }
        Traits::give_back(abandoned, granted);
    }
};

// What a wait with such an answer is for.
template <class Answer>
struct WaitFor;

template <>
struct WaitFor<Outcome> {
    struct Keyed {
        Owner<tidegate_keyed_rate_limiter> limiter;
        // For a refund.
        std::string key;
    };
    using Limiter = std::variant<Owner<tidegate_rate_limiter>, Keyed>;
    using Raw = tidegate_decision;

    static std::int32_t poll(const Limiter &limiter, std::uint64_t ticket, std::uint64_t *wake_after_ns) noexcept {
        const auto *keyed = std::get_if<Keyed>(&limiter);
        return keyed == nullptr ? tidegate_rate_limiter_poll(std::get<0>(limiter).get(), ticket, wake_after_ns)
                                : tidegate_keyed_rate_limiter_poll(keyed->limiter.get(), ticket, wake_after_ns);
    }
    static std::int32_t cancel(const Limiter &limiter, std::uint64_t ticket) noexcept {
        const auto *keyed = std::get_if<Keyed>(&limiter);
        return keyed == nullptr ? tidegate_rate_limiter_cancel(std::get<0>(limiter).get(), ticket)
                                : tidegate_keyed_rate_limiter_cancel(keyed->limiter.get(), ticket);
    }
    static Outcome answer(Limiter, Status status, const Raw &) noexcept { return Outcome(status); }
    static void give_back(const Limiter &limiter, Raw &decision) noexcept {
        if (decision.cost == 0) {
            return;
        }
        if (const auto *keyed = std::get_if<Keyed>(&limiter)) {
            tidegate_keyed_rate_limiter_refund(keyed->limiter.get(), keyed->key.data(), keyed->key.size(), &decision);
        } else {
            tidegate_rate_limiter_refund(std::get<0>(limiter).get(), &decision);
        }
    }
};

}  // namespace detail

// A wait that keeps no thread: for tokens, Wait<Outcome>, or for permits, Wait<Permit> or Wait<KeyedPermit>. It has its place in the queue from
// the start, and leaves it when it goes out of scope; what it was granted and nobody has fetched is given back then: permits,
// and tokens as by refund(), but for those that were taken at once.
//
// Nor is there a timer behind it. A wait for tokens that is first in line is granted, and one with a timeout ends, when it
// is looked at, by get() or wait_for(), which sleep until then; so call one soon, for all behind wait for the first, too.
// Event loops with timers of their own use tidegate_..._acquire_async() of tidegate.h with the limiter's get().
//
// To be used by one thread at a time.
template <class Answer>
class Wait {
public:
    Wait(Wait &&) noexcept = default;
    Wait &operator=(Wait &&other) noexcept {
        if (this != &other) {
            leave();
            limiter_ = std::move(other.limiter_);
            state_ = std::move(other.state_);
            ticket_ = other.ticket_;
        }
        return *this;
    }
    Wait(const Wait &) = delete;
    Wait &operator=(const Wait &) = delete;
    ~Wait() { leave(); }

    // Waits until it is over, for at most so long; whether it is. Zero looks once. Throws Error for negative times.
    template <class Rep, class Period>
    bool wait_for(std::chrono::duration<Rep, Period> most) {
        return look_until(after(detail::clock_ns("most", most)));
    }

    // Waits until it is over and tells what came of it. Once: then, and after a move, it is Status::invalid_ticket.
    Answer get() {
        look_until(Time::max());
        return take();
    }

    // The same as a std::future, whose get() and wait() do the waiting. It is a deferred one: its wait_for() does not wait,
    // and says so. Dropping it leaves the queue.
    std::future<Answer> future() && {
        return std::async(
            std::launch::deferred, [](Wait wait) { return wait.get(); }, std::move(*this));
    }

    // Leaves the queue. If it was over, Status::too_late, and get() has the answer; else that is Status::cancelled.
    Outcome cancel() noexcept {
        if (state_ == nullptr) {
            return Outcome(Status::invalid_ticket);
        }
        if (status() != Status::pending) {
            return Outcome(Status::too_late);
        }
        return Outcome(static_cast<Status>(Traits::cancel(limiter_, ticket_)));
    }

private:
    friend class RateLimiter;
    friend class ConcurrencyLimiter;
    friend class KeyedRateLimiter;
    friend class KeyedConcurrencyLimiter;
    using Traits = detail::WaitFor<Answer>;
    using Limiter = typename Traits::Limiter;
    using State = detail::WaitState<Traits>;
    using Time = std::chrono::steady_clock::time_point;

    // `begin` is what takes or begins to wait, but for these arguments: callback, user_data, granted, ticket, wake_after_ns.
    template <class Begin>
    Wait(Limiter limiter, Begin begin) : limiter_(std::move(limiter)), state_(std::make_shared<State>()) {
        auto share = std::make_unique<std::shared_ptr<State>>(state_);
        typename Traits::Raw granted{};
        std::uint64_t wake_after_ns = 0;
        const auto status = static_cast<Status>(begin(State::tell, share.get(), &granted, &ticket_, &wake_after_ns));
        if (status == Status::pending) {
            // The callback's, which may have been called by now.
            (void)share.release();
        } else {
            state_->status = status;
            state_->granted = granted;
        }
    }

    Status status() const noexcept {
        const std::lock_guard<std::mutex> lock(state_->mutex);
        return state_->status;
    }

    static Time after(std::uint64_t ns) noexcept {
        const Time now = std::chrono::steady_clock::now();
        const nanoseconds time = detail::duration(ns);
        return time < Time::max() - now ? now + std::chrono::ceil<Time::duration>(time) : Time::max();
    }

    // Looks, and sleeps in between, until it is over or the time has come; whether it is over.
    bool look_until(Time until) {
        while (state_ != nullptr && status() == Status::pending) {
            std::uint64_t wake_after_ns = 0;
            if (Traits::poll(limiter_, ticket_, &wake_after_ns) < 0) {
                // The ticket is the parent's of this process.
                state_->status = Status::forked;
                break;
            }
            // Not less than sleeping takes: on a manual clock it may be due in a moment that does not come.
            constexpr std::uint64_t shortest_ns = 50000;
            const Time next = std::min(until, after(std::max(wake_after_ns, shortest_ns)));
            const auto told = [this] { return state_->status != Status::pending || state_->poll_again; };
            std::unique_lock<std::mutex> lock(state_->mutex);
            if (next == Time::max()) {
                state_->changed.wait(lock, told);
            } else {
                state_->changed.wait_until(lock, next, told);
            }
            state_->poll_again = false;
            if (state_->status == Status::pending && std::chrono::steady_clock::now() >= until) {
                return false;
            }
        }
        return true;
    }

    // The answer of a wait that is over, or none.
    Answer take() noexcept {
        if (state_ == nullptr) {
            return Traits::answer({}, Status::invalid_ticket, {});
        }
        const std::shared_ptr<State> state = std::move(state_);
        return Traits::answer(std::move(limiter_), state->status, state->granted);
    }

    void leave() noexcept {
        if (state_ == nullptr) {
            return;
        }
        cancel();
        const std::shared_ptr<State> state = std::move(state_);
        {
            const std::lock_guard<std::mutex> lock(state->mutex);
            if (state->status == Status::pending) {
                // Over, but its callback is only being called, on another thread or once the one that runs here returns.
                state->abandoned = std::move(limiter_);
                return;
            }
        }
        Traits::give_back(limiter_, state->granted);
    }

    Limiter limiter_;
    std::shared_ptr<State> state_;
    std::uint64_t ticket_ = 0;
};

// Tokens that are charged already and may be used once they are due. True if they were to be had. Dropping it changes
// nothing: the tokens stay charged.
class Reservation {
public:
    Reservation(Reservation &&other) noexcept : status_(other.status_), raw_(std::exchange(other.raw_, {})) {}
    Reservation &operator=(Reservation &&other) noexcept {
        status_ = other.status_;
        raw_ = this == &other ? raw_ : std::exchange(other.raw_, {});
        return *this;
    }
    // A copy could be cancelled twice.
    Reservation(const Reservation &) = delete;
    Reservation &operator=(const Reservation &) = delete;
    ~Reservation() = default;

    explicit operator bool() const noexcept { return status_ == Status::allowed; }
    Status status() const noexcept { return status_; }

    // How long to wait from when they were reserved; zero if they may be used at once.
    nanoseconds wait() const noexcept { return detail::duration(raw_.wait_ns); }
    std::uint64_t wait_ns() const noexcept { return raw_.wait_ns; }

    // From when on they may be used, on the limiter's clock.
    std::uint64_t due_ns() const noexcept { return raw_.due_ns; }

private:
    friend class RateLimiter;
    friend class KeyedRateLimiter;
    Reservation() noexcept = default;

    Status status_ = Status::denied;
    tidegate_reservation raw_{};
};

// ------------------------------------------------------------------------------------------------------- rate limiters

// The answer of a rate limiter with its figures. True if allowed. After a mistake, told by status(), the figures are 0.
class Decision {
public:
    Decision(Decision &&other) noexcept : status_(other.status_), raw_(other.raw_) { other.raw_.cost = 0; }
    Decision &operator=(Decision &&other) noexcept {
        status_ = other.status_;
        raw_ = other.raw_;
        if (this != &other) {
            other.raw_.cost = 0;
        }
        return *this;
    }
    // A copy could be refunded twice.
    Decision(const Decision &) = delete;
    Decision &operator=(const Decision &) = delete;
    ~Decision() = default;

    explicit operator bool() const noexcept { return allowed(); }
    bool allowed() const noexcept { return status_ == Status::allowed; }
    Status status() const noexcept { return status_; }

    // The limit of the quota that the decision names, and its place in the limiter's list, from 0.
    std::uint64_t limit() const noexcept { return raw_.limit; }
    std::size_t quota() const noexcept { return raw_.quota; }

    // Tokens that could be spent at once after this decision.
    std::uint64_t remaining() const noexcept { return raw_.remaining; }

    // How long until the same call would be allowed if nobody else asks; zero if allowed, `never` for never.
    nanoseconds retry_after() const noexcept { return detail::duration(raw_.retry_after_ns); }
    std::uint64_t retry_after_ns() const noexcept { return raw_.retry_after_ns; }

    // The same in whole seconds, rounded up, as a Retry-After header wants it: 0 when allowed, at least 1 when refused.
    // Nothing for never, and after a mistake: leave the header out.
    std::optional<std::uint64_t> retry_after_seconds() const noexcept {
        constexpr std::uint64_t second_ns = 1000000000;
        if (allowed()) {
            return 0;
        }
        if (Outcome(status_).is_mistake() || raw_.retry_after_ns == never_ns) {
            return std::nullopt;
        }
        const std::uint64_t seconds = raw_.retry_after_ns / second_ns + (raw_.retry_after_ns % second_ns != 0);
        return seconds == 0 ? 1 : seconds;
    }

    // How long until nothing counts any more if nobody asks.
    nanoseconds reset_after() const noexcept { return detail::duration(raw_.reset_after_ns); }
    std::uint64_t reset_after_ns() const noexcept { return raw_.reset_after_ns; }

    // Such as "denied limit=1 remaining=0 retry_after_ns=800000000 reset_after_ns=800000000 quota=0".
    std::string text() const {
        const std::string wait = retry_after_ns() == never_ns ? "never" : std::to_string(retry_after_ns());
        return std::string(name(status_)) + " limit=" + std::to_string(limit()) + " remaining=" +
               std::to_string(remaining()) + " retry_after_ns=" + wait + " reset_after_ns=" +
               std::to_string(reset_after_ns()) + " quota=" + std::to_string(quota());
    }

    template <class Traits>
    friend std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const Decision &decision) {
        return out << decision.text();
    }

private:
    friend class RateLimiter;
    friend class KeyedRateLimiter;
    Decision() noexcept = default;

    Status status_ = Status::denied;
    tidegate_decision raw_{};
};

// What a rate limiter may be built with, beside its quotas.
struct RateOptions {
    // The clock to go by; the monotonic one if null. Needed only while the limiter is built.
    const Clock *clock = nullptr;
    // How many may wait at once: 0 to max_max_waiters; who comes then is refused, Status::queue_full.
    Count max_waiters = max_max_waiters;
};

// Spends tokens that come back with time.
class RateLimiter {
public:
    // On the monotonic clock, or on `clock`, with nothing used. Throws Error.
    explicit RateLimiter(const Quotas &quotas) : RateLimiter(built(quotas, {})) {}
    explicit RateLimiter(std::initializer_list<Quotas::Item> quotas) : RateLimiter(built(quotas, {})) {}
    RateLimiter(const Quotas &quotas, const Clock &clock) : RateLimiter(built(quotas, {&clock})) {}
    RateLimiter(const Quotas &quotas, const RateOptions &options) : RateLimiter(built(quotas, options)) {}

    // The same without exceptions: nothing, and the mistake, if something is wrong.
    [[nodiscard]] static std::optional<RateLimiter> make(const Quotas &quotas, Mistake &mistake) noexcept {
        return make(quotas, RateOptions{}, mistake);
    }
    [[nodiscard]] static std::optional<RateLimiter> make(const Quotas &quotas, const Clock &clock,
                                                         Mistake &mistake) noexcept {
        return make(quotas, RateOptions{&clock}, mistake);
    }
    [[nodiscard]] static std::optional<RateLimiter> make(const Quotas &quotas, const RateOptions &options,
                                                         Mistake &mistake) noexcept {
        if (options.clock != nullptr && options.clock->get() == nullptr) {
            mistake.set(Status::null_pointer, {"clock: got one that was moved from; allowed: a clock"});
            return std::nullopt;
        }
        mistake = quotas.mistake_;
        if (mistake.status() != Status::allowed) {
            return std::nullopt;
        }
        tidegate_rate_limiter_options raw{};
        raw.struct_size = sizeof raw;
        raw.clock = options.clock == nullptr ? nullptr : options.clock->get();
        raw.flags = options.max_waiters.value() == 0 ? TIDEGATE_RATE_NO_WAITERS : 0u;
        raw.max_waiters = std::min(options.max_waiters.value(), max_max_waiters);
        tidegate_rate_limiter *limiter = nullptr;
        const std::int32_t status =
            quotas.is_text_ ? tidegate_rate_limiter_parse(quotas.text_.data(), quotas.text_.size(), &raw, &limiter,
                                                          mistake.buffer(), TIDEGATE_ERROR_SIZE)
                            : tidegate_rate_limiter_new(quotas.raw_, quotas.count_, &raw, &limiter, mistake.buffer(),
                                                        TIDEGATE_ERROR_SIZE);
        RateLimiter built(detail::Adopt(), limiter);
        // Last, as a mistake in the quotas goes first.
        if (!mistake.take(status) || !mistake.check("max_waiters", options.max_waiters, 0, max_max_waiters)) {
            return std::nullopt;
        }
        return built;
    }

    // Another owner of the same limiter.
    RateLimiter share() const noexcept { return RateLimiter(detail::Adopt(), tidegate_rate_limiter_ref(get())); }

    // Takes `cost` tokens if all can be had now. The fast way: it tells no figures.
    [[nodiscard]] Outcome try_acquire(Count cost = 1) const noexcept {
        return Outcome(static_cast<Status>(tidegate_rate_limiter_try_acquire(get(), cost.value())));
    }

    // Takes `cost` tokens, all at once, and waits on this thread until it is their turn, for ever or for at most `timeout`. A
    // wait that would outlast that is refused at once, Status::timed_out. Throws Error for negative times.
    [[nodiscard]] Outcome acquire(Count cost = 1) const noexcept {
        return Outcome(static_cast<Status>(tidegate_rate_limiter_acquire(get(), cost.value(), never_ns)));
    }
    template <class Rep, class Period>
    [[nodiscard]] Outcome acquire(Count cost, std::chrono::duration<Rep, Period> timeout) const {
        const std::uint64_t timeout_ns = detail::wait_ns("timeout", timeout);
        return Outcome(static_cast<Status>(tidegate_rate_limiter_acquire(get(), cost.value(), timeout_ns)));
    }

    // The same without keeping a thread: takes them, or begins to wait.
    [[nodiscard]] Wait<Outcome> acquire_async(Count cost = 1) const {
        return begin_wait(cost, never_ns);
    }
    template <class Rep, class Period>
    [[nodiscard]] Wait<Outcome> acquire_async(Count cost, std::chrono::duration<Rep, Period> timeout) const {
        return begin_wait(cost, detail::wait_ns("timeout", timeout));
    }

    // Charges `cost` tokens now, to be used once they are due, if that is in at most `max_wait`. For one quota with gcra, else
    // Status::unsupported. Throws Error for negative times.
    [[nodiscard]] Reservation reserve(Count cost = 1) const noexcept { return reserve_ns(cost, never_ns); }
    template <class Rep, class Period>
    [[nodiscard]] Reservation reserve(Count cost, std::chrono::duration<Rep, Period> max_wait) const {
        return reserve_ns(cost, detail::wait_ns("max_wait", max_wait));
    }

    // Gives a reservation of this limiter back and consumes it. Credited, which is true, only if it is not due yet and nobody
    // reserved after it; else Status::too_late. A second time, Status::invalid_decision.
    Outcome cancel_reservation(Reservation &reservation) const noexcept {
        return Outcome(static_cast<Status>(tidegate_rate_limiter_cancel_reservation(get(), &reservation.raw_)));
    }

    // The same as try_acquire(), with the figures.
    [[nodiscard]] Decision decide(Count cost = 1) const noexcept {
        Decision decision;
        decision.status_ = static_cast<Status>(tidegate_rate_limiter_decide(get(), cost.value(), &decision.raw_));
        return decision;
    }

    // What decide() would answer now, spending nothing; remaining() is what is unspent.
    [[nodiscard]] Decision peek(Count cost = 1) const noexcept {
        Decision decision;
        decision.status_ = static_cast<Status>(tidegate_rate_limiter_peek(get(), cost.value(), &decision.raw_));
        return decision;
    }

    // Gives back what a decision of this limiter took, as far as no bound is broken, and consumes it. A second time, or
    // for a decision that granted nothing, Status::invalid_decision.
    [[nodiscard]] Outcome refund(Decision &decision) const noexcept {
        return Outcome(static_cast<Status>(tidegate_rate_limiter_refund(get(), &decision.raw_)));
    }

    // Makes everything unspent again. It fails only after a move.
    Outcome reset() const noexcept { return Outcome(static_cast<Status>(tidegate_rate_limiter_reset(get()))); }

    // Changes limits, periods and bursts while in use; what is used stays used. The number of quotas, their algorithms
    // and anchors must stay. Throws Error.
    void reconfigure(const Quotas &quotas) const {
        Mistake mistake;
        if (!reconfigure(quotas, mistake)) {
            throw Error(mistake);
        }
    }
    // The same without exceptions; the outcome is the mistake's status.
    [[nodiscard]] Outcome reconfigure(const Quotas &quotas, Mistake &mistake) const noexcept {
        mistake = quotas.mistake_;
        if (quotas.is_text_) {
            mistake.take(tidegate_rate_limiter_reconfigure_text(get(), quotas.text_.data(), quotas.text_.size(),
                                                                mistake.buffer(), TIDEGATE_ERROR_SIZE));
        } else if (mistake.status() == Status::allowed) {
            mistake.take(tidegate_rate_limiter_reconfigure(get(), quotas.raw_, quotas.count_, mistake.buffer(),
                                                           TIDEGATE_ERROR_SIZE));
        }
        return Outcome(mistake.status());
    }

    // The quotas that are enforced now; none after a move.
    std::vector<Quota> quotas() const {
        tidegate_quota raw[TIDEGATE_MAX_QUOTAS];
        std::size_t count = 0;
        tidegate_rate_limiter_quotas(get(), raw, TIDEGATE_MAX_QUOTAS, &count);
        return std::vector<Quota>(raw, raw + count);
    }

    // How many wait; 0 after a move.
    std::uint64_t waiting() const noexcept {
        std::uint64_t waiting = 0;
        tidegate_rate_limiter_waiting(get(), &waiting);
        return waiting;
    }

    Stats stats() const noexcept {
        tidegate_stats raw{};
        tidegate_rate_limiter_stats(get(), &raw);
        return Stats(raw);
    }

    // The quotas as text, such as "100/s burst 20; 1000/h", from which an equal limiter can be built.
    std::string text() const {
        std::string text;
        for (const Quota &quota : quotas()) {
            text += (text.empty() ? "" : "; ") + quota.text();
        }
        return text;
    }

    template <class Traits>
    friend std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const RateLimiter &limiter) {
        return out << limiter.text();
    }

    const tidegate_rate_limiter *get() const noexcept { return limiter_.get(); }

private:
    RateLimiter(detail::Adopt, tidegate_rate_limiter *limiter) noexcept : limiter_(limiter) {}

    Wait<Outcome> begin_wait(Count cost, std::uint64_t timeout_ns) const {
        return Wait<Outcome>(std::move(share().limiter_), [&](auto callback, void *user_data, auto, auto... outputs) {
            return tidegate_rate_limiter_acquire_refundable_async(get(), cost.value(), timeout_ns, callback, user_data,
                                                                  outputs...);
        });
    }

    Reservation reserve_ns(Count cost, std::uint64_t max_wait_ns) const noexcept {
        Reservation reservation;
        reservation.status_ = static_cast<Status>(
            tidegate_rate_limiter_reserve(get(), cost.value(), max_wait_ns, &reservation.raw_));
        return reservation;
    }

    static RateLimiter built(const Quotas &quotas, const RateOptions &options) {
        Mistake mistake;
        std::optional<RateLimiter> limiter = make(quotas, options, mistake);
        if (!limiter) {
            throw Error(mistake);
        }
        return std::move(*limiter);
    }

    detail::Owner<tidegate_rate_limiter> limiter_;
};

// ------------------------------------------------------------------------------------------------ concurrency limiters

// What a concurrency limiter lends: true while it holds something. Gives it back when it goes out of scope.
//
// A permit that was granted is an owner of its limiter too, so that it may outlive all others. The price is to count one
// owner up and down again: 5 ns on top of 11 for taking and giving back, 15 on top of 30 where two threads contend. Who
// cannot pay that calls tidegate_concurrency_limiter_try_acquire() with get().
class Permit {
public:
    Permit(Permit &&other) noexcept
        : limiter_(std::move(other.limiter_)), status_(other.status_),
          raw_(std::exchange(other.raw_, tidegate_permit{})) {}
    Permit &operator=(Permit &&other) noexcept {
        if (this != &other) {
            give_back();
            limiter_ = std::move(other.limiter_);
            status_ = other.status_;
            raw_ = std::exchange(other.raw_, tidegate_permit{});
        }
        return *this;
    }
    Permit(const Permit &) = delete;
    Permit &operator=(const Permit &) = delete;
    ~Permit() { give_back(); }

    explicit operator bool() const noexcept { return raw_.permits != 0; }

    // How many permits are held.
    std::uint64_t permits() const noexcept { return raw_.permits; }

    // What the call that asked for it was answered.
    Status status() const noexcept { return status_; }

    // Gives everything back before the end of the scope; `ok` tells the statistics whether the work went well. A second
    // time, or if nothing was granted, Status::invalid_permit.
    Outcome release(bool ok = true) noexcept {
        if (limiter_ == nullptr) {
            return Outcome(Status::invalid_permit);
        }
        return Outcome(static_cast<Status>(tidegate_concurrency_limiter_release(limiter_.get(), &raw_, ok ? 1 : 0)));
    }

private:
    friend class ConcurrencyLimiter;
    friend struct detail::WaitFor<Permit>;
    Permit() noexcept = default;

    void give_back() noexcept {
        if (*this) {
            release();
        }
    }

    detail::Owner<tidegate_concurrency_limiter> limiter_;
    Status status_ = Status::denied;
    tidegate_permit raw_{};
};

namespace detail {

template <>
struct WaitFor<Permit> {
    using Limiter = Owner<tidegate_concurrency_limiter>;
    using Raw = tidegate_permit;

    static std::int32_t poll(const Limiter &limiter, std::uint64_t ticket, std::uint64_t *wake_after_ns) noexcept {
        return tidegate_concurrency_limiter_poll(limiter.get(), ticket, wake_after_ns);
    }
    static std::int32_t cancel(const Limiter &limiter, std::uint64_t ticket) noexcept {
        return tidegate_concurrency_limiter_cancel(limiter.get(), ticket);
    }
    static Permit answer(Limiter limiter, Status status, const Raw &raw) noexcept {
        Permit permit;
        permit.status_ = status;
        permit.raw_ = raw;
        if (permit) {
            permit.limiter_ = std::move(limiter);
        }
        return permit;
    }
    static void give_back(const Limiter &limiter, Raw &permit) noexcept {
        if (limiter && permit.permits != 0) {
            tidegate_concurrency_limiter_release(limiter.get(), &permit, 1);
        }
    }
};

}  // namespace detail

// What a concurrency limiter may be built with, beside its limit.
struct ConcurrencyOptions {
    // Measures how long permits are held, at the price of two clock readings for each.
    bool track_hold_time = false;
    // The clock of timeouts and hold times; the monotonic one if null. Needed only while the limiter is built.
    const Clock *clock = nullptr;
    // How many may wait at once: 0 to max_max_waiters; who comes then is refused, Status::queue_full.
    Count max_waiters = max_max_waiters;
};

// Lends at most `limit` permits at once.
class ConcurrencyLimiter {
public:
    static constexpr std::uint64_t max_limit = 2147483647;

    // A limit of 0 to max_limit, where 0 refuses everything. Throws Error.
    explicit ConcurrencyLimiter(Count limit, const ConcurrencyOptions &options = {})
        : ConcurrencyLimiter(built(limit, options)) {}

    // The same without exceptions: nothing, and the mistake, if something is wrong.
    [[nodiscard]] static std::optional<ConcurrencyLimiter> make(Count limit, Mistake &mistake) noexcept {
        return make(limit, ConcurrencyOptions{}, mistake);
    }
    [[nodiscard]] static std::optional<ConcurrencyLimiter> make(Count limit, const ConcurrencyOptions &options,
                                                                Mistake &mistake) noexcept {
        if (!mistake.check("limit", limit, 0, max_limit) ||
            !mistake.check("max_waiters", options.max_waiters, 0, max_max_waiters)) {
            return std::nullopt;
        }
        if (options.clock != nullptr && options.clock->get() == nullptr) {
            mistake.set(Status::null_pointer, {"clock: got one that was moved from; allowed: a clock"});
            return std::nullopt;
        }
        tidegate_concurrency_limiter_options raw{};
        raw.struct_size = sizeof raw;
        raw.flags = (limit.value() == 0 ? TIDEGATE_CONCURRENCY_LIMIT_ZERO : 0u) |
                    (options.track_hold_time ? TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME : 0u) |
                    (options.max_waiters.value() == 0 ? TIDEGATE_CONCURRENCY_NO_WAITERS : 0u);
        raw.limit = limit.value();
        raw.max_waiters = options.max_waiters.value();
        raw.clock = options.clock == nullptr ? nullptr : options.clock->get();
        tidegate_concurrency_limiter *limiter = nullptr;
        if (!mistake.take(tidegate_concurrency_limiter_new(&raw, &limiter, mistake.buffer(), TIDEGATE_ERROR_SIZE))) {
            return std::nullopt;
        }
        return ConcurrencyLimiter(detail::Adopt(), limiter);
    }

    // Another owner of the same limiter.
    ConcurrencyLimiter share() const noexcept {
        return ConcurrencyLimiter(detail::Adopt(), tidegate_concurrency_limiter_ref(get()));
    }

    // Takes `permits` permits if all can be had now; else a permit that holds nothing and tells why in its status().
    [[nodiscard]] Permit try_acquire(Count permits = 1) const noexcept {
        Permit permit;
        lend(permit, tidegate_concurrency_limiter_try_acquire(get(), permits.value(), &permit.raw_));
        return permit;
    }

    // The same, but waits on this thread until it is their turn, for ever or for at most `timeout`. Throws Error for negative
    // times.
    [[nodiscard]] Permit acquire(Count permits = 1) const noexcept { return acquire_ns(permits, never_ns); }
    template <class Rep, class Period>
    [[nodiscard]] Permit acquire(Count permits, std::chrono::duration<Rep, Period> timeout) const {
        return acquire_ns(permits, detail::wait_ns("timeout", timeout));
    }

    // The same without keeping a thread: takes them, or begins to wait.
    [[nodiscard]] Wait<Permit> acquire_async(Count permits = 1) const {
        return begin_wait(permits, never_ns);
    }
    template <class Rep, class Period>
    [[nodiscard]] Wait<Permit> acquire_async(Count permits, std::chrono::duration<Rep, Period> timeout) const {
        return begin_wait(permits, detail::wait_ns("timeout", timeout));
    }

    // Lends nothing any more: who waits and who comes is refused, Status::closed, for ever. Permits that are out can be given
    // back. It fails only after a move.
    Outcome close() const noexcept { return Outcome(static_cast<Status>(tidegate_concurrency_limiter_close(get()))); }

    // Changes the limit while in use, from 0 to max_limit; never blocks. Permits that are out stay out.
    [[nodiscard]] Outcome set_limit(Count limit) const noexcept {
        return Outcome(static_cast<Status>(tidegate_concurrency_limiter_set_limit(get(), limit.value())));
    }

    // How many permits may be out at once, are out, and could be taken now, and how many callers wait; 0 after a move.
    std::uint64_t limit() const noexcept { return figure(tidegate_concurrency_limiter_limit); }
    std::uint64_t in_flight() const noexcept { return figure(tidegate_concurrency_limiter_in_flight); }
    std::uint64_t available() const noexcept { return figure(tidegate_concurrency_limiter_available); }
    std::uint64_t waiting() const noexcept { return figure(tidegate_concurrency_limiter_waiting); }

    Stats stats() const noexcept {
        tidegate_stats raw{};
        tidegate_concurrency_limiter_stats(get(), &raw);
        return Stats(raw);
    }

    // Such as "1 of 4 out".
    std::string text() const { return std::to_string(in_flight()) + " of " + std::to_string(limit()) + " out"; }

    template <class Traits>
    friend std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out,
                                                        const ConcurrencyLimiter &limiter) {
        return out << limiter.text();
    }

    const tidegate_concurrency_limiter *get() const noexcept { return limiter_.get(); }

private:
    ConcurrencyLimiter(detail::Adopt, tidegate_concurrency_limiter *limiter) noexcept : limiter_(limiter) {}

    Permit acquire_ns(Count permits, std::uint64_t timeout_ns) const noexcept {
        Permit permit;
        lend(permit, tidegate_concurrency_limiter_acquire(get(), permits.value(), timeout_ns, &permit.raw_));
        return permit;
    }

    Wait<Permit> begin_wait(Count permits, std::uint64_t timeout_ns) const {
        return Wait<Permit>(std::move(share().limiter_), [&](auto... more) {
            return tidegate_concurrency_limiter_acquire_async(get(), permits.value(), timeout_ns, more...);
        });
    }

    // What the call for a permit was answered; one that was granted is an owner.
    void lend(Permit &permit, std::int32_t status) const noexcept {
        permit.status_ = static_cast<Status>(status);
        if (permit) {
            permit.limiter_.reset(tidegate_concurrency_limiter_ref(get()));
        }
    }

    static ConcurrencyLimiter built(Count limit, const ConcurrencyOptions &options) {
        Mistake mistake;
        std::optional<ConcurrencyLimiter> limiter = make(limit, options, mistake);
        if (!limiter) {
            throw Error(mistake);
        }
        return std::move(*limiter);
    }

    template <class Ask>
    std::uint64_t figure(Ask ask) const noexcept {
        std::uint64_t figure = 0;
        ask(get(), &figure);
        return figure;
    }

    detail::Owner<tidegate_concurrency_limiter> limiter_;
};

// ---------------------------------------------------------------------------------------------------------------- keys

// The key of a call: any bytes, read only during the call. Made by itself of a text, or of a container of bytes. A null
// pointer is no key: Status::invalid_key.
class Key {
public:
    template <class Text, std::enable_if_t<detail::is_text<Text>, int> = 0>
    Key(const Text &text) noexcept(noexcept(detail::text_of(text))) : Key(detail::text_of(text)) {
        if constexpr (std::is_pointer_v<Text>) {
            raw_.size = text == nullptr ? 1 : raw_.size;
        }
    }
    Key(std::string_view text) noexcept : Key(text.data(), text.size()) {}
    template <class Bytes, std::enable_if_t<!detail::is_text<Bytes> && std::is_class_v<Bytes> &&
                                                sizeof(*std::data(std::declval<const Bytes &>())) == 1,
                                            int> = 0>
    Key(const Bytes &bytes) noexcept : Key(std::data(bytes), std::size(bytes)) {}
    Key(const void *data, std::size_t size) noexcept : raw_{data, size} {}

    const void *data() const noexcept { return raw_.data; }
    std::size_t size() const noexcept { return raw_.size; }
    const tidegate_key &raw() const noexcept { return raw_; }

private:
    tidegate_key raw_;
};

namespace detail {

// A list of keys, or of what keys are made of. Its elements must live as long as the list, since keys point into them.
template <class List>
inline constexpr bool is_key_list =
    std::is_lvalue_reference_v<decltype(*std::begin(std::declval<const List &>()))> &&
    std::is_convertible_v<decltype(*std::begin(std::declval<const List &>())), Key>;

template <class List>
std::vector<tidegate_key> raw_keys(const List &list) {
    std::vector<tidegate_key> raw;
    raw.reserve(static_cast<std::size_t>(std::distance(std::begin(list), std::end(list))));
    for (const auto &item : list) {
        raw.push_back(Key(item).raw());
    }
    return raw;
}

inline std::string joined(const std::vector<tidegate_key> &parts) {
    std::size_t size = 0;
    std::int32_t status = tidegate_key_of(parts.data(), parts.size(), nullptr, 0, &size);
    std::string key(size, '\0');
    if (status >= 0) {
        status = tidegate_key_of(parts.data(), parts.size(), key.data(), key.size(), &size);
    }
    if (status < 0) {
        throw Error(static_cast<Status>(status), "key: got a null pointer among the parts; allowed: bytes");
    }
    return key;
}

inline std::string address_key(std::string_view address, std::int32_t prefix) {
    char key[TIDEGATE_IP_KEY_SIZE];
    std::size_t size = 0;
    Mistake mistake;
    if (!mistake.take(tidegate_ip_key(address.data(), address.size(), prefix, key, &size, mistake.buffer(),
                                      TIDEGATE_ERROR_SIZE))) {
        throw Error(mistake);
    }
    return std::string(key, size);
}

}  // namespace detail

// One key of several parts, such that other parts never make the same key: key_of({user, path}). Throws Error.
inline std::string key_of(std::initializer_list<Key> parts) {
    return detail::joined(detail::raw_keys(parts));
}
template <class List, std::enable_if_t<detail::is_key_list<List>, int> = 0>
std::string key_of(const List &parts) {
    return detail::joined(detail::raw_keys(parts));
}

// The key of a network address: its bytes, four or sixteen, with all bits behind the prefix zero. An IPv4 address that is
// written as IPv6 is the IPv4 address. Without a prefix IPv4 counts whole, and IPv6 by its first 64 bits, since whoever has
// one address of a /64 has them all. Throws Error.
inline std::string ip_key(std::string_view address) {
    return detail::address_key(address, TIDEGATE_DEFAULT_PREFIX);
}
inline std::string ip_key(std::string_view address, Count prefix) {
    try {
        return detail::address_key(address, static_cast<std::int32_t>(detail::checked("prefix", prefix, 0, 128)));
    } catch (const Error &) {
        (void)detail::address_key(address, TIDEGATE_DEFAULT_PREFIX); // What is wrong with the address goes first.
        throw;
    }
}

// --------------------------------------------------------------------------------------------------------- keyed limiters

// How many keys that count at once there may be room for.
inline constexpr std::uint64_t max_max_keys = TIDEGATE_MAX_KEYS;

// What happens to a new key that finds no room because others still owe something.
enum class WhenFull : std::uint32_t {
    // The key that owes the smallest share of its quota is forgotten; it starts afresh when it comes again.
    evict = TIDEGATE_WHEN_FULL_EVICT,
    // The new key is refused: Status::keys_full. The safe choice with a limit or burst of 1.
    deny_new = TIDEGATE_WHEN_FULL_DENY_NEW,
};

// What a keyed rate limiter may be built with, beside its quotas.
struct KeyedRateOptions {
    // For how many keys that owe something at once there is room: 1 to max_max_keys, at 40 bytes for each and quota.
    Count max_keys = TIDEGATE_DEFAULT_MAX_KEYS;
    WhenFull when_full = WhenFull::evict;
    // The clock to go by; the monotonic one if null. Needed only while the limiter is built.
    const Clock *clock = nullptr;
    // How many keys to count refusals of, for top_denied(): 0 for none, to max_track_denied.
    Count track_denied = 0;
    // Memory for the table of keys, at an address that is a multiple of 64, of at least KeyedRateLimiter::region_size()
    // bytes; memory of the library's own if null. The limiter alone uses it until it is gone with its last owner.
    void *region = nullptr;
    std::size_t region_size = 0;
    // How many may wait for one key at once: 0 to max_max_waiters; who comes then is refused, Status::queue_full.
    Count max_waiters = max_max_waiters;
};

// The most keys of a limiter whose refusals may be counted.
inline constexpr std::uint64_t max_track_denied = TIDEGATE_MAX_TRACK_DENIED;

// A key that was refused often: at most `count` times, at least `count - error` times.
struct DeniedKey {
    // The key; of a longer one the first TIDEGATE_DENIED_KEY_SIZE bytes.
    std::string key;
    std::uint64_t count;
    std::uint64_t error;
};

// Spends tokens of each key that come back with time, in memory that doesn't grow.
class KeyedRateLimiter {
public:
    // With nothing used by any key. Throws Error.
    explicit KeyedRateLimiter(const Quotas &quotas, const KeyedRateOptions &options = {})
        : KeyedRateLimiter(built(quotas, options)) {}

    // The same without exceptions: nothing, and the mistake, if something is wrong.
    [[nodiscard]] static std::optional<KeyedRateLimiter> make(const Quotas &quotas, Mistake &mistake) noexcept {
        return make(quotas, KeyedRateOptions{}, mistake);
    }
    [[nodiscard]] static std::optional<KeyedRateLimiter> make(const Quotas &quotas, const KeyedRateOptions &options,
                                                              Mistake &mistake) noexcept {
        if (!mistake.check("max_keys", options.max_keys, 1, max_max_keys)) {
            return std::nullopt;
        }
        if (options.clock != nullptr && options.clock->get() == nullptr) {
            mistake.set(Status::null_pointer, {"clock: got one that was moved from; allowed: a clock"});
            return std::nullopt;
        }
        mistake = quotas.mistake_;
        if (mistake.status() != Status::allowed ||
            !mistake.check("max_waiters", options.max_waiters, 0, max_max_waiters) ||
            !mistake.check("track_denied", options.track_denied, 0, max_track_denied)) {
            return std::nullopt;
        }
        tidegate_keyed_rate_limiter_options raw{};
        raw.struct_size = sizeof raw;
        raw.flags = options.max_waiters.value() == 0 ? TIDEGATE_RATE_NO_WAITERS : 0u;
        raw.max_waiters = options.max_waiters.value();
        raw.max_keys = options.max_keys.value();
        raw.when_full = static_cast<std::uint32_t>(options.when_full);
        raw.track_denied = static_cast<std::uint32_t>(options.track_denied.value());
        raw.region = options.region;
        raw.region_size = options.region_size;
        raw.clock = options.clock == nullptr ? nullptr : options.clock->get();
        tidegate_keyed_rate_limiter *limiter = nullptr;
        const std::int32_t status =
            quotas.is_text_
                ? tidegate_keyed_rate_limiter_parse(quotas.text_.data(), quotas.text_.size(), &raw, &limiter,
                                                    mistake.buffer(), TIDEGATE_ERROR_SIZE)
                : tidegate_keyed_rate_limiter_new(quotas.raw_, quotas.count_, &raw, &limiter, mistake.buffer(),
                                                  TIDEGATE_ERROR_SIZE);
        if (!mistake.take(status)) {
            return std::nullopt;
        }
        return KeyedRateLimiter(detail::Adopt(), limiter);
    }

    // Another owner of the same limiter.
    KeyedRateLimiter share() const noexcept {
        return KeyedRateLimiter(detail::Adopt(), tidegate_keyed_rate_limiter_ref(get()));
    }

    // Takes `cost` tokens of a key if all can be had now. The fast way: it tells no figures.
    [[nodiscard]] Outcome try_acquire(Key key, Count cost = 1) const noexcept {
        return Outcome(static_cast<Status>(
            tidegate_keyed_rate_limiter_try_acquire(get(), key.data(), key.size(), cost.value())));
    }

    // Takes `cost` tokens of a key, all at once, and waits on this thread until it is their turn, for ever or for at most
    // `timeout`; each key has a line of its own. A wait that would outlast its timeout is refused at once, Status::timed_out.
    // Throws Error for negative times.
    [[nodiscard]] Outcome acquire(Key key, Count cost = 1) const noexcept { return acquire_ns(key, cost, never_ns); }
    template <class Rep, class Period>
    [[nodiscard]] Outcome acquire(Key key, Count cost, std::chrono::duration<Rep, Period> timeout) const {
        return acquire_ns(key, cost, detail::wait_ns("timeout", timeout));
    }

    // The same without keeping a thread: takes them, or begins to wait.
    [[nodiscard]] Wait<Outcome> acquire_async(Key key, Count cost = 1) const { return begin_wait(key, cost, never_ns); }
    template <class Rep, class Period>
    [[nodiscard]] Wait<Outcome> acquire_async(Key key, Count cost, std::chrono::duration<Rep, Period> timeout) const {
        return begin_wait(key, cost, detail::wait_ns("timeout", timeout));
    }

    // Charges `cost` tokens of a key now, as RateLimiter::reserve() does.
    [[nodiscard]] Reservation reserve(Key key, Count cost = 1) const noexcept { return reserve_ns(key, cost, never_ns); }
    template <class Rep, class Period>
    [[nodiscard]] Reservation reserve(Key key, Count cost, std::chrono::duration<Rep, Period> max_wait) const {
        return reserve_ns(key, cost, detail::wait_ns("max_wait", max_wait));
    }

    // Gives a reservation of this limiter and key back, as RateLimiter::cancel_reservation() does.
    Outcome cancel_reservation(Key key, Reservation &reservation) const noexcept {
        return Outcome(static_cast<Status>(
            tidegate_keyed_rate_limiter_cancel_reservation(get(), key.data(), key.size(), &reservation.raw_)));
    }

    // try_acquire() for many keys, one after the other, in one call: one outcome for each. Throws Error, with nothing taken,
    // if the cost or a key is wrong.
    [[nodiscard]] std::vector<Outcome> try_acquire_many(std::initializer_list<Key> keys, Count cost = 1) const {
        return try_raw(detail::raw_keys(keys), cost);
    }
    template <class List, std::enable_if_t<detail::is_key_list<List>, int> = 0>
    [[nodiscard]] std::vector<Outcome> try_acquire_many(const List &keys, Count cost = 1) const {
        return try_raw(detail::raw_keys(keys), cost);
    }

    // try_acquire() with the figures of the key.
    [[nodiscard]] Decision decide(Key key, Count cost = 1) const noexcept {
        Decision decision;
        decision.status_ = static_cast<Status>(
            tidegate_keyed_rate_limiter_decide(get(), key.data(), key.size(), cost.value(), &decision.raw_));
        return decision;
    }

    // What decide() would answer now, spending nothing; remaining() is what is unspent.
    [[nodiscard]] Decision peek(Key key, Count cost = 1) const noexcept {
        Decision decision;
        decision.status_ = static_cast<Status>(
            tidegate_keyed_rate_limiter_peek(get(), key.data(), key.size(), cost.value(), &decision.raw_));
        return decision;
    }

    // Gives back to a key what a decision of this limiter took from it, as far as no bound is broken, and consumes it. A
    // second time, with another key, or for a decision that granted nothing, Status::invalid_decision.
    [[nodiscard]] Outcome refund(Key key, Decision &decision) const noexcept {
        return Outcome(static_cast<Status>(
            tidegate_keyed_rate_limiter_refund(get(), key.data(), key.size(), &decision.raw_)));
    }

    // Makes everything of a key unspent again.
    Outcome reset(Key key) const noexcept {
        return Outcome(static_cast<Status>(tidegate_keyed_rate_limiter_reset(get(), key.data(), key.size())));
    }

    // Changes limits, periods and bursts of all keys while in use; what is used stays used. The number of quotas, their
    // algorithms and anchors must stay. Throws Error.
    void reconfigure(const Quotas &quotas) const {
        Mistake mistake;
        if (!reconfigure(quotas, mistake)) {
            throw Error(mistake);
        }
    }
    // The same without exceptions; the outcome is the mistake's status.
    [[nodiscard]] Outcome reconfigure(const Quotas &quotas, Mistake &mistake) const noexcept {
        mistake = quotas.mistake_;
        if (quotas.is_text_) {
            mistake.take(tidegate_keyed_rate_limiter_reconfigure_text(get(), quotas.text_.data(), quotas.text_.size(),
                                                                      mistake.buffer(), TIDEGATE_ERROR_SIZE));
        } else if (mistake.status() == Status::allowed) {
            mistake.take(tidegate_keyed_rate_limiter_reconfigure(get(), quotas.raw_, quotas.count_, mistake.buffer(),
                                                                 TIDEGATE_ERROR_SIZE));
        }
        return Outcome(mistake.status());
    }

    // Gives a key quotas of its own in place of the limiter's; what is used stays used. As for reconfigure(). Such a key
    // keeps a place of its own until clear_quota(): it is never evicted nor refused as keys_full. Throws Error.
    void set_quota(Key key, const Quotas &quotas) const {
        Mistake mistake;
        if (!set_quota(key, quotas, mistake)) {
            throw Error(mistake);
        }
    }
    // The same without exceptions; the outcome is the mistake's status.
    [[nodiscard]] Outcome set_quota(Key key, const Quotas &quotas, Mistake &mistake) const noexcept {
        mistake = quotas.mistake_;
        if (quotas.is_text_) {
            mistake.take(tidegate_keyed_rate_limiter_set_quota_text(get(), key.data(), key.size(), quotas.text_.data(),
                                                                    quotas.text_.size(), mistake.buffer(),
                                                                    TIDEGATE_ERROR_SIZE));
        } else if (mistake.status() == Status::allowed) {
            mistake.take(tidegate_keyed_rate_limiter_set_quota(get(), key.data(), key.size(), quotas.raw_,
                                                               quotas.count_, mistake.buffer(), TIDEGATE_ERROR_SIZE));
        }
        return Outcome(mistake.status());
    }

    // Gives a key the limiter's quotas again; what is used stays used.
    Outcome clear_quota(Key key) const noexcept {
        return Outcome(
            static_cast<Status>(tidegate_keyed_rate_limiter_clear_quota(get(), key.data(), key.size())));
    }

    // The keys that were refused most often, at most `most` of them, the most refused first; none without track_denied.
    std::vector<DeniedKey> top_denied(std::size_t most) const {
        std::vector<tidegate_denied_key> raw(most < max_track_denied ? most : max_track_denied);
        std::size_t count = 0;
        tidegate_keyed_rate_limiter_top_denied(get(), raw.data(), raw.size(), &count);
        std::vector<DeniedKey> keys;
        keys.reserve(count);
        for (std::size_t i = 0; i < count; i++) {
            const tidegate_denied_key &each = raw[i];
            keys.push_back({std::string(each.key, each.key + each.key_size), each.count, each.error});
        }
        return keys;
    }

    // How many bytes a region must have for so many keys and quotas. Throws Error.
    static std::size_t region_size(Count max_keys, std::size_t quotas = 1) {
        const std::uint64_t keys = detail::checked("max_keys", max_keys, 1, max_max_keys);
        std::size_t size = 0;
        const auto status = static_cast<Status>(tidegate_keyed_rate_limiter_region_size(keys, quotas, &size));
        if (status != Status::allowed) {
            throw Error(status, "quotas: got " + std::to_string(quotas) + " quotas; allowed: 1 to 16 quotas");
        }
        return size;
    }

    // The quotas that are enforced now for each key; none after a move.
    std::vector<Quota> quotas() const {
        tidegate_quota raw[TIDEGATE_MAX_QUOTAS];
        std::size_t count = 0;
        tidegate_keyed_rate_limiter_quotas(get(), raw, TIDEGATE_MAX_QUOTAS, &count);
        return std::vector<Quota>(raw, raw + count);
    }

    // About how many keys owe something now, and for how many there is room; 0 after a move.
    std::uint64_t len() const noexcept { return figure(tidegate_keyed_rate_limiter_len); }
    std::uint64_t capacity() const noexcept { return figure(tidegate_keyed_rate_limiter_capacity); }

    // How many wait for a key; 0 after a move.
    std::uint64_t waiting(Key key) const noexcept {
        return figure(tidegate_keyed_rate_limiter_waiting, key.data(), key.size());
    }

    Stats stats() const noexcept {
        tidegate_stats raw{};
        tidegate_keyed_rate_limiter_stats(get(), &raw);
        return Stats(raw);
    }

    // The quotas as text, such as "100/s burst 20; 1000/h", from which an equal limiter can be built.
    std::string text() const {
        std::string text;
        for (const Quota &quota : quotas()) {
            text += (text.empty() ? "" : "; ") + quota.text();
        }
        return text;
    }

    template <class Traits>
    friend std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out,
                                                        const KeyedRateLimiter &limiter) {
        return out << limiter.text();
    }

    const tidegate_keyed_rate_limiter *get() const noexcept { return limiter_.get(); }

private:
    KeyedRateLimiter(detail::Adopt, tidegate_keyed_rate_limiter *limiter) noexcept : limiter_(limiter) {}

    static KeyedRateLimiter built(const Quotas &quotas, const KeyedRateOptions &options) {
        Mistake mistake;
        std::optional<KeyedRateLimiter> limiter = make(quotas, options, mistake);
        if (!limiter) {
            throw Error(mistake);
        }
        return std::move(*limiter);
    }

    Outcome acquire_ns(Key key, Count cost, std::uint64_t timeout_ns) const noexcept {
        return Outcome(static_cast<Status>(
            tidegate_keyed_rate_limiter_acquire(get(), key.data(), key.size(), cost.value(), timeout_ns)));
    }

    Wait<Outcome> begin_wait(Key key, Count cost, std::uint64_t timeout_ns) const {
        std::string copy;
        // What is no key is refused below.
        if (key.data() != nullptr && key.size() <= copy.max_size()) {
            copy.assign(static_cast<const char *>(key.data()), key.size());
        }
        return Wait<Outcome>(detail::WaitFor<Outcome>::Keyed{std::move(share().limiter_), std::move(copy)},
                             [&](auto callback, void *user_data, auto, auto... outputs) {
                                 return tidegate_keyed_rate_limiter_acquire_refundable_async(
                                     get(), key.data(), key.size(), cost.value(), timeout_ns, callback, user_data,
                                     outputs...);
                             });
    }

    Reservation reserve_ns(Key key, Count cost, std::uint64_t max_wait_ns) const noexcept {
        Reservation reservation;
        reservation.status_ = static_cast<Status>(tidegate_keyed_rate_limiter_reserve(
            get(), key.data(), key.size(), cost.value(), max_wait_ns, &reservation.raw_));
        return reservation;
    }

    std::vector<Outcome> try_raw(const std::vector<tidegate_key> &keys, Count cost) const {
        std::vector<std::int32_t> statuses(keys.size());
        const auto status = static_cast<Status>(tidegate_keyed_rate_limiter_try_acquire_many(
            get(), keys.data(), keys.size(), cost.value(), statuses.data()));
        if (status == Status::invalid_cost) {
            Mistake mistake;
            mistake.check("cost", cost, 1, max_cost);
            throw Error(status, std::string(mistake.text()));
        }
        if (status != Status::allowed) {
            const bool is_key = status == Status::invalid_key;
            throw Error(status, is_key ? "key: got a null pointer; allowed: bytes"
                                       : "limiter: got " + std::string(name(status)) + "; allowed: a limiter");
        }
        std::vector<Outcome> outcomes;
        outcomes.reserve(statuses.size());
        for (const std::int32_t each : statuses) {
            outcomes.emplace_back(static_cast<Status>(each));
        }
        return outcomes;
    }

    template <class Ask, class... Key>
    std::uint64_t figure(Ask ask, Key... key) const noexcept {
        std::uint64_t figure = 0;
        ask(get(), key..., &figure);
        return figure;
    }

    detail::Owner<tidegate_keyed_rate_limiter> limiter_;
};

// What a keyed concurrency limiter lends: true while it holds something. Gives it back when it goes out of scope. A permit
// that was granted is an owner of its limiter too, as a Permit is.
class KeyedPermit {
public:
    KeyedPermit(KeyedPermit &&other) noexcept
        : limiter_(std::move(other.limiter_)), status_(other.status_),
          raw_(std::exchange(other.raw_, tidegate_keyed_permit{})) {}
    KeyedPermit &operator=(KeyedPermit &&other) noexcept {
        if (this != &other) {
            give_back();
            limiter_ = std::move(other.limiter_);
            status_ = other.status_;
            raw_ = std::exchange(other.raw_, tidegate_keyed_permit{});
        }
        return *this;
    }
    KeyedPermit(const KeyedPermit &) = delete;
    KeyedPermit &operator=(const KeyedPermit &) = delete;
    ~KeyedPermit() { give_back(); }

    explicit operator bool() const noexcept { return raw_.permits != 0; }

    // How many permits are held.
    std::uint64_t permits() const noexcept { return raw_.permits; }

    // What the call that asked for it was answered.
    Status status() const noexcept { return status_; }

    // Gives everything back before the end of the scope; `ok` tells the statistics whether the work went well. A second
    // time, or if nothing was granted, Status::invalid_permit.
    Outcome release(bool ok = true) noexcept {
        if (limiter_ == nullptr) {
            return Outcome(Status::invalid_permit);
        }
        return Outcome(
            static_cast<Status>(tidegate_keyed_concurrency_limiter_release(limiter_.get(), &raw_, ok ? 1 : 0)));
    }

private:
    friend class KeyedConcurrencyLimiter;
    friend struct detail::WaitFor<KeyedPermit>;
    KeyedPermit() noexcept = default;

    void give_back() noexcept {
        if (*this) {
            release();
        }
    }

    detail::Owner<tidegate_keyed_concurrency_limiter> limiter_;
    Status status_ = Status::denied;
    tidegate_keyed_permit raw_{};
};

namespace detail {

template <>
struct WaitFor<KeyedPermit> {
    using Limiter = Owner<tidegate_keyed_concurrency_limiter>;
    using Raw = tidegate_keyed_permit;

    static std::int32_t poll(const Limiter &limiter, std::uint64_t ticket, std::uint64_t *wake_after_ns) noexcept {
        return tidegate_keyed_concurrency_limiter_poll(limiter.get(), ticket, wake_after_ns);
    }
    static std::int32_t cancel(const Limiter &limiter, std::uint64_t ticket) noexcept {
        return tidegate_keyed_concurrency_limiter_cancel(limiter.get(), ticket);
    }
    static KeyedPermit answer(Limiter limiter, Status status, const Raw &raw) noexcept {
        KeyedPermit permit;
        permit.status_ = status;
        permit.raw_ = raw;
        if (permit) {
            permit.limiter_ = std::move(limiter);
        }
        return permit;
    }
    static void give_back(const Limiter &limiter, Raw &permit) noexcept {
        if (limiter && permit.permits != 0) {
            tidegate_keyed_concurrency_limiter_release(limiter.get(), &permit, 1);
        }
    }
};

}  // namespace detail

// What a keyed concurrency limiter may be built with, beside its limit.
struct KeyedConcurrencyOptions {
    // For how many keys with permits out, or waited for, there is room: 1 to max_max_keys, at 40 bytes for each.
    Count max_keys = TIDEGATE_DEFAULT_MAX_KEYS;
    // Measures how long permits are held, at the price of two clock readings for each.
    bool track_hold_time = false;
    // The clock of timeouts and hold times; the monotonic one if null. Needed only while the limiter is built.
    const Clock *clock = nullptr;
    // How many may wait for one key at once: 0 to max_max_waiters; who comes then is refused, Status::queue_full.
    Count max_waiters = max_max_waiters;
};

// Lends at most `limit` permits of each key at once, in memory that doesn't grow. A key with permits out, or waited for,
// keeps its place; a new key that finds none is refused: Status::keys_full.
class KeyedConcurrencyLimiter {
public:
    static constexpr std::uint64_t max_limit = ConcurrencyLimiter::max_limit;

    // A limit of 0 to max_limit, where 0 refuses everything. Throws Error.
    explicit KeyedConcurrencyLimiter(Count limit, const KeyedConcurrencyOptions &options = {})
        : KeyedConcurrencyLimiter(built(limit, options)) {}

    // The same without exceptions: nothing, and the mistake, if something is wrong.
    [[nodiscard]] static std::optional<KeyedConcurrencyLimiter> make(Count limit, Mistake &mistake) noexcept {
        return make(limit, KeyedConcurrencyOptions{}, mistake);
    }
    [[nodiscard]] static std::optional<KeyedConcurrencyLimiter> make(Count limit, const KeyedConcurrencyOptions &options,
                                                                     Mistake &mistake) noexcept {
        if (!mistake.check("limit", limit, 0, max_limit) ||
            !mistake.check("max_keys", options.max_keys, 1, max_max_keys) ||
            !mistake.check("max_waiters", options.max_waiters, 0, max_max_waiters)) {
            return std::nullopt;
        }
        if (options.clock != nullptr && options.clock->get() == nullptr) {
            mistake.set(Status::null_pointer, {"clock: got one that was moved from; allowed: a clock"});
            return std::nullopt;
        }
        tidegate_keyed_concurrency_limiter_options raw{};
        raw.struct_size = sizeof raw;
        raw.flags = (limit.value() == 0 ? TIDEGATE_CONCURRENCY_LIMIT_ZERO : 0u) |
                    (options.track_hold_time ? TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME : 0u) |
                    (options.max_waiters.value() == 0 ? TIDEGATE_CONCURRENCY_NO_WAITERS : 0u);
        raw.clock = options.clock == nullptr ? nullptr : options.clock->get();
        raw.limit = limit.value();
        raw.max_keys = options.max_keys.value();
        raw.max_waiters = options.max_waiters.value();
        tidegate_keyed_concurrency_limiter *limiter = nullptr;
        if (!mistake.take(
                tidegate_keyed_concurrency_limiter_new(&raw, &limiter, mistake.buffer(), TIDEGATE_ERROR_SIZE))) {
            return std::nullopt;
        }
        return KeyedConcurrencyLimiter(detail::Adopt(), limiter);
    }

    // Another owner of the same limiter.
    KeyedConcurrencyLimiter share() const noexcept {
        return KeyedConcurrencyLimiter(detail::Adopt(), tidegate_keyed_concurrency_limiter_ref(get()));
    }

    // Takes `permits` permits of a key if all can be had now; else a permit that holds nothing and tells why in its
    // status().
    [[nodiscard]] KeyedPermit try_acquire(Key key, Count permits = 1) const noexcept {
        KeyedPermit permit;
        lend(permit, tidegate_keyed_concurrency_limiter_try_acquire(get(), key.data(), key.size(), permits.value(),
                                                                    &permit.raw_));
        return permit;
    }

    // The same, but waits on this thread until it is their turn, for ever or for at most `timeout`; each key has a line of
    // its own. Throws Error for negative times.
    [[nodiscard]] KeyedPermit acquire(Key key, Count permits = 1) const noexcept {
        return acquire_ns(key, permits, never_ns);
    }
    template <class Rep, class Period>
    [[nodiscard]] KeyedPermit acquire(Key key, Count permits, std::chrono::duration<Rep, Period> timeout) const {
        return acquire_ns(key, permits, detail::wait_ns("timeout", timeout));
    }

    // The same without keeping a thread: takes them, or begins to wait.
    [[nodiscard]] Wait<KeyedPermit> acquire_async(Key key, Count permits = 1) const {
        return begin_wait(key, permits, never_ns);
    }
    template <class Rep, class Period>
    [[nodiscard]] Wait<KeyedPermit> acquire_async(Key key, Count permits,
                                                  std::chrono::duration<Rep, Period> timeout) const {
        return begin_wait(key, permits, detail::wait_ns("timeout", timeout));
    }

    // Lends nothing of any key any more: who waits and who comes is refused, Status::closed, for ever. Permits that are out
    // can be given back. It fails only after a move.
    Outcome close() const noexcept {
        return Outcome(static_cast<Status>(tidegate_keyed_concurrency_limiter_close(get())));
    }

    // Changes the limit of all keys while in use, from 0 to max_limit; never blocks. Permits that are out stay out.
    [[nodiscard]] Outcome set_limit(Count limit) const noexcept {
        return Outcome(static_cast<Status>(tidegate_keyed_concurrency_limiter_set_limit(get(), limit.value())));
    }

    // How many permits of each key may be out at once, and for how many keys there is room; 0 after a move.
    std::uint64_t limit() const noexcept { return figure(tidegate_keyed_concurrency_limiter_limit); }
    std::uint64_t capacity() const noexcept { return figure(tidegate_keyed_concurrency_limiter_capacity); }

    // How many permits of a key are out, and could be taken now, and how many callers wait for it; 0 after a move.
    std::uint64_t in_flight(Key key) const noexcept {
        return figure(tidegate_keyed_concurrency_limiter_in_flight, key.data(), key.size());
    }
    std::uint64_t available(Key key) const noexcept {
        return figure(tidegate_keyed_concurrency_limiter_available, key.data(), key.size());
    }
    std::uint64_t waiting(Key key) const noexcept {
        return figure(tidegate_keyed_concurrency_limiter_waiting, key.data(), key.size());
    }

    // Over all keys; limit is that of one.
    Stats stats() const noexcept {
        tidegate_stats raw{};
        tidegate_keyed_concurrency_limiter_stats(get(), &raw);
        return Stats(raw);
    }

    // Such as "4 of each of 100000 keys".
    std::string text() const {
        return std::to_string(limit()) + " of each of " + std::to_string(capacity()) + " keys";
    }

    template <class Traits>
    friend std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out,
                                                        const KeyedConcurrencyLimiter &limiter) {
        return out << limiter.text();
    }

    const tidegate_keyed_concurrency_limiter *get() const noexcept { return limiter_.get(); }

private:
    KeyedConcurrencyLimiter(detail::Adopt, tidegate_keyed_concurrency_limiter *limiter) noexcept : limiter_(limiter) {}

    KeyedPermit acquire_ns(Key key, Count permits, std::uint64_t timeout_ns) const noexcept {
        KeyedPermit permit;
        lend(permit, tidegate_keyed_concurrency_limiter_acquire(get(), key.data(), key.size(), permits.value(), timeout_ns,
                                                                &permit.raw_));
        return permit;
    }

    Wait<KeyedPermit> begin_wait(Key key, Count permits, std::uint64_t timeout_ns) const {
        return Wait<KeyedPermit>(std::move(share().limiter_), [&](auto... more) {
            return tidegate_keyed_concurrency_limiter_acquire_async(get(), key.data(), key.size(), permits.value(), timeout_ns,
                                                                    more...);
        });
    }

    // What the call for a permit was answered; one that was granted is an owner.
    void lend(KeyedPermit &permit, std::int32_t status) const noexcept {
        permit.status_ = static_cast<Status>(status);
        if (permit) {
            permit.limiter_.reset(tidegate_keyed_concurrency_limiter_ref(get()));
        }
    }

    static KeyedConcurrencyLimiter built(Count limit, const KeyedConcurrencyOptions &options) {
        Mistake mistake;
        std::optional<KeyedConcurrencyLimiter> limiter = make(limit, options, mistake);
        if (!limiter) {
            throw Error(mistake);
        }
        return std::move(*limiter);
    }

    template <class Ask, class... Key>
    std::uint64_t figure(Ask ask, Key... key) const noexcept {
        std::uint64_t figure = 0;
        ask(get(), key..., &figure);
        return figure;
    }

    detail::Owner<tidegate_keyed_concurrency_limiter> limiter_;
};

}  // namespace tidegate

#endif  // TIDEGATE_HPP
