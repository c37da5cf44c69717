/* Waiting with wrong pointers, numbers, flags and tickets: each gives its status, no output is written, nobody is called. */

#include "waiting_fixture.h"

static union {
    unsigned char bytes[256];
    uint64_t number;
    tidegate_permit permit;
    tidegate_reservation reservation;
    tidegate_rate_limiter *rate;
    tidegate_concurrency_limiter *concurrency;
} out;

static bool output_is_untouched(void) {
    for (size_t i = 0; i < sizeof out; i++) {
        if (out.bytes[i] != 0xAB) {
            return false;
        }
    }
    return true;
}

/* The call refuses with the status, and writes no output. */
#define REFUSED(call, status)                                                                                          \
    do {                                                                                                               \
        memset(&out, 0xAB, sizeof out);                                                                                \
        CHECK_EQUAL(call, status);                                                                                     \
        CHECK(output_is_untouched());                                                                                  \
    } while (0)

/* The call refuses `bad` where it stands, once NULL and once an address that is not aligned. */
#define REFUSES_BAD(call)                                                                                              \
    do {                                                                                                               \
        void *bad = NULL;                                                                                              \
        REFUSED(call, TIDEGATE_ERROR_NULL_POINTER);                                                                    \
        bad = out.bytes + 1;                                                                                           \
        REFUSED(call, TIDEGATE_ERROR_MEMORY);                                                                          \
    } while (0)

static void never_called(void *user_data, int32_t status, const tidegate_permit *permit) {
    (void)user_data, (void)status, (void)permit;
    CHECK(!"called");
}

static void pointers_that_are_null_or_out_of_line_are_errors(void) {
    tidegate_rate_limiter *rate = rate_limiter("5/h", NULL);
    tidegate_concurrency_limiter *permits = concurrency_limiter(1, 0, NULL);
    uint64_t *number = &out.number;
    REFUSES_BAD(tidegate_rate_limiter_acquire(bad, 1, 0));
    REFUSES_BAD(tidegate_rate_limiter_acquire_async(bad, 1, 0, never_called, NULL, number, number));
    REFUSES_BAD(tidegate_rate_limiter_acquire_async(rate, 1, 0, never_called, NULL, bad, number));
    REFUSES_BAD(tidegate_rate_limiter_acquire_async(rate, 1, 0, never_called, NULL, number, bad));
    REFUSED(tidegate_rate_limiter_acquire_async(rate, 1, 0, NULL, NULL, number, number), TIDEGATE_ERROR_NULL_POINTER);
    REFUSES_BAD(tidegate_rate_limiter_poll(bad, 1, number));
    REFUSES_BAD(tidegate_rate_limiter_poll(rate, 1, bad));
    REFUSES_BAD(tidegate_rate_limiter_cancel(bad, 1));
    REFUSES_BAD(tidegate_rate_limiter_waiting(bad, number));
    REFUSES_BAD(tidegate_rate_limiter_waiting(rate, bad));
    REFUSES_BAD(tidegate_rate_limiter_reserve(bad, 1, 0, &out.reservation));
    REFUSES_BAD(tidegate_rate_limiter_reserve(rate, 1, 0, bad));
    REFUSES_BAD(tidegate_rate_limiter_cancel_reservation(bad, &out.reservation));
    REFUSES_BAD(tidegate_rate_limiter_cancel_reservation(rate, bad));
    REFUSES_BAD(tidegate_concurrency_limiter_acquire(bad, 1, 0, &out.permit));
    REFUSES_BAD(tidegate_concurrency_limiter_acquire(permits, 1, 0, bad));
    REFUSES_BAD(
        tidegate_concurrency_limiter_acquire_async(bad, 1, 0, never_called, NULL, &out.permit, number, number));
    REFUSES_BAD(tidegate_concurrency_limiter_acquire_async(permits, 1, 0, never_called, NULL, bad, number, number));
    REFUSES_BAD(
        tidegate_concurrency_limiter_acquire_async(permits, 1, 0, never_called, NULL, &out.permit, bad, number));
    REFUSES_BAD(
        tidegate_concurrency_limiter_acquire_async(permits, 1, 0, never_called, NULL, &out.permit, number, bad));
    REFUSED(tidegate_concurrency_limiter_acquire_async(permits, 1, 0, NULL, NULL, &out.permit, number, number),
            TIDEGATE_ERROR_NULL_POINTER);
    REFUSES_BAD(tidegate_concurrency_limiter_poll(bad, 1, number));
    REFUSES_BAD(tidegate_concurrency_limiter_poll(permits, 1, bad));
    REFUSES_BAD(tidegate_concurrency_limiter_cancel(bad, 1));
    REFUSES_BAD(tidegate_concurrency_limiter_waiting(bad, number));
    REFUSES_BAD(tidegate_concurrency_limiter_waiting(permits, bad));
    REFUSES_BAD(tidegate_concurrency_limiter_close(bad));

    /* Nothing was spent or lent by any of these. */
    CHECK_EQUAL(peeked(rate).remaining, 5);
    tidegate_rate_limiter_free(rate);
    finish_permits(permits);
}

static void costs_outside_their_range_are_errors(void) {
    tidegate_rate_limiter *rate = rate_limiter("5/h", NULL);
    tidegate_concurrency_limiter *permits = concurrency_limiter(1, 0, NULL);
    const uint64_t costs[] = {0, TIDEGATE_MAX_COST + UINT64_C(1), UINT64_MAX};
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++) {
        uint64_t cost = costs[i], *number = &out.number;
        REFUSED(tidegate_rate_limiter_acquire(rate, cost, UINT64_MAX), TIDEGATE_ERROR_COST);
        REFUSED(tidegate_rate_limiter_acquire_async(rate, cost, UINT64_MAX, never_called, NULL, number, number),
                TIDEGATE_ERROR_COST);
        REFUSED(tidegate_rate_limiter_reserve(rate, cost, UINT64_MAX, &out.reservation), TIDEGATE_ERROR_COST);
        REFUSED(tidegate_concurrency_limiter_acquire(permits, cost, UINT64_MAX, &out.permit), TIDEGATE_ERROR_COST);
        REFUSED(tidegate_concurrency_limiter_acquire_async(permits, cost, UINT64_MAX, never_called, NULL, &out.permit,
                                                           number, number),
                TIDEGATE_ERROR_COST);
    }
    CHECK_EQUAL(peeked(rate).remaining, 5);
    tidegate_rate_limiter_free(rate);
    finish_permits(permits);
}

static void tickets_that_nobody_has_are_errors_and_those_of_the_past_are_over(void) {
    tidegate_rate_limiter *rate = rate_limiter("5/h", NULL);
    tidegate_concurrency_limiter *permits = concurrency_limiter(1, 0, NULL);
    const uint64_t tickets[] = {0, 1, UINT64_C(7) << 32, UINT64_MAX};
    for (size_t i = 0; i < sizeof tickets / sizeof tickets[0]; i++) {
        REFUSED(tidegate_rate_limiter_poll(rate, tickets[i], &out.number), TIDEGATE_ERROR_TICKET);
        REFUSED(tidegate_rate_limiter_cancel(rate, tickets[i]), TIDEGATE_ERROR_TICKET);
        REFUSED(tidegate_concurrency_limiter_poll(permits, tickets[i], &out.number), TIDEGATE_ERROR_TICKET);
        REFUSED(tidegate_concurrency_limiter_cancel(permits, tickets[i]), TIDEGATE_ERROR_TICKET);
    }
    tidegate_permit held = hold(permits, 1);
    Wait past, present;
    uint64_t wake_after_ns = 0;
    CHECK_EQUAL(wait_for_permits(permits, &past, 'p', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_concurrency_limiter_cancel(permits, past.ticket), TIDEGATE_OK);
    CHECK_EQUAL(wait_for_permits(permits, &present, 'q', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_concurrency_limiter_cancel(permits, past.ticket), TIDEGATE_TOO_LATE);
    CHECK_EQUAL(tidegate_concurrency_limiter_poll(permits, past.ticket, &wake_after_ns), TIDEGATE_OK);
    CHECK(wake_after_ns == TIDEGATE_NEVER_NS);
    CHECK_TOLD("p cancelled");
    release(permits, &held);
    CHECK_TOLD("q allowed");
    release(permits, &present.permit);
    tidegate_rate_limiter_free(rate);
    finish_permits(permits);
}

static void max_waiters_goes_with_its_flag_and_has_a_largest(void) {
    char error[TIDEGATE_ERROR_SIZE];
    tidegate_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = 1};
    tidegate_rate_limiter_options rate_options = {.struct_size = sizeof rate_options};
    options.max_waiters = rate_options.max_waiters = TIDEGATE_MAX_WAITERS + UINT64_C(1);
    REFUSED(tidegate_concurrency_limiter_new(&options, &out.concurrency, error, sizeof error), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "max_waiters: got 4294967295; allowed: 0 to 4294967294");
    REFUSED(tidegate_rate_limiter_parse("1/s", 3, &rate_options, &out.rate, error, sizeof error),
            TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "max_waiters: got 4294967295; allowed: 0 to 4294967294");

    options.max_waiters = rate_options.max_waiters = 5;
    options.flags = TIDEGATE_CONCURRENCY_NO_WAITERS;
    rate_options.flags = TIDEGATE_RATE_NO_WAITERS;
    REFUSED(tidegate_concurrency_limiter_new(&options, &out.concurrency, error, sizeof error), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "max_waiters: got 5 with the flag TIDEGATE_CONCURRENCY_NO_WAITERS; "
                      "allowed: 0 to 4294967294, and 0 with the flag");
    REFUSED(tidegate_rate_limiter_parse("1/s", 3, &rate_options, &out.rate, error, sizeof error),
            TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "max_waiters: got 5 with the flag TIDEGATE_RATE_NO_WAITERS; "
                      "allowed: 0 to 4294967294, and 0 with the flag");

    options.flags = rate_options.flags = 0;
    options.max_waiters = rate_options.max_waiters = TIDEGATE_MAX_WAITERS;
    CHECK_EQUAL(tidegate_concurrency_limiter_new(&options, &out.concurrency, NULL, 0), TIDEGATE_OK);
    tidegate_concurrency_limiter_free(out.concurrency);
    CHECK_EQUAL(tidegate_rate_limiter_parse("1/s", 3, &rate_options, &out.rate, NULL, 0), TIDEGATE_OK);
    tidegate_rate_limiter_free(out.rate);
}

int main(void) {
    RUN(pointers_that_are_null_or_out_of_line_are_errors);
    RUN(costs_outside_their_range_are_errors);
    RUN(tickets_that_nobody_has_are_errors_and_those_of_the_past_are_over);
    RUN(max_waiters_goes_with_its_flag_and_has_a_largest);
    return finish();
}
