// tidegate for C++17 and later: in-process limiters, exact and fast. Header-only over tidegate.h; link with -ltidegate.
//
//     #include <iostream>
//     #include <tidegate.hpp>
//
//     int main() {
//         tidegate::RateLimiter limiter("100/s burst 20");
//         if (limiter.try_acquire()) {
//             std::cout << "go ahead\n";
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
// What decides or asks is noexcept and answers with a Status, so that a mistake is told apart from a denial. What
// builds or reads texts throws Error, or, given a Mistake to fill, is noexcept and throws nothing. A limiter that was
// moved from answers Status::null_pointer.

#ifndef TIDEGATE_HPP
#define TIDEGATE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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

private:
    Status status_;
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
    void set(Status status, std::string_view text) noexcept {
        status_ = status;
        text_[text.copy(text_, sizeof text_ - 1)] = '\0';
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
};

template <class Object>
using Owner = std::unique_ptr<Object, Free>;

inline nanoseconds duration(std::uint64_t ns) noexcept {
    return ns >= static_cast<std::uint64_t>(never.count()) ? never : nanoseconds(static_cast<std::int64_t>(ns));
}

// Whole nanoseconds, rounded up; at most `never`. Negative durations and NaN throw.
template <class Rep, class Period>
std::uint64_t whole_ns(const char *argument, std::chrono::duration<Rep, Period> time) {
    const auto rough = std::chrono::duration<long double, std::nano>(time).count();
    if (!(rough >= 0)) {
        const std::string value = std::to_string(rough) + " ns";
        throw Error(Status::invalid_option, argument + (": got " + value) + "; allowed: 0 ns or more");
    }
    const bool fits = rough < static_cast<long double>(never.count());
    return static_cast<std::uint64_t>((fits ? std::chrono::ceil<nanoseconds>(time) : never).count());
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
    void advance(std::chrono::duration<Rep, Period> by) {
        advance_ns(detail::whole_ns("by", by));
    }
    Outcome advance_ns(std::uint64_t by_ns) noexcept {
        return Outcome(static_cast<Status>(tidegate_clock_advance(get(), by_ns)));
    }

    // Sets the time as a machine's clock is set: a step back counts as no time. Throws Error for negative times.
    template <class Rep, class Period>
    void set(std::chrono::duration<Rep, Period> to) {
        set_ns(detail::whole_ns("to", to));
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

// What a rate limiter enforces: `limit` tokens per period, and how. Checked when a limiter is built from it.
class Quota {
public:
    // Throws Error for a negative period. Fractions of a nanosecond round up.
    template <class Rep, class Period>
    Quota(std::uint64_t limit, std::chrono::duration<Rep, Period> period) {
        raw_.struct_size = sizeof raw_;
        raw_.flags = limit == 0 ? TIDEGATE_QUOTA_LIMIT_ZERO : 0;
        raw_.limit = limit;
        raw_.period_ns = detail::whole_ns("period", period);
        raw_.algorithm = TIDEGATE_ALGORITHM_GCRA;
        raw_.anchor = TIDEGATE_ANCHOR_FIRST;
    }
    explicit Quota(const tidegate_quota &raw) noexcept : raw_(raw) {}

    // Reads the text of one quota, such as "100/s burst 20". Throws Error.
    static Quota parse(std::string_view text) {
        const std::vector<Quota> quotas = parse_list(text);
        if (quotas.size() != 1) {
            throw Error(Status::invalid_option, "quota: got \"" + std::string(text) + "\"; allowed: one quota");
        }
        return quotas.front();
    }

    // Reads the text of one or more quotas, joined by ';'. Throws Error.
    static std::vector<Quota> parse_list(std::string_view text) {
        tidegate_quota raw[TIDEGATE_MAX_QUOTAS];
        std::size_t count = 0;
        Mistake mistake;
        if (!mistake.take(tidegate_quota_parse(text.data(), text.size(), raw, TIDEGATE_MAX_QUOTAS, &count,
                                               mistake.buffer(), TIDEGATE_ERROR_SIZE))) {
            throw Error(mistake);
        }
        return std::vector<Quota>(raw, raw + count);
    }

    // How many tokens may be spent at once, 1 to max_cost; only with gcra. Throws Error for 0.
    Quota with_burst(std::uint64_t burst) const {
        if (burst == 0) {
            throw Error(Status::invalid_option, "burst: got 0; allowed: 1 to " + std::to_string(max_cost));
        }
        Quota quota = *this;
        quota.raw_.burst = burst;
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

private:
    tidegate_quota raw_{};
};

// What rate limiters are built from, and made of by itself: a text, a quota, or a list of quotas that all must admit.
class Quotas {
public:
    template <class Text, class = std::enable_if_t<std::is_convertible_v<const Text &, std::string_view>>>
    Quotas(const Text &text) noexcept(std::is_nothrow_constructible_v<std::string_view, const Text &>)
        : is_text_(true), text_(text) {}
    Quotas(const Quota &quota) noexcept : Quotas(&quota, 1) {}
    Quotas(std::initializer_list<Quota> quotas) noexcept : Quotas(quotas.begin(), quotas.size()) {}
    Quotas(const std::vector<Quota> &quotas) noexcept : Quotas(quotas.data(), quotas.size()) {}

private:
    friend class RateLimiter;

    Quotas(const Quota *quotas, std::size_t count) noexcept : count_(count) {
        // A longer list is refused by its count alone.
        for (std::size_t index = 0; index < count && index < TIDEGATE_MAX_QUOTAS; ++index) {
            raw_[index] = quotas[index].raw();
        }
    }

    bool is_text_ = false;
    std::string_view text_;
    tidegate_quota raw_[TIDEGATE_MAX_QUOTAS];
    std::size_t count_ = 0;
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

    Stats() = default;
    explicit Stats(const tidegate_stats &raw) noexcept
        : allowed(raw.allowed), denied(raw.denied), timed_out(raw.timed_out), cancelled(raw.cancelled),
          limit(raw.limit), in_flight(raw.in_flight), available(raw.available), waiting(raw.waiting),
          evicted_live(raw.evicted_live), released_ok(raw.released_ok), released_failed(raw.released_failed),
          hold_time_total(detail::duration(raw.hold_time_total_ns)),
          hold_time_max(detail::duration(raw.hold_time_max_ns)) {}
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

    // How long until the same call would be allowed if nobody else asks; zero if allowed, `never` for never. In whole
    // seconds: std::chrono::ceil<std::chrono::seconds>(decision.retry_after()).
    nanoseconds retry_after() const noexcept { return detail::duration(raw_.retry_after_ns); }
    std::uint64_t retry_after_ns() const noexcept { return raw_.retry_after_ns; }

    // How long until nothing counts any more if nobody asks.
    nanoseconds reset_after() const noexcept { return detail::duration(raw_.reset_after_ns); }
    std::uint64_t reset_after_ns() const noexcept { return raw_.reset_after_ns; }

private:
    friend class RateLimiter;
    Decision() noexcept = default;

    Status status_ = Status::denied;
    tidegate_decision raw_{};
};

// Spends tokens that come back with time.
class RateLimiter {
public:
    // On the monotonic clock, or on `clock`, with nothing used. Throws Error.
    explicit RateLimiter(const Quotas &quotas) : RateLimiter(built(quotas, nullptr)) {}
    explicit RateLimiter(std::initializer_list<Quota> quotas) : RateLimiter(built(quotas, nullptr)) {}
    RateLimiter(const Quotas &quotas, const Clock &clock) : RateLimiter(built(quotas, &clock)) {}

    // The same without exceptions: nothing, and the mistake, if something is wrong.
    static std::optional<RateLimiter> make(const Quotas &quotas, Mistake &mistake) noexcept {
        return build(quotas, nullptr, mistake);
    }
    static std::optional<RateLimiter> make(const Quotas &quotas, const Clock &clock, Mistake &mistake) noexcept {
        return build(quotas, &clock, mistake);
    }

    // Another owner of the same limiter.
    RateLimiter share() const noexcept { return RateLimiter(tidegate_rate_limiter_ref(get())); }

    // Takes `cost` tokens if all can be had now. The fast way: it tells no figures.
    [[nodiscard]] Outcome try_acquire(std::uint64_t cost = 1) const noexcept {
        return Outcome(static_cast<Status>(tidegate_rate_limiter_try_acquire(get(), cost)));
    }

    // The same, with the figures.
    [[nodiscard]] Decision decide(std::uint64_t cost = 1) const noexcept {
        Decision decision;
        decision.status_ = static_cast<Status>(tidegate_rate_limiter_decide(get(), cost, &decision.raw_));
        return decision;
    }

    // What decide() would answer now, spending nothing; remaining() is what is unspent.
    [[nodiscard]] Decision peek(std::uint64_t cost = 1) const noexcept {
        Decision decision;
        decision.status_ = static_cast<Status>(tidegate_rate_limiter_peek(get(), cost, &decision.raw_));
        return decision;
    }

    // Gives back what a decision of this limiter took, as far as no bound is broken, and consumes it. A second time, or
    // for a decision that granted nothing, Status::invalid_decision.
    Outcome refund(Decision &decision) const noexcept {
        return Outcome(static_cast<Status>(tidegate_rate_limiter_refund(get(), &decision.raw_)));
    }

    // Makes everything unspent again.
    Outcome reset() const noexcept { return Outcome(static_cast<Status>(tidegate_rate_limiter_reset(get()))); }

    // Changes limits, periods and bursts while in use; what is used stays used. The number of quotas, their algorithms
    // and anchors must stay. Throws Error.
    void reconfigure(const Quotas &quotas) const {
        Mistake mistake;
        if (!reconfigure(quotas, mistake)) {
            throw Error(mistake);
        }
    }
    // The same without exceptions: false, and the mistake, if something is wrong.
    bool reconfigure(const Quotas &quotas, Mistake &mistake) const noexcept {
        if (quotas.is_text_) {
            return mistake.take(tidegate_rate_limiter_reconfigure_text(get(), quotas.text_.data(), quotas.text_.size(),
                                                                       mistake.buffer(), TIDEGATE_ERROR_SIZE));
        }
        return mistake.take(tidegate_rate_limiter_reconfigure(get(), quotas.raw_, quotas.count_, mistake.buffer(),
                                                              TIDEGATE_ERROR_SIZE));
    }

    // The quotas that are enforced now; none after a move.
    std::vector<Quota> quotas() const {
        tidegate_quota raw[TIDEGATE_MAX_QUOTAS];
        std::size_t count = 0;
        tidegate_rate_limiter_quotas(get(), raw, TIDEGATE_MAX_QUOTAS, &count);
        return std::vector<Quota>(raw, raw + count);
    }

    Stats stats() const noexcept {
        tidegate_stats raw{};
        tidegate_rate_limiter_stats(get(), &raw);
        return Stats(raw);
    }

    const tidegate_rate_limiter *get() const noexcept { return limiter_.get(); }

private:
    explicit RateLimiter(tidegate_rate_limiter *limiter) noexcept : limiter_(limiter) {}

    static std::optional<RateLimiter> build(const Quotas &quotas, const Clock *clock, Mistake &mistake) noexcept {
        if (clock != nullptr && clock->get() == nullptr) {
            mistake.set(Status::null_pointer, "clock: got one that was moved from; allowed: a clock");
            return std::nullopt;
        }
        tidegate_rate_limiter_options options{};
        options.struct_size = sizeof options;
        options.clock = clock == nullptr ? nullptr : clock->get();
        tidegate_rate_limiter *limiter = nullptr;
        const std::int32_t status =
            quotas.is_text_ ? tidegate_rate_limiter_parse(quotas.text_.data(), quotas.text_.size(), &options, &limiter,
                                                          mistake.buffer(), TIDEGATE_ERROR_SIZE)
                            : tidegate_rate_limiter_new(quotas.raw_, quotas.count_, &options, &limiter,
                                                        mistake.buffer(), TIDEGATE_ERROR_SIZE);
        if (!mistake.take(status)) {
            return std::nullopt;
        }
        return RateLimiter(limiter);
    }

    static RateLimiter built(const Quotas &quotas, const Clock *clock) {
        Mistake mistake;
        std::optional<RateLimiter> limiter = build(quotas, clock, mistake);
        if (!limiter) {
            throw Error(mistake);
        }
        return std::move(*limiter);
    }

    detail::Owner<tidegate_rate_limiter> limiter_;
};

// ------------------------------------------------------------------------------------------------ concurrency limiters

// What a concurrency limiter lends: true while it holds something. Gives it back when it goes out of scope. Must not
// outlive the last owner of its limiter.
class Permit {
public:
    Permit(Permit &&other) noexcept
        : limiter_(other.limiter_), status_(other.status_), raw_(std::exchange(other.raw_, tidegate_permit{})) {}
    Permit &operator=(Permit &&other) noexcept {
        if (this != &other) {
            give_back();
            limiter_ = other.limiter_;
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

    // What try_acquire() answered.
    Status status() const noexcept { return status_; }

    // Gives everything back before the end of the scope; `ok` tells the statistics whether the work went well. A second
    // time, or if nothing was granted, Status::invalid_permit.
    Outcome release(bool ok = true) noexcept {
        return Outcome(static_cast<Status>(tidegate_concurrency_limiter_release(limiter_, &raw_, ok ? 1 : 0)));
    }

private:
    friend class ConcurrencyLimiter;
    explicit Permit(const tidegate_concurrency_limiter *limiter) noexcept : limiter_(limiter) {}

    void give_back() noexcept {
        if (*this) {
            release();
        }
    }

    const tidegate_concurrency_limiter *limiter_;
    Status status_ = Status::denied;
    tidegate_permit raw_{};
};

// What a concurrency limiter may be built with, beside its limit.
struct ConcurrencyOptions {
    // Measures how long permits are held, at the price of two clock readings for each.
    bool track_hold_time = false;
    // The clock to measure on; the monotonic one if null. Needed only while the limiter is built.
    const Clock *clock = nullptr;
};

// Lends at most `limit` permits at once.
class ConcurrencyLimiter {
public:
    // A limit of 0 refuses everything; at most 2^31 - 1. Throws Error.
    explicit ConcurrencyLimiter(std::uint64_t limit, const ConcurrencyOptions &options = {})
        : ConcurrencyLimiter(built(limit, options)) {}

    // The same without exceptions: nothing, and the mistake, if something is wrong.
    static std::optional<ConcurrencyLimiter> make(std::uint64_t limit, Mistake &mistake) noexcept {
        return make(limit, ConcurrencyOptions{}, mistake);
    }
    static std::optional<ConcurrencyLimiter> make(std::uint64_t limit, const ConcurrencyOptions &options,
                                                  Mistake &mistake) noexcept {
        if (options.clock != nullptr && options.clock->get() == nullptr) {
            mistake.set(Status::null_pointer, "clock: got one that was moved from; allowed: a clock");
            return std::nullopt;
        }
        tidegate_concurrency_limiter_options raw{};
        raw.struct_size = sizeof raw;
        raw.flags = (limit == 0 ? TIDEGATE_CONCURRENCY_LIMIT_ZERO : 0u) |
                    (options.track_hold_time ? TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME : 0u);
        raw.limit = limit;
        raw.clock = options.clock == nullptr ? nullptr : options.clock->get();
        tidegate_concurrency_limiter *limiter = nullptr;
        if (!mistake.take(tidegate_concurrency_limiter_new(&raw, &limiter, mistake.buffer(), TIDEGATE_ERROR_SIZE))) {
            return std::nullopt;
        }
        return ConcurrencyLimiter(limiter);
    }

    // Another owner of the same limiter.
    ConcurrencyLimiter share() const noexcept { return ConcurrencyLimiter(tidegate_concurrency_limiter_ref(get())); }

    // Takes `permits` permits if all can be had now; else a permit that holds nothing and tells why in its status().
    [[nodiscard]] Permit try_acquire(std::uint64_t permits = 1) const noexcept {
        Permit permit(get());
        permit.status_ = static_cast<Status>(tidegate_concurrency_limiter_try_acquire(get(), permits, &permit.raw_));
        return permit;
    }

    // Changes the limit while in use, from 0 to 2^31 - 1; never blocks. Permits that are out stay out.
    [[nodiscard]] Outcome set_limit(std::uint64_t limit) const noexcept {
        return Outcome(static_cast<Status>(tidegate_concurrency_limiter_set_limit(get(), limit)));
    }

    // How many permits may be out at once, are out, and could be taken now; 0 after a move.
    std::uint64_t limit() const noexcept { return figure(tidegate_concurrency_limiter_limit); }
    std::uint64_t in_flight() const noexcept { return figure(tidegate_concurrency_limiter_in_flight); }
    std::uint64_t available() const noexcept { return figure(tidegate_concurrency_limiter_available); }

    Stats stats() const noexcept {
        tidegate_stats raw{};
        tidegate_concurrency_limiter_stats(get(), &raw);
        return Stats(raw);
    }

    const tidegate_concurrency_limiter *get() const noexcept { return limiter_.get(); }

private:
    explicit ConcurrencyLimiter(tidegate_concurrency_limiter *limiter) noexcept : limiter_(limiter) {}

    static ConcurrencyLimiter built(std::uint64_t limit, const ConcurrencyOptions &options) {
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

}  // namespace tidegate

#endif  // TIDEGATE_HPP
