/* What most tests begin with: a manual clock, and limiters on it. */

#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdlib.h>

#include "check.h"
#include "tidegate.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static inline tidegate_clock *manual_clock(void) {
    tidegate_clock *clock = NULL;
    CHECK_EQUAL(tidegate_clock_manual_new(&clock), TIDEGATE_OK);
    return clock;
}

/* A limiter from text, on the monotonic clock if `clock` is NULL. If it can't be, shows why and ends the program. */
static inline tidegate_rate_limiter *rate_limiter(const char *quotas, const tidegate_clock *clock) {
    tidegate_rate_limiter_options options = {.struct_size = sizeof options, .clock = clock};
    tidegate_rate_limiter *limiter = NULL;
    char error[TIDEGATE_ERROR_SIZE];
    if (tidegate_rate_limiter_parse(quotas, strlen(quotas), &options, &limiter, error, sizeof error) != TIDEGATE_OK) {
        printf("%s: %s\n", quotas, error);
        exit(1);
    }
    return limiter;
}

static inline tidegate_concurrency_limiter *concurrency_limiter(uint64_t limit, uint32_t flags,
                                                                const tidegate_clock *clock) {
    tidegate_concurrency_limiter_options options = {
        .struct_size = sizeof options, .flags = flags, .limit = limit, .clock = clock};
    tidegate_concurrency_limiter *limiter = NULL;
    char error[TIDEGATE_ERROR_SIZE];
    if (tidegate_concurrency_limiter_new(&options, &limiter, error, sizeof error) != TIDEGATE_OK) {
        printf("concurrency limiter: %s\n", error);
        exit(1);
    }
    return limiter;
}

/* How many of `calls` calls are allowed. */
static inline uint64_t admitted(const tidegate_rate_limiter *limiter, uint64_t calls) {
    uint64_t allowed = 0;
    for (uint64_t i = 0; i < calls; i++) {
        allowed += tidegate_rate_limiter_try_acquire(limiter, 1) == TIDEGATE_ALLOWED;
    }
    return allowed;
}

/* What peek says. */
static inline tidegate_decision peeked(const tidegate_rate_limiter *limiter) {
    tidegate_decision decision = {0};
    CHECK(tidegate_rate_limiter_peek(limiter, 1, &decision) >= 0);
    return decision;
}

#endif /* FIXTURE_H */
