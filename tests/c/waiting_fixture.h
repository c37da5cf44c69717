/* What tests of waiting share: waits with names, and what they were told, in order. */

#ifndef WAITING_FIXTURE_H
#define WAITING_FIXTURE_H

#include "fixture.h"

/* A wait without a thread. It must stay where it is until it is over. */
typedef struct {
    char name;
    /* How often it was told that it is over, and of what; and to poll again. */
    int ends;
    int32_t status;
    int polls_asked;
    uint64_t ticket;
    uint64_t wake_after_ns;
    tidegate_permit permit;
} Wait;

/* The ends of waits since last asked, such as "a allowed, b closed". */
static char told_text[512];

static inline void tell(void *user_data, int32_t status, const tidegate_permit *permit) {
    Wait *wait = user_data;
    if (status == TIDEGATE_POLL_AGAIN) {
        wait->polls_asked++;
        CHECK(permit == NULL);
        return;
    }
    wait->ends++;
    wait->status = status;
    if (permit != NULL) {
        CHECK_EQUAL(status, TIDEGATE_ALLOWED);
        wait->permit = *permit;
    }
    size_t length = strlen(told_text);
    snprintf(told_text + length, sizeof told_text - length, "%s%c %s", length == 0 ? "" : ", ", wait->name,
             tidegate_status_name(status));
}

/* The next that waits are told is this. */
#define CHECK_TOLD(wanted)                                                                                             \
    do {                                                                                                               \
        CHECK_TEXT(told_text, wanted);                                                                                 \
        told_text[0] = '\0';                                                                                           \
    } while (0)

/* Begins to wait for permits, or takes them. */
static inline int32_t wait_for_permits(const tidegate_concurrency_limiter *limiter, Wait *wait, char name,
                                       uint64_t permits, uint64_t timeout_ns) {
    *wait = (Wait){.name = name};
    return tidegate_concurrency_limiter_acquire_async(limiter, permits, timeout_ns, tell, wait, &wait->permit,
                                                      &wait->ticket, &wait->wake_after_ns);
}

/* Begins to wait for tokens, or takes them. */
static inline int32_t wait_for_tokens(const tidegate_rate_limiter *limiter, Wait *wait, char name, uint64_t cost,
                                      uint64_t timeout_ns) {
    *wait = (Wait){.name = name};
    return tidegate_rate_limiter_acquire_async(limiter, cost, timeout_ns, tell, wait, &wait->ticket,
                                               &wait->wake_after_ns);
}

/* A permit that is taken at once. */
static inline tidegate_permit hold(const tidegate_concurrency_limiter *limiter, uint64_t permits) {
    tidegate_permit permit = {0};
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, permits, &permit), TIDEGATE_ALLOWED);
    return permit;
}

static inline void release(const tidegate_concurrency_limiter *limiter, tidegate_permit *permit) {
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, permit, 1), TIDEGATE_OK);
}

static inline tidegate_stats permit_stats(const tidegate_concurrency_limiter *limiter) {
    tidegate_stats stats = {0};
    CHECK_EQUAL(tidegate_concurrency_limiter_stats(limiter, &stats), TIDEGATE_OK);
    return stats;
}

static inline tidegate_stats token_stats(const tidegate_rate_limiter *limiter) {
    tidegate_stats stats = {0};
    CHECK_EQUAL(tidegate_rate_limiter_stats(limiter, &stats), TIDEGATE_OK);
    return stats;
}

/* Nobody waits and nothing is out; then the limiter is freed. */
static inline void finish_permits(tidegate_concurrency_limiter *limiter) {
    tidegate_stats stats = permit_stats(limiter);
    CHECK_EQUAL(stats.in_flight, 0);
    CHECK_EQUAL(stats.waiting, 0);
    CHECK_EQUAL(stats.available, stats.limit);
    tidegate_concurrency_limiter_free(limiter);
}

#endif /* WAITING_FIXTURE_H */
