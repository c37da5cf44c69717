/* Keyed limiters for tests. */

#ifndef KEYED_FIXTURE_H
#define KEYED_FIXTURE_H

#include "fixture.h"

/* A text as the two arguments of a key. */
#define KEY(text) (text), strlen(text)

static inline tidegate_keyed_rate_limiter *keyed_rate_limiter(const char *quotas, uint64_t max_keys, uint32_t when_full,
                                                              const tidegate_clock *clock) {
    tidegate_keyed_rate_limiter_options options = {
        .struct_size = sizeof options, .max_keys = max_keys, .when_full = when_full, .clock = clock};
    tidegate_keyed_rate_limiter *limiter = NULL;
    char error[TIDEGATE_ERROR_SIZE];
    if (tidegate_keyed_rate_limiter_parse(quotas, strlen(quotas), &options, &limiter, error, sizeof error) !=
        TIDEGATE_OK) {
        printf("%s: %s\n", quotas, error);
        exit(1);
    }
    return limiter;
}

static inline tidegate_keyed_concurrency_limiter *keyed_concurrency_limiter(uint64_t limit, uint64_t max_keys) {
    tidegate_keyed_concurrency_limiter_options options = {
        .struct_size = sizeof options, .limit = limit, .max_keys = max_keys};
    tidegate_keyed_concurrency_limiter *limiter = NULL;
    char error[TIDEGATE_ERROR_SIZE];
    if (tidegate_keyed_concurrency_limiter_new(&options, &limiter, error, sizeof error) != TIDEGATE_OK) {
        printf("keyed concurrency limiter: %s\n", error);
        exit(1);
    }
    return limiter;
}

/* What is unspent of a key. */
static inline uint64_t remaining(const tidegate_keyed_rate_limiter *limiter, const char *key) {
    tidegate_decision decision = {0};
    CHECK(tidegate_keyed_rate_limiter_peek(limiter, KEY(key), 1, &decision) >= 0);
    return decision.remaining;
}

/* How many permits of a key are out. */
static inline uint64_t out_of(const tidegate_keyed_concurrency_limiter *limiter, const char *key) {
    uint64_t in_flight = UINT64_MAX;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_in_flight(limiter, KEY(key), &in_flight), TIDEGATE_OK);
    return in_flight;
}

#endif /* KEYED_FIXTURE_H */
