// The gate of tidegate for C++17 and later: named rules from a text, of which all that match a request must admit it, or nothing
// is taken. Header-only over tidegate.h; link with -ltidegate.
//
//     #include <iostream>
//     #include <tidegate_gate.hpp>
//
//     int main() {
//         tidegate::Gate gate(R"(
//             [[rules]]
//             name = "downloads"
//             match = { path = { prefix = "/files/" } }
//             concurrency = 4
//             timeout = "50ms"
//
//             [[rules]]
//             name = "each client"
//             key = "client"
//             quota = "100/s burst 20"
//         )", tidegate::Format::toml);
//
//         if (tidegate::Entry entry = gate.enter({{"path", "/files/cats"}, {"client", "203.0.113.7"}})) {
//             std::cout << "go ahead; what the request holds is given back at the end of the scope\n";
//         } else {
//             std::cout << "429: " << entry.refusal().message() << '\n';
//         }
//     }
//
// Gates, entries, refusals, waits, events and watches are move-only. A gate owns one share of an object of tidegate.h; share()
// makes another. All its members may be called from any thread at once, and an entry may be released on any thread.
//
// As in tidegate.hpp, what decides is noexcept and answers with a Status, and what reads texts throws Error, with all that is
// wrong, a line each; or, given a Mistake to fill, is noexcept. A gate that was moved from answers Status::null_pointer.

#ifndef TIDEGATE_GATE_HPP
#define TIDEGATE_GATE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tidegate.h"
#include "tidegate.hpp"

namespace tidegate {

// How rules are written.
enum class Format : std::uint32_t {
    toml = TIDEGATE_FORMAT_TOML,
    json = TIDEGATE_FORMAT_JSON,
    yaml = TIDEGATE_FORMAT_YAML,
};

namespace detail {

struct FreeOfGate {
    void operator()(tidegate_gate *object) const noexcept { tidegate_gate_free(object); }
    void operator()(tidegate_refusal *object) const noexcept { tidegate_refusal_free(object); }
    void operator()(tidegate_entering *object) const noexcept { tidegate_entering_free(object); }
    void operator()(tidegate_gate_events *object) const noexcept { tidegate_gate_events_free(object); }
    void operator()(tidegate_watch *object) const noexcept { tidegate_watch_free(object); }
    void operator()(tidegate_text *object) const noexcept { tidegate_text_free(object); }
};

template <class Object>
using OwnerOfGate = std::unique_ptr<Object, FreeOfGate>;

// A document as a string; "" for none.
inline std::string taken(tidegate_text *text) {
    const OwnerOfGate<tidegate_text> owner(text);
    return std::string(text == nullptr ? "" : tidegate_text_data(text), tidegate_text_length(text));
}

// A short text of an object: most fit at once.
template <class Object>
std::string text_of_object(std::int32_t (*read)(const Object *, std::uint32_t, char *, std::size_t, std::size_t *),
                           const Object *object, std::uint32_t which) {
    std::string text(256, '\0');
    std::size_t length = 0;
    read(object, which, text.data(), text.size() + 1, &length);
    const bool fits = length <= text.size();
    text.resize(length);
    if (!fits) {
        read(object, which, text.data(), text.size() + 1, &length);
    }
    return text;
}

// Calls what tells in words what is wrong, with room for all of it.
template <class Call>
void told(Call call) {
    std::string faults(TIDEGATE_FAULTS_SIZE, '\0');
    const std::int32_t status = call(faults.data(), faults.size());
    if (status < 0) {
        faults.resize(std::char_traits<char>::length(faults.data()));
        throw Error(static_cast<Status>(status), faults);
    }
}

}  // namespace detail

// ---------------------------------------------------------------------------------------------------------- attributes

// What is known of a request: a name and a value, which is any text or bytes. Read only during the call.
class Attribute {
public:
    Attribute(std::string_view name, Key value) noexcept : raw_{name.data(), name.size(), value.data(), value.size()} {}

    const tidegate_attribute &raw() const noexcept { return raw_; }

private:
    tidegate_attribute raw_;
};

// All that is known of a request: in braces, or a vector, an array or another contiguous range of attributes. Give it as an
// argument and do not keep it: nothing is copied.
class Attributes {
public:
    Attributes(std::initializer_list<Attribute> list) noexcept : first_(std::data(list)), count_(list.size()) {}
    template <class List, std::enable_if_t<std::is_convertible_v<decltype(std::data(std::declval<const List &>())),
                                                                 const Attribute *>,
                                           int> = 0>
    Attributes(const List &list) noexcept : first_(std::data(list)), count_(std::size(list)) {}

    // As C takes them.
    const tidegate_attribute *data() const noexcept { return first_ == nullptr ? nullptr : &first_->raw(); }
    std::size_t size() const noexcept { return count_; }

private:
    static_assert(sizeof(Attribute) == sizeof(tidegate_attribute), "attributes in a row are those of C in a row");

    const Attribute *first_;
    std::size_t count_;
};

// ------------------------------------------------------------------------------------------------ entries and refusals

// The headers of a response. Those that are empty are to be left out.
struct Headers {
    // `RateLimit-Policy`: each quota, such as `"search";q=100;w=60`.
    std::string policy;
    // `RateLimit`: what is left, such as `"search";r=50;t=30`.
    std::string limit;
    // `Retry-After`, in whole seconds, rounded up; of refusals only.
    std::string retry_after;
};

// Why a request was refused, and by which rule. False, and all empty, if there is none.
class Refusal {
public:
    explicit operator bool() const noexcept { return raw_ != nullptr; }
    Status status() const noexcept { return static_cast<Status>(figures_.status); }

    // The rule's name.
    std::string rule() const { return text(TIDEGATE_TEXT_RULE); }

    // Whose budget it is, if the rule has a key: values of the request, or, unless the rules say `show_keys`, what stands for them.
    std::optional<std::string> key() const {
        return (figures_.flags & TIDEGATE_REFUSED_KEYED) == 0 ? std::nullopt : std::optional(text(TIDEGATE_TEXT_KEY));
    }

    // The text of the quota that refused; nothing if it was a limit of permits.
    std::optional<std::string> quota() const {
        return (figures_.flags & TIDEGATE_REFUSED_QUOTA) == 0 ? std::nullopt : std::optional(text(TIDEGATE_TEXT_QUOTA));
    }

    // Tokens per period, or permits; and how many could be taken.
    std::uint64_t limit() const noexcept { return figures_.limit; }
    std::uint64_t remaining() const noexcept { return figures_.remaining; }

    // How long until the rule would admit the same request, if nobody else asks: `never` for never, nothing if that depends on
    // others that are inside.
    std::optional<nanoseconds> retry_after() const noexcept {
        return figures_.retry_after_ns == TIDEGATE_UNKNOWN_NS
                   ? std::nullopt
                   : std::optional(detail::duration(figures_.retry_after_ns));
    }

    // Permits that are out, for a limit of permits; and how many wait.
    std::uint64_t in_flight() const noexcept { return figures_.in_flight; }
    std::uint64_t waiting() const noexcept { return figures_.waiting; }

    // How long it was waited, and the call's timeout, if it had one.
    nanoseconds elapsed() const noexcept { return detail::duration(figures_.elapsed_ns); }
    std::optional<nanoseconds> timeout() const noexcept {
        return figures_.timeout_ns == never_ns ? std::nullopt : std::optional(detail::duration(figures_.timeout_ns));
    }

    // All in a line, for logs.
    std::string message() const { return text(TIDEGATE_TEXT_MESSAGE); }

    // The body of a response with status 429, of the media type `application/problem+json`; and its headers.
    std::string problem_json() const { return text(TIDEGATE_TEXT_PROBLEM); }
    Headers headers() const {
        return {text(TIDEGATE_TEXT_RATE_LIMIT_POLICY), text(TIDEGATE_TEXT_RATE_LIMIT), text(TIDEGATE_TEXT_RETRY_AFTER)};
    }

    template <class Traits>
    friend std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const Refusal &refusal) {
        return out << refusal.message();
    }

    const tidegate_refusal *get() const noexcept { return raw_.get(); }

private:
    friend class Entry;
    Refusal() noexcept = default;
    explicit Refusal(tidegate_refusal *raw) noexcept : raw_(raw) {
        if (raw != nullptr) {
            tidegate_refusal_figures(raw, &figures_);
        }
    }

    std::string text(std::uint32_t which) const {
        return detail::text_of_object(tidegate_refusal_text, raw_.get(), which);
    }

    detail::OwnerOfGate<tidegate_refusal> raw_;
    tidegate_refused figures_{};
};

// How a rule's quota stood after a request was admitted: of several, the one that has least left.
struct Figures {
    std::string rule;
    std::uint64_t limit = 0;
    nanoseconds period{0};
    std::uint64_t remaining = 0;
    // How long until nothing of it counts any more, if nobody asks.
    nanoseconds reset_after{0};
    // Which of the rule's quotas it is, from 0.
    std::size_t quota = 0;
    // The most tokens of it that can be had at once.
    std::uint64_t burst = 0;
};

// What a gate answers. True while it lets the request in: it holds the permits of its rules then, and gives them back when it goes
// out of scope, as failed while an exception is about to leave it. Else refusal() says why not; or, after a mistake of the
// caller's, status() alone does.
class [[nodiscard]] Entry {
public:
    Entry(Entry &&other) noexcept
        : raw_(std::exchange(other.raw_, nullptr)), refusal_(std::move(other.refusal_)), status_(other.status_),
          exceptions_(other.exceptions_) {}
    Entry &operator=(Entry &&other) noexcept {
        if (this != &other) {
            give_back();
            raw_ = std::exchange(other.raw_, nullptr);
            refusal_ = std::move(other.refusal_);
            status_ = other.status_;
            exceptions_ = other.exceptions_;
        }
        return *this;
    }
    Entry(const Entry &) = delete;
    Entry &operator=(const Entry &) = delete;
    ~Entry() { give_back(); }

    explicit operator bool() const noexcept { return raw_ != nullptr; }

    // What the request was told: Status::allowed; Status::no_rule if none applies, which lets it in, too; Status::pending of one
    // that waits; or why not.
    Status status() const noexcept { return status_; }

    // Whether a rule applies to the request that was let in.
    bool applies() const noexcept { return status_ == Status::allowed; }

    // Whether the call was a mistake of the caller's, and nothing was decided.
    bool is_mistake() const noexcept { return Outcome(status_).is_mistake(); }

    // Why the request was refused; false if it was not.
    const Refusal &refusal() const noexcept { return refusal_; }

    // How the quotas stood when the request was let in, for each rule that has some.
    std::vector<Figures> figures() const {
        std::size_t count = 0;
        if (tidegate_entry_figures(raw_, nullptr, 0, &count) < 0) {
            return {};
        }
        std::vector<tidegate_figures> raw(count);
        tidegate_entry_figures(raw_, raw.data(), raw.size(), &count);
        std::vector<Figures> figures;
        for (const tidegate_figures &each : raw) {
            figures.push_back({std::string(each.rule, each.rule_length), each.limit, detail::duration(each.period_ns),
                               each.remaining, detail::duration(each.reset_after_ns), each.quota, each.burst});
        }
        return figures;
    }

    // The names of the rules that gave something, as a JSON array.
    std::string rules_json() const { return text(TIDEGATE_TEXT_RULES); }

    // The headers of the response, whether the request was let in or refused.
    Headers headers() const {
        if (raw_ == nullptr) {
            return refusal_.headers();
        }
        return {text(TIDEGATE_TEXT_RATE_LIMIT_POLICY), text(TIDEGATE_TEXT_RATE_LIMIT), {}};
    }

    // Gives everything back before the end of the scope, on any thread; `ok` tells the statistics whether the work went well. A
    // second time, or if the request was not let in, nothing happens.
    void release(bool ok = true) noexcept { tidegate_entry_release(std::exchange(raw_, nullptr), ok ? 1 : 0); }

    template <class Traits>
    friend std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const Entry &entry) {
        return entry.refusal_ ? out << entry.refusal_ : out << entry.status_;
    }

    const tidegate_entry *get() const noexcept { return raw_; }

private:
    friend class Gate;
    friend class Entering;

    explicit Entry(std::int32_t status, tidegate_entry *entry = nullptr, tidegate_refusal *refusal = nullptr) noexcept
        : raw_(entry), refusal_(refusal), status_(static_cast<Status>(status)) {}

    std::string text(std::uint32_t which) const { return detail::text_of_object(tidegate_entry_text, raw_, which); }

    void give_back() noexcept {
        if (raw_ != nullptr) {
            release(std::uncaught_exceptions() <= exceptions_);
        }
    }

    tidegate_entry *raw_;
    Refusal refusal_;
    Status status_;
    int exceptions_ = std::uncaught_exceptions();
};

// A request that keeps no thread while it waits, for event loops: from Gate::enter_async(). It leaves when it goes out of scope,
// and gives back what it had got.
//
// `wake` says "poll now", at most once after each poll, on any thread, and not any more once this has gone. It must not
// throw, nor wait. Poll also after wake_after().
//
// To be used by one thread at a time.
class [[nodiscard]] Entering {
public:
    Entering(Entering &&) noexcept = default;
    Entering &operator=(Entering &&other) noexcept {
        if (this != &other) {
            raw_.reset();
            wake_ = std::move(other.wake_);
            raw_ = std::move(other.raw_);
            entry_ = std::move(other.entry_);
            wake_after_ns_ = other.wake_after_ns_;
        }
        return *this;
    }
    Entering(const Entering &) = delete;
    Entering &operator=(const Entering &) = delete;
    ~Entering() = default;

    // Goes on as far as it can without waiting; whether it is over, and take() has the answer.
    bool poll() noexcept {
        if (raw_ != nullptr) {
            tidegate_entry *entry = nullptr;
            tidegate_refusal *refusal = nullptr;
            const std::int32_t status = tidegate_entering_poll(raw_.get(), &entry, &refusal, &wake_after_ns_);
            if (status != TIDEGATE_PENDING) {
                entry_ = Entry(status, entry, refusal);
                raw_.reset();
            }
        }
        return raw_ == nullptr;
    }

    // After how long to poll if it isn't woken before; `never` if only then.
    nanoseconds wake_after() const noexcept { return detail::duration(wake_after_ns_); }

    // The answer; until it is over, one that is Status::pending.
    Entry take() noexcept { return raw_ == nullptr ? std::move(entry_) : Entry(TIDEGATE_PENDING); }

private:
    friend class Gate;
    using Wake = std::function<void()>;

    explicit Entering(Wake wake) : wake_(std::make_unique<Wake>(std::move(wake))), entry_(TIDEGATE_PENDING) {}

    static void call(void *user_data) noexcept { (*static_cast<const Wake *>(user_data))(); }

    // It must outlive what calls it, so it comes first.
    std::unique_ptr<Wake> wake_;
    detail::OwnerOfGate<tidegate_entering> raw_;
    Entry entry_;
    std::uint64_t wake_after_ns_ = never_ns;
};

// --------------------------------------------------------------------------------------------------- events, watched files

// What a gate refuses, and its reloads, to be fetched as JSON, for logs and metrics; see "Events of a gate" in tidegate.h. From
// Gate::events(). For one thread at a time.
class Events {
public:
    // The next event, for which it waits at most so long; nothing if none came. Throws Error for negative times.
    template <class Rep, class Period>
    std::optional<std::string> next(std::chrono::duration<Rep, Period> most) {
        tidegate_text *event = nullptr;
        status_ = static_cast<Status>(tidegate_gate_events_next(raw_.get(), detail::wait_ns("most", most), &event));
        return event == nullptr ? std::nullopt : std::optional(detail::taken(event));
    }

    // Whether all were fetched and none will come, since the gate is gone or another listens; told by the last next().
    bool is_over() const noexcept { return status_ != Status::allowed && status_ != Status::timed_out; }

private:
    friend class Gate;
    explicit Events(tidegate_gate_events *raw) noexcept : raw_(raw) {}

    detail::OwnerOfGate<tidegate_gate_events> raw_;
    Status status_ = Status::allowed;
};

// A file that a gate follows for as long as this is there. From Gate::watch_file().
class [[nodiscard]] Watch {
private:
    friend class Gate;
    explicit Watch(tidegate_watch *raw) noexcept : raw_(raw) {}

    detail::OwnerOfGate<tidegate_watch> raw_;
};

// ------------------------------------------------------------------------------------------------------------ the gate

// Admits requests by named rules, which can be replaced while it is in use.
class Gate {
public:
    // The rules of a text. The clock is needed only during the call. Throws Error.
    Gate(std::string_view rules, Format format) : Gate(read(rules, format, nullptr)) {}
    Gate(std::string_view rules, Format format, const Clock &clock) : Gate(read(rules, format, clock.get())) {}

    // The same without exceptions: nothing, and the mistake, if something is wrong.
    [[nodiscard]] static std::optional<Gate> make(std::string_view rules, Format format, Mistake &mistake) noexcept {
        tidegate_gate *gate = nullptr;
        mistake.take(tidegate_gate_parse(rules.data(), rules.size(), static_cast<std::uint32_t>(format), nullptr, &gate,
                                         mistake.buffer(), TIDEGATE_ERROR_SIZE));
        return gate == nullptr ? std::nullopt : std::optional(Gate(gate));
    }

    // The rules of a file, whose name ends in `.toml`, `.json`, `.yaml` or `.yml`. Throws Error.
    static Gate open(std::string_view path) { return Gate(opened(path, nullptr)); }
    static Gate open(std::string_view path, const Clock &clock) { return Gate(opened(path, clock.get())); }

    // Another owner of the same gate.
    Gate share() const noexcept { return Gate(tidegate_gate_ref(get())); }

    // Lets a request in, or tells why not; waits on this thread if rules say so, for as long as they say.
    [[nodiscard]] Entry enter(Attributes attributes, Count cost = 1) const noexcept {
        return enter_ns(attributes, cost, never_ns);
    }
    // The same, but waits for at most `timeout` in all, whatever the rules say: zero never waits. It is also how long rules let
    // wait whose timeout is that of the call; without one they don't. Throws Error for negative times.
    template <class Rep, class Period>
    [[nodiscard]] Entry enter(Attributes attributes, Count cost, std::chrono::duration<Rep, Period> timeout) const {
        return enter_ns(attributes, cost, detail::clock_ns("timeout", timeout));
    }

    // The same without a thread; see Entering. May be over at once.
    [[nodiscard]] Entering enter_async(Attributes attributes, Count cost, std::function<void()> wake) const {
        return begin(attributes, cost, never_ns, std::move(wake));
    }
    template <class Rep, class Period>
    [[nodiscard]] Entering enter_async(Attributes attributes, Count cost, std::chrono::duration<Rep, Period> timeout,
                                       std::function<void()> wake) const {
        return begin(attributes, cost, detail::clock_ns("timeout", timeout), std::move(wake));
    }

    // Replaces the rules by those of a text or file, if all is right with them; what is used stays used. Tells what that did in
    // JSON, as tidegate_gate_reload() does. Throws Error; then the rules are as they were.
    std::string reload(std::string_view rules, Format format) const {
        tidegate_text *reloaded = nullptr;
        detail::told([&](char *faults, std::size_t size) {
            return tidegate_gate_reload(get(), rules.data(), rules.size(), static_cast<std::uint32_t>(format), &reloaded,
                                        faults, size);
        });
        return detail::taken(reloaded);
    }
    std::string reload_file(std::string_view path) const {
        tidegate_text *reloaded = nullptr;
        detail::told([&](char *faults, std::size_t size) {
            return tidegate_gate_reload_file(get(), path.data(), path.size(), &reloaded, faults, size);
        });
        return detail::taken(reloaded);
    }
    // The same without exceptions; the outcome is the mistake's status.
    [[nodiscard]] Outcome reload(std::string_view rules, Format format, Mistake &mistake) const noexcept {
        mistake.take(tidegate_gate_reload(get(), rules.data(), rules.size(), static_cast<std::uint32_t>(format), nullptr,
                                          mistake.buffer(), TIDEGATE_ERROR_SIZE));
        return Outcome(mistake.status());
    }

    // Reads the rules of a file, and again whenever it changes, for as long as the Watch is there; see
    // tidegate_gate_watch_file(). Throws Error.
    Watch watch_file(std::string_view path) const {
        tidegate_watch *watch = nullptr;
        detail::told([&](char *faults, std::size_t size) {
            return tidegate_gate_watch_file(get(), path.data(), path.size(), &watch, faults, size);
        });
        return Watch(watch);
    }

    // The rules in use, as they were written, in JSON; "" after a move.
    std::string rules_json() const { return document(tidegate_gate_rules); }

    // What was let in and refused since the gate was built, in all and by rule, in JSON, as tidegate_gate_stats() tells it.
    std::string stats_json() const { return document(tidegate_gate_stats); }

    // What each rule says to a request, and why, in JSON, as tidegate_gate_explain() tells it; spends nothing. Throws Error for
    // what would be a mistake to enter with.
    std::string explain_json(Attributes attributes, Count cost = 1) const {
        tidegate_text *explanation = nullptr;
        const std::int32_t status = tidegate_gate_explain(get(), attributes.data(), attributes.size(), cost.value(),
                                                          &explanation);
        if (status < 0) {
            throw Error(static_cast<Status>(status), "request: got one that is " +
                                                         std::string(name(static_cast<Status>(status))) +
                                                         "; allowed: attributes with names in UTF-8, a cost of 1 to " +
                                                         std::to_string(max_cost));
        }
        return detail::taken(explanation);
    }

    // The events from now on. One listens at a time: whoever listened before gets no more.
    Events events() const noexcept {
        tidegate_gate_events *events = nullptr;
        tidegate_gate_events_new(get(), &events);
        return Events(events);
    }

    const tidegate_gate *get() const noexcept { return gate_.get(); }

private:
    explicit Gate(tidegate_gate *gate) noexcept : gate_(gate) {}

    static tidegate_gate *read(std::string_view rules, Format format, const tidegate_clock *clock) {
        tidegate_gate *gate = nullptr;
        detail::told([&](char *faults, std::size_t size) {
            return tidegate_gate_parse(rules.data(), rules.size(), static_cast<std::uint32_t>(format), clock, &gate, faults,
                                       size);
        });
        return gate;
    }

    static tidegate_gate *opened(std::string_view path, const tidegate_clock *clock) {
        tidegate_gate *gate = nullptr;
        detail::told([&](char *faults, std::size_t size) {
            return tidegate_gate_open(path.data(), path.size(), clock, &gate, faults, size);
        });
        return gate;
    }

    Entry enter_ns(const Attributes &attributes, Count cost, std::uint64_t timeout_ns) const noexcept {
        tidegate_entry *entry = nullptr;
        tidegate_refusal *refusal = nullptr;
        const std::int32_t status = tidegate_gate_enter(get(), attributes.data(), attributes.size(), cost.value(),
                                                        timeout_ns, &entry, &refusal);
        return Entry(status, entry, refusal);
    }

    Entering begin(const Attributes &attributes, Count cost, std::uint64_t timeout_ns, std::function<void()> wake) const {
        Entering entering(std::move(wake));
        tidegate_entry *entry = nullptr;
        tidegate_refusal *refusal = nullptr;
        tidegate_entering *raw = nullptr;
        const std::int32_t status =
            tidegate_gate_enter_async(get(), attributes.data(), attributes.size(), cost.value(), timeout_ns, Entering::call,
                                      entering.wake_.get(), &entry, &refusal, &raw, &entering.wake_after_ns_);
        entering.raw_.reset(raw);
        entering.entry_ = Entry(status, entry, refusal);
        return entering;
    }

    std::string document(std::int32_t (*tell)(const tidegate_gate *, tidegate_text **)) const {
        tidegate_text *text = nullptr;
        tell(get(), &text);
        return detail::taken(text);
    }

    detail::OwnerOfGate<tidegate_gate> gate_;
};

}  // namespace tidegate

#endif  // TIDEGATE_GATE_HPP
