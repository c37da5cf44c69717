// Runs vector files through tidegate.hpp and prints the canonical transcript (docs/design.md, section 12, "Vectors").
// usage: conformance_cpp FILE...

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tidegate.hpp"

namespace {

using std::chrono::nanoseconds;
using Words = std::vector<std::string>;

// The script itself is wrong.
struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A mistake that the script made on purpose; `argument` is what the transcript shows.
struct Refused {
    std::string argument;
};

std::uint64_t number(const std::string &text) {
    std::size_t read = 0;
    const std::uint64_t value = std::stoull(text, &read);
    if (read != text.size()) {
        throw Fault(text + " is no number");
    }
    return value;
}

// The `name=value` words of a command.
class Options {
public:
    Options(Words::const_iterator begin, Words::const_iterator end) {
        for (; begin != end; ++begin) {
            const std::size_t equals = begin->find('=');
            if (equals == std::string::npos) {
                throw Fault(*begin + " has no value");
            }
            values_[begin->substr(0, equals)] = begin->substr(equals + 1);
        }
    }

    const std::string *find(const std::string &name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? nullptr : &found->second;
    }
    std::uint64_t number(const std::string &name) const {
        const std::string *value = find(name);
        if (value == nullptr) {
            throw Fault("no " + name);
        }
        return ::number(*value);
    }
    std::uint64_t number(const std::string &name, std::uint64_t otherwise) const {
        return find(name) == nullptr ? otherwise : number(name);
    }

private:
    std::map<std::string, std::string> values_;
};

std::string decoded(const std::string &text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

tidegate::Quota read_quota(const Options &options) {
    static const std::map<std::string, tidegate::Algorithm> algorithms = {
        {"gcra", tidegate::Algorithm::gcra},
        {"fixed_window", tidegate::Algorithm::fixed_window},
        {"sliding_window", tidegate::Algorithm::sliding_window},
        {"sliding_log", tidegate::Algorithm::sliding_log},
    };
    static const std::map<std::string, tidegate::Anchor> anchors = {
        {"first", tidegate::Anchor::first},
        {"clock", tidegate::Anchor::clock},
    };
    const std::chrono::duration<std::uint64_t, std::nano> period(options.number("per"));
    tidegate::Quota quota(options.number("limit"), period);
    if (options.find("burst") != nullptr) {
        quota = quota.with_burst(options.number("burst"));
    }
    if (const std::string *algorithm = options.find("algorithm")) {
        quota = quota.with_algorithm(algorithms.at(*algorithm));
    }
    if (const std::string *anchor = options.find("anchor")) {
        quota = quota.with_anchor(anchors.at(*anchor));
    }
    return quota;
}

// `QUOTA [+ QUOTA]...`
std::vector<tidegate::Quota> read_quotas(Words::const_iterator begin, Words::const_iterator end) {
    std::vector<tidegate::Quota> quotas;
    while (begin != end) {
        const auto plus = std::find(begin, end, "+");
        quotas.push_back(read_quota(Options(begin, plus)));
        begin = plus == end ? end : plus + 1;
    }
    return quotas;
}

// `%XX,%XX`
Words read_list(const std::string &text) {
    Words list;
    std::size_t begin = 0;
    for (std::size_t comma = 0; comma != std::string::npos; begin = comma + 1) {
        comma = text.find(',', begin);
        list.push_back(decoded(text.substr(begin, comma == std::string::npos ? comma : comma - begin)));
    }
    return list;
}

std::string in_hex(const std::string &key) {
    std::ostringstream line;
    line << std::hex << std::setfill('0');
    for (const char byte : key) {
        line << std::setw(2) << static_cast<unsigned>(static_cast<unsigned char>(byte));
    }
    return line.str();
}

// The `name=value` words behind a limiter's name, those of its quotas aside.
Options beside_quotas(const Words &words) {
    Words all(words.begin() + 2, words.end());
    all.erase(std::remove(all.begin(), all.end(), "+"), all.end());
    return Options(all.begin(), all.end());
}

tidegate::KeyedRateOptions keyed_options(const Options &options) {
    tidegate::KeyedRateOptions settings;
    settings.max_keys = options.number("max_keys");
    if (const std::string *when_full = options.find("when_full")) {
        if (*when_full != "evict" && *when_full != "deny_new") {
            throw Refused{"when_full"};
        }
        settings.when_full = *when_full == "evict" ? tidegate::WhenFull::evict : tidegate::WhenFull::deny_new;
    }
    settings.track_denied = options.number("track_denied", 0);
    settings.max_waiters = options.number("max_waiters", tidegate::max_max_waiters);
    return settings;
}

// What the words from `begin` on say, by default those after a limiter's name, given to whoever builds from it.
template <class Use>
void with_quotas(const Words &words, Use use, std::size_t begin = 2) {
    const std::string &first = words.at(begin);
    if (first.substr(0, 5) == "text=") {
        use(tidegate::Quotas(decoded(first.substr(5))));
    } else {
        use(tidegate::Quotas(read_quotas(words.begin() + static_cast<std::ptrdiff_t>(begin), words.end())));
    }
}

void check(tidegate::Outcome outcome) {
    switch (outcome.status()) {
    case tidegate::Status::allowed:
        return;
    case tidegate::Status::invalid_permit:
        throw Refused{"permit"};
    case tidegate::Status::invalid_decision:
        throw Refused{"decision"};
    case tidegate::Status::invalid_option:
        throw Refused{"limit"};
    default:
        throw Fault("unexpected status " + std::string(name(outcome.status())));
    }
}

std::string answered(tidegate::Status status, const char *argument) {
    if (status == tidegate::Status::invalid_cost) {
        throw Refused{argument};
    }
    if (tidegate::Outcome(status).is_mistake()) {
        throw Fault("unexpected status " + std::string(name(status)));
    }
    return status == tidegate::Status::allowed ? "allowed" : "refused";
}

std::string shown(const tidegate::Decision &decision) {
    answered(decision.status(), "cost");
    const bool never = decision.retry_after_ns() == tidegate::never_ns;
    std::ostringstream line;
    line << name(decision.status()) << " limit=" << decision.limit() << " remaining=" << decision.remaining()
         << " retry_after=" << (never ? "never" : std::to_string(decision.retry_after_ns()))
         << " reset_after=" << decision.reset_after_ns() << " quota=" << decision.quota();
    return line.str();
}

std::string hold_times(const tidegate::Stats &stats) {
    return " hold_total=" + std::to_string(stats.hold_time_total.count()) +
           " hold_max=" + std::to_string(stats.hold_time_max.count());
}

struct Concurrency {
    tidegate::ConcurrencyLimiter limiter;
    bool tracks_hold_time;
    // Permits that were granted and kept under no name.
    std::vector<tidegate::Permit> nameless;
};

// A wait of the script, for one of them until it is over.
struct Waiter {
    std::string limiter;
    std::optional<tidegate::Wait<tidegate::Outcome>> tokens;
    std::optional<tidegate::Wait<tidegate::Permit>> permits;
    std::optional<tidegate::Wait<tidegate::KeyedPermit>> keyed_permits;

    bool is_over() const { return !tokens && !permits && !keyed_permits; }
    bool cancel() {
        return tokens ? bool(tokens->cancel()) : permits ? bool(permits->cancel()) : keyed_permits && keyed_permits->cancel();
    }
};

struct KeyedConcurrency {
    tidegate::KeyedConcurrencyLimiter limiter;
    bool tracks_hold_time;
    std::vector<tidegate::KeyedPermit> nameless;
};

class Script {
public:
    // The answer to a command.
    std::string run(const Words &words) {
        try {
            const std::optional<std::string> said = waiting_answer(words);
            return said ? *said : answer(words);
        } catch (const Refused &refused) {
            return "error " + refused.argument;
        } catch (const tidegate::Error &error) {
            const std::string_view text = error.what();
            return "error " + std::string(text.substr(0, text.find(':')));
        }
    }

    // The waits that ended since, by name: such as "w granted".
    Words ended() {
        Words said;
        for (auto &[name, waiter] : waiters_) {
            if (const std::optional<tidegate::Status> status = end(name, waiter)) {
                said.push_back(name + " " + wait_status(*status));
            }
        }
        return said;
    }

private:
    static std::string wait_status(tidegate::Status status) {
        return status == tidegate::Status::allowed ? "granted" : std::string(name(status));
    }

    // What became of a wait that is over by now and wasn't before. A permit is kept under its name.
    std::optional<tidegate::Status> end(const std::string &name, Waiter &waiter) {
        std::optional<tidegate::Status> status;
        if (waiter.tokens && waiter.tokens->wait_for(nanoseconds(0))) {
            status = waiter.tokens->get().status();
            waiter.tokens.reset();
        } else if (waiter.permits && waiter.permits->wait_for(nanoseconds(0))) {
            tidegate::Permit permit = waiter.permits->get();
            status = permit.status();
            waiter.permits.reset();
            if (permit) {
                keyed_permits_.erase(name);
                keep(permits_, name, std::move(permit), concurrencies_.at(waiter.limiter));
            }
        } else if (waiter.keyed_permits && waiter.keyed_permits->wait_for(nanoseconds(0))) {
            tidegate::KeyedPermit permit = waiter.keyed_permits->get();
            status = permit.status();
            waiter.keyed_permits.reset();
            if (permit) {
                permits_.erase(name);
                keep(keyed_permits_, name, std::move(permit), keyed_concurrencies_.at(waiter.limiter));
            }
        }
        return status;
    }

    // Nothing if the command is not about waiting.
    std::optional<std::string> waiting_answer(const Words &words) {
        const std::string &verb = words[0], &name = words.at(1);
        if (verb == "wait") {
            return begin_wait(name, words.at(2), Options(words.begin() + 3, words.end()));
        }
        if (verb == "cancel") {
            Waiter &waiter = waiters_.at(name);
            return waiter.cancel() ? wait_status(end(name, waiter).value()) : "too_late";
        }
        if (verb == "close") {
            const auto keyed = keyed_concurrencies_.find(name);
            check(keyed == keyed_concurrencies_.end() ? concurrencies_.at(name).limiter.close()
                                                      : keyed->second.limiter.close());
            return "ok";
        }
        if (verb == "waiting") {
            const tidegate::Stats stats = stats_of(name);
            return "ok waiting=" + std::to_string(stats.waiting) + " timed_out=" + std::to_string(stats.timed_out) +
                   " cancelled=" + std::to_string(stats.cancelled);
        }
        if (verb == "reserve") {
            return reserve(name, Options(words.begin() + 2, words.end()));
        }
        if (verb == "unreserve") {
            const auto found = reservations_.find(words.at(2));
            if (found == reservations_.end()) {
                throw Fault("no reservation " + words.at(2));
            }
            const auto keyed = keyed_rates_.find(name);
            const tidegate::Outcome credited =
                keyed == keyed_rates_.end()
                    ? rate(name).cancel_reservation(found->second)
                    : keyed->second.cancel_reservation(key_of_call(Options(words.begin() + 3, words.end())), found->second);
            reservations_.erase(found);
            if (credited.is_mistake()) {
                throw Refused{"reservation"};
            }
            return credited ? "credited" : "not_credited";
        }
        return std::nullopt;
    }

    tidegate::Stats stats_of(const std::string &name) const {
        if (const auto found = concurrencies_.find(name); found != concurrencies_.end()) {
            return found->second.limiter.stats();
        }
        if (const auto found = keyed_rates_.find(name); found != keyed_rates_.end()) {
            return found->second.stats();
        }
        const auto found = keyed_concurrencies_.find(name);
        return found == keyed_concurrencies_.end() ? rate(name).stats() : found->second.limiter.stats();
    }

    std::string begin_wait(const std::string &name, const std::string &limiter, const Options &options) {
        Waiter &waiter = waiters_[name];
        if (!waiter.is_over()) {
            throw Fault(name + " waits already");
        }
        waiter.limiter = limiter;
        const std::uint64_t cost = options.number("cost", 1);
        // Takes, or begins to wait, by a limiter that wants a key, or by one that wants none.
        const auto begin = [&](const auto &from, const auto &...key) {
            return options.find("timeout") == nullptr ? from.acquire_async(key..., cost)
                                                      : from.acquire_async(key..., cost, nanoseconds(options.number("timeout")));
        };
        const auto tokens = keyed_rates_.find(limiter);
        const auto permits = concurrencies_.find(limiter);
        const auto keyed_permits = keyed_concurrencies_.find(limiter);
        bool is_for_permits = false;
        if (tokens != keyed_rates_.end()) {
            waiter.tokens = begin(tokens->second, key_of_call(options));
        } else if (keyed_permits != keyed_concurrencies_.end()) {
            waiter.keyed_permits = begin(keyed_permits->second.limiter, key_of_call(options));
            is_for_permits = true;
        } else if (options.find("key") != nullptr) {
            throw Fault(limiter + " takes no key");
        } else if (permits != concurrencies_.end()) {
            waiter.permits = begin(permits->second.limiter);
            is_for_permits = true;
        } else {
            waiter.tokens = begin(rate(limiter));
        }
        const tidegate::Status status = end(name, waiter).value_or(tidegate::Status::pending);
        if (status == tidegate::Status::invalid_cost) {
            throw Refused{is_for_permits ? "permits" : "cost"};
        }
        return wait_status(status);
    }

    std::string reserve(const std::string &name, const Options &options) {
        const std::uint64_t cost = options.number("cost", 1);
        const auto ask = [&](const auto &of, const auto &...key) {
            return options.find("max_wait") == nullptr ? of.reserve(key..., cost)
                                                       : of.reserve(key..., cost, nanoseconds(options.number("max_wait")));
        };
        const auto keyed = keyed_rates_.find(name);
        tidegate::Reservation reservation =
            keyed == keyed_rates_.end() ? ask(rate(name)) : ask(keyed->second, key_of_call(options));
        if (tidegate::Outcome(reservation.status()).is_mistake()) {
            throw Refused{reservation.status() == tidegate::Status::invalid_cost ? "cost" : "quota"};
        }
        const std::string line =
            wait_status(reservation.status()) + (reservation ? " wait=" + std::to_string(reservation.wait_ns()) : "");
        if (options.find("as") != nullptr && reservation) {
            reservations_.insert_or_assign(*options.find("as"), std::move(reservation));
        }
        return line;
    }

    std::string answer(const Words &words) {
        const std::string &verb = words[0], &name = words.at(1);
        if (verb == "key") {
            return "ok " + in_hex(tidegate::key_of(read_list(name.substr(std::string_view("parts=").size()))));
        }
        if (verb == "ip") {
            const Options options(words.begin() + 1, words.end());
            const std::string address = decoded(*options.find("address"));
            return "ok " + in_hex(options.find("prefix") == nullptr
                                      ? tidegate::ip_key(address)
                                      : tidegate::ip_key(address, options.number("prefix")));
        }
        const bool has_options = verb == "try" || verb == "decide" || verb == "peek" || verb == "conc" ||
                                 verb == "reset" || verb == "many" || verb == "in_flight" || verb == "clear" || verb == "top";
        const Options options = has_options ? Options(words.begin() + 2, words.end()) : Options(words.end(), words.end());
        if (verb == "rate") {
            make_rate(name, words);
            return "ok";
        }
        if (verb == "conc" && options.find("max_keys") != nullptr) {
            tidegate::KeyedConcurrencyOptions settings;
            settings.max_keys = options.number("max_keys");
            settings.track_hold_time = options.number("track_hold_time", 0) == 1;
            settings.clock = &clock_;
            settings.max_waiters = options.number("max_waiters", tidegate::max_max_waiters);
            tidegate::KeyedConcurrencyLimiter limiter(options.number("limit"), settings);
            forget(name);
            keyed_concurrencies_.emplace(name, KeyedConcurrency{std::move(limiter), settings.track_hold_time, {}});
            return "ok";
        }
        if (keyed_rates_.count(name) != 0) {
            return keyed_rate_answer(keyed_rates_.at(name), words, options);
        }
        if (keyed_concurrencies_.count(name) != 0) {
            return keyed_concurrency_answer(keyed_concurrencies_.at(name), words, options);
        }
        if (options.find("key") != nullptr) {
            throw Fault(name + " takes no key");
        }
        if (verb == "parse") {
            return parse(decoded(name.substr(std::string_view("text=").size())));
        }
        if (verb == "conc") {
            make_concurrency(name, options);
        } else if (verb == "advance") {
            check(clock_.advance_ns(number(name)));
        } else if (verb == "set_clock") {
            check(clock_.set_ns(number(name)));
        } else if (verb == "try") {
            return try_acquire(name, options);
        } else if (verb == "decide") {
            tidegate::Decision decision = rate(name).decide(options.number("cost", 1));
            const std::string line = shown(decision);
            if (const std::string *as = options.find("as")) {
                decisions_.insert_or_assign(*as, std::move(decision));
            }
            return line;
        } else if (verb == "peek") {
            return shown(rate(name).peek(options.number("cost", 1)));
        } else if (verb == "refund") {
            check(rate(name).refund(decisions_.at(words.at(2))));
        } else if (verb == "release") {
            const bool ok = !(words.size() == 3 && words[2] == "failed");
            const auto keyed = keyed_permits_.find(name);
            check(keyed == keyed_permits_.end() ? permits_.at(name).release(ok) : keyed->second.release(ok));
        } else if (verb == "reset") {
            check(rate(name).reset());
        } else if (verb == "reconfigure") {
            with_quotas(words, [&](const tidegate::Quotas &quotas) { rate(name).reconfigure(quotas); });
        } else if (verb == "limit") {
            check(concurrencies_.at(name).limiter.set_limit(number(words.at(2))));
        } else if (verb == "stats") {
            return stats(name);
        } else {
            throw Fault("unknown command " + verb);
        }
        return "ok";
    }

    // A name is one limiter's at a time.
    void forget(const std::string &name) {
        rates_.erase(name);
        concurrencies_.erase(name);
        keyed_rates_.erase(name);
        keyed_concurrencies_.erase(name);
    }

    void make_rate(const std::string &name, const Words &words) {
        const Options options = beside_quotas(words);
        with_quotas(words, [&](const tidegate::Quotas &quotas) {
            if (options.find("max_keys") == nullptr) {
                tidegate::RateOptions settings;
                settings.clock = &clock_;
                settings.max_waiters = options.number("max_waiters", tidegate::max_max_waiters);
                tidegate::RateLimiter limiter(quotas, settings);
                forget(name);
                rates_.emplace(name, std::move(limiter));
                return;
            }
            tidegate::KeyedRateOptions settings = keyed_options(options);
            settings.clock = &clock_;
            tidegate::KeyedRateLimiter limiter(quotas, settings);
            forget(name);
            keyed_rates_.emplace(name, std::move(limiter));
        });
    }

    static std::string key_of_call(const Options &options) {
        if (options.find("key") == nullptr) {
            throw Fault("a keyed limiter wants a key");
        }
        return decoded(*options.find("key"));
    }

    std::string keyed_rate_answer(const tidegate::KeyedRateLimiter &limiter, const Words &words,
                                  const Options &options) {
        const std::string &verb = words[0];
        if (verb == "try") {
            return answered(limiter.try_acquire(key_of_call(options), options.number("cost", 1)).status(), "cost");
        }
        if (verb == "decide") {
            tidegate::Decision decision = limiter.decide(key_of_call(options), options.number("cost", 1));
            const std::string line = shown(decision);
            if (const std::string *as = options.find("as")) {
                decisions_.insert_or_assign(*as, std::move(decision));
            }
            return line;
        }
        if (verb == "peek") {
            return shown(limiter.peek(key_of_call(options), options.number("cost", 1)));
        }
        if (verb == "many") {
            std::string line = "ok ";
            for (const tidegate::Outcome each :
                 limiter.try_acquire_many(read_list(*options.find("keys")), options.number("cost", 1))) {
                line += (line.size() > 3 ? "," : "") + answered(each.status(), "cost");
            }
            return line;
        }
        if (verb == "refund") {
            const Options key(words.begin() + 3, words.end());
            check(limiter.refund(key_of_call(key), decisions_.at(words.at(2))));
        } else if (verb == "reset") {
            check(limiter.reset(key_of_call(options)));
        } else if (verb == "reconfigure") {
            with_quotas(words, [&](const tidegate::Quotas &quotas) { limiter.reconfigure(quotas); });
        } else if (verb == "quota") {
            const std::string key = key_of_call(Options(words.begin() + 2, words.begin() + 3));
            with_quotas(words, [&](const tidegate::Quotas &quotas) { limiter.set_quota(key, quotas); }, 3);
        } else if (verb == "clear") {
            check(limiter.clear_quota(key_of_call(options)));
        } else if (verb == "top") {
            std::string line = "ok";
            for (const tidegate::DeniedKey &denied : limiter.top_denied(options.number("n"))) {
                line += " " + in_hex(denied.key) + ":" + std::to_string(denied.count) + ":" +
                        std::to_string(denied.error);
            }
            return line;
        } else if (verb == "stats") {
            const tidegate::Stats stats = limiter.stats();
            std::ostringstream line;
            line << "ok allowed=" << stats.allowed << " denied=" << stats.denied
                 << " evicted_live=" << stats.evicted_live << " capacity=" << stats.capacity;
            return line.str();
        } else {
            throw Fault("unknown command " + verb + " of a keyed rate limiter");
        }
        return "ok";
    }

    std::string keyed_concurrency_answer(KeyedConcurrency &keyed, const Words &words, const Options &options) {
        const std::string &verb = words[0];
        if (verb == "try") {
            tidegate::KeyedPermit permit = keyed.limiter.try_acquire(key_of_call(options), options.number("cost", 1));
            const std::string line = answered(permit.status(), "permits");
            if (const std::string *as = options.find("as")) {
                permits_.erase(*as);
                keep(keyed_permits_, *as, std::move(permit), keyed);
            } else if (permit) {
                keyed.nameless.push_back(std::move(permit));
            }
            return line;
        }
        if (verb == "in_flight") {
            return "ok " + std::to_string(keyed.limiter.in_flight(key_of_call(options)));
        }
        if (verb == "limit") {
            check(keyed.limiter.set_limit(number(words.at(2))));
            return "ok";
        }
        if (verb == "stats") {
            const tidegate::Stats stats = keyed.limiter.stats();
            std::ostringstream line;
            line << "ok limit=" << stats.limit << " allowed=" << stats.allowed << " denied=" << stats.denied
                 << " released_ok=" << stats.released_ok << " released_failed=" << stats.released_failed
                 << " capacity=" << stats.capacity;
            if (keyed.tracks_hold_time) {
                line << hold_times(stats);
            }
            return line.str();
        }
        throw Fault("unknown command " + verb + " of a keyed concurrency limiter");
    }

    static std::string parse(const std::string &text) {
        std::string line = "ok ";
        for (const tidegate::Quota &quota : tidegate::Quota::parse_list(text)) {
            line += (line.size() > 3 ? "; " : "") + quota.text();
        }
        return line;
    }

    void make_concurrency(const std::string &name, const Options &options) {
        tidegate::ConcurrencyOptions settings;
        settings.track_hold_time = options.number("track_hold_time", 0) == 1;
        settings.clock = &clock_;
        settings.max_waiters = options.number("max_waiters", tidegate::max_max_waiters);
        tidegate::ConcurrencyLimiter limiter(options.number("limit"), settings);
        forget(name);
        concurrencies_.emplace(name, Concurrency{std::move(limiter), settings.track_hold_time, {}});
    }

    std::string try_acquire(const std::string &name, const Options &options) {
        const std::uint64_t cost = options.number("cost", 1);
        const auto found = concurrencies_.find(name);
        if (found == concurrencies_.end()) {
            return answered(rate(name).try_acquire(cost).status(), "cost");
        }
        tidegate::Permit permit = found->second.limiter.try_acquire(cost);
        const std::string line = answered(permit.status(), "permits");
        if (const std::string *as = options.find("as")) {
            keyed_permits_.erase(*as);
            keep(permits_, *as, std::move(permit), found->second);
        } else if (permit) {
            found->second.nameless.push_back(std::move(permit));
        }
        return line;
    }

    // A permit whose name is taken by another stays out, as one without a name does.
    template <class Permits, class Permit, class Lender>
    static void keep(Permits &permits, const std::string &as, Permit permit, Lender &lender) {
        const auto old = permits.find(as);
        if (old != permits.end() && old->second) {
            lender.nameless.push_back(std::move(old->second));
        }
        permits.insert_or_assign(as, std::move(permit));
    }

    std::string stats(const std::string &name) {
        std::ostringstream line;
        const auto found = concurrencies_.find(name);
        if (found == concurrencies_.end()) {
            const tidegate::Stats stats = rate(name).stats();
            line << "ok allowed=" << stats.allowed << " denied=" << stats.denied;
            return line.str();
        }
        const tidegate::Stats stats = found->second.limiter.stats();
        line << "ok limit=" << stats.limit << " in_flight=" << stats.in_flight << " available=" << stats.available
             << " allowed=" << stats.allowed << " denied=" << stats.denied << " released_ok=" << stats.released_ok
             << " released_failed=" << stats.released_failed;
        if (found->second.tracks_hold_time) {
            line << hold_times(stats);
        }
        return line.str();
    }

    const tidegate::RateLimiter &rate(const std::string &name) const {
        const auto found = rates_.find(name);
        if (found == rates_.end()) {
            throw Fault("no limiter " + name);
        }
        return found->second;
    }

    tidegate::ManualClock clock_;
    std::map<std::string, tidegate::RateLimiter> rates_;
    std::map<std::string, Concurrency> concurrencies_;
    std::map<std::string, tidegate::KeyedRateLimiter> keyed_rates_;
    std::map<std::string, KeyedConcurrency> keyed_concurrencies_;
    std::map<std::string, tidegate::Decision> decisions_;
    // After the limiters, so that permits go first.
    std::map<std::string, tidegate::Permit> permits_;
    std::map<std::string, tidegate::KeyedPermit> keyed_permits_;
    std::map<std::string, tidegate::Reservation> reservations_;
    std::map<std::string, Waiter> waiters_;
};

void run_file(const std::string &path) {
    const std::string file_name = path.substr(path.rfind('/') + 1);
    std::ifstream file(path);
    if (!file) {
        throw Fault(path + " can't be opened");
    }
    std::cout << "file " << file_name << '\n';
    std::optional<Script> script;
    std::string line;
    for (long line_number = 1; std::getline(file, line); ++line_number) {
        std::istringstream stream(line);
        Words words;
        for (std::string word; stream >> word;) {
            words.push_back(word);
        }
        if (words.empty() || words[0][0] == '#') {
            continue;
        }
        try {
            if (words[0] == "script") {
                script.emplace();
                std::cout << "script " << words.at(1) << '\n';
            } else {
                std::cout << line_number << ' ' << script.value().run(words) << '\n';
                for (const std::string &said : script.value().ended()) {
                    std::cout << line_number << ' ' << said << '\n';
                }
            }
        } catch (const std::exception &fault) {
            throw Fault(file_name + ":" + std::to_string(line_number) + ": " + fault.what());
        }
    }
}

}  // namespace

int main(int count, char **paths) {
    std::ios::sync_with_stdio(false);
    try {
        for (int i = 1; i < count; ++i) {
            run_file(paths[i]);
        }
    } catch (const std::exception &fault) {
        std::cout.flush();
        std::cerr << fault.what() << '\n';
        return 2;
    }
    return 0;
}
