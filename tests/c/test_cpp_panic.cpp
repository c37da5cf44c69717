// A fault inside the library reaches C++ as a status, or as an Error where texts are read. Linked with the test-panic
// build of the library.

#include <cstring>
#include <string>

#include "check.h"
#include "tidegate.hpp"

namespace {

constexpr std::uint64_t panic_cost = 666666666;

void a_panic_of_a_call_is_a_status() {
    tidegate::RateLimiter limiter("5/h");
    tidegate::ConcurrencyLimiter gate(1);
    CHECK(limiter.try_acquire(panic_cost).status() == tidegate::Status::panic);
    CHECK(limiter.decide(panic_cost).status() == tidegate::Status::panic);
    CHECK(gate.try_acquire(panic_cost).status() == tidegate::Status::panic);
    CHECK(limiter.try_acquire(5));
    CHECK(gate.try_acquire());
    CHECK(gate.in_flight() == 0);
}

void a_panic_while_a_text_is_read_is_an_error() {
    bool thrown = false;
    try {
        tidegate::RateLimiter limiter("test-panic");
    } catch (const tidegate::Error &error) {
        thrown = true;
        CHECK(error.status() == tidegate::Status::panic);
        CHECK(std::strstr(error.what(), "a panic that was asked for") != nullptr);
    }
    CHECK(thrown);
    tidegate::Mistake mistake;
    CHECK(!tidegate::RateLimiter::make("test-panic", mistake));
    CHECK(mistake.status() == tidegate::Status::panic);
    CHECK(tidegate::RateLimiter::make("5/h", mistake).has_value());
}

}  // namespace

int main() {
    RUN(a_panic_of_a_call_is_a_status);
    RUN(a_panic_while_a_text_is_read_is_an_error);
    return finish();
}
