// tidegate at work in C++: a handler that lets four in at once, a counter of visits, and ten threads that race for the
// tokens of one window. The last line, `DEMO {...}`, gives what was seen; run.py judges it.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "tidegate.hpp"

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr int callers = 10;
constexpr std::uint64_t at_once = 4;
constexpr auto handling = 200ms;
constexpr auto race_time = 3500ms;
constexpr std::uint64_t race_limit = 5000000;
// 3.5 s of calls see the windows that open at 0, 1, 2 and 3 s.
constexpr std::uint64_t race_windows = 4;

struct Told {
    std::uint64_t allowed = 0;
    std::uint64_t refused = 0;
};

// Runs ten threads at once and adds up what they were told.
template <class Call>
Told together(Call call) {
    std::atomic<int> here{0};
    std::vector<Told> told(callers);
    std::vector<std::thread> threads;
    for (Told &mine : told) {
        threads.emplace_back([&] {
            ++here;
            while (here < callers) {
                std::this_thread::yield();
            }
            mine = call();
        });
    }
    Told all;
    for (int i = 0; i < callers; ++i) {
        threads[i].join();
        all.allowed += told[i].allowed;
        all.refused += told[i].refused;
    }
    return all;
}

Told visit_limited(const tidegate::ConcurrencyLimiter &gate) {
    if (tidegate::Permit permit = gate.try_acquire()) {
        std::this_thread::sleep_for(handling);
        return {1, 0};
    }
    return {0, 1};
}

Told visit_unlimited() {
    std::this_thread::sleep_for(handling);
    return {1, 0};
}

Told race(const tidegate::RateLimiter &limiter) {
    Told told;
    const auto end = SteadyClock::now() + race_time;
    while (SteadyClock::now() < end) {
        for (int i = 0; i < 1000; ++i) {
            ++(limiter.try_acquire() ? told.allowed : told.refused);
        }
    }
    return told;
}

struct Visits {
    std::string told;
    bool named_a_wait = false;
};

// Four visits, and one more when the window is over.
Visits visit_often() {
    tidegate::RateLimiter limiter("3/2s fixed_window");
    Visits visits;
    std::chrono::nanoseconds wait{0};
    for (int visit = 1; visit <= 5; ++visit) {
        if (visit == 5) {
            // The limiter's clock may be parts per million slower than the one that sleeps.
            std::this_thread::sleep_for(wait + 5ms);
        }
        const tidegate::Decision decision = limiter.decide();
        visits.told += (visit == 1 ? "" : " ") + std::string(decision ? "200" : "429");
        wait = decision.retry_after();
        const std::uint64_t seconds = decision.retry_after_seconds().value_or(0);
        visits.named_a_wait = visits.named_a_wait || seconds == 1 || seconds == 2;
    }
    return visits;
}

int run() {
    std::cout << std::boolalpha << std::fixed;
    tidegate::ConcurrencyLimiter gate(at_once);
    const Told limited = together([&] { return visit_limited(gate); });
    std::cout << "limit: ten callers at once on " << at_once << " permits: " << limited.allowed << " let in, "
              << limited.refused << " refused\n";
    const Told unlimited = together(visit_unlimited);
    std::cout << "nolimit: ten callers at once: " << unlimited.allowed << " let in\n";
    const Visits visits = visit_often();
    std::cout << "visit: three per 2 s, four visits, and one when the window is over: " << visits.told << std::endl;

    tidegate::RateLimiter limiter(tidegate::Quota(race_limit, 1s).with_algorithm(tidegate::Algorithm::fixed_window));
    const auto begun = SteadyClock::now();
    const Told raced = together([&] { return race(limiter); });
    const std::chrono::duration<double> seconds = SteadyClock::now() - begun;
    const double calls_per_s = static_cast<double>(raced.allowed + raced.refused) / seconds.count();
    std::cout << std::setprecision(1) << "race: " << callers << " threads for "
              << std::chrono::duration<double>(race_time).count() << " s on " << race_limit
              << " a second: " << raced.allowed << " admitted, " << raced.refused << " refused, " << calls_per_s / 1e6
              << " million calls a second\n";

    const bool ok = limited.allowed == at_once && limited.refused == callers - at_once && visits.named_a_wait &&
                    unlimited.allowed == callers && visits.told == "200 200 200 429 200" &&
                    raced.allowed == race_windows * race_limit && raced.refused > 0;
    std::cout << std::setprecision(0) << R"(DEMO {"language": "cpp", "limit_ok": )" << limited.allowed
              << R"(, "limit_refused": )" << limited.refused << R"(, "retry_after": )" << visits.named_a_wait
              << R"(, "nolimit_ok": )" << unlimited.allowed << R"(, "visit": ")" << visits.told
              << R"(", "race_limit": )" << race_limit << R"(, "race_admitted": )" << raced.allowed
              << R"(, "race_refused": )" << raced.refused << R"(, "race_calls_per_s": )" << calls_per_s << R"(, "ok": )"
              << ok << "}\n";
    return ok ? 0 : 1;
}

}  // namespace

int main() {
    try {
        return run();
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
