// A second translation unit with the header: what both have must be one.

#include "tidegate_gate.hpp"

bool second_unit_takes_one(const tidegate::RateLimiter &limiter) {
    return static_cast<bool>(limiter.try_acquire());
}

tidegate::Permit second_unit_lends(const tidegate::ConcurrencyLimiter &limiter) {
    return limiter.try_acquire();
}

const void *second_unit_address_of_never() {
    return &tidegate::never;
}
