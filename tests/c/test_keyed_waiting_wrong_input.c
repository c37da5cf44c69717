/* Waiting with keys, with wrong pointers, keys, numbers, flags and tickets: each gives its status, no output is written, nobody is
 * called. */

#include "keyed_fixture.h"

#define NEVER TIDEGATE_NEVER_NS

static union {
    unsigned char bytes[256];
    uint64_t number;
    tidegate_keyed_permit permit;
    tidegate_keyed_rate_limiter *rate;
    tidegate_keyed_concurrency_limiter *concurrency;
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

static void never_called_for_permits(void *user_data, int32_t status, const tidegate_keyed_permit *permit) {
    (void)user_data, (void)status, (void)permit;
    CHECK(!"called");
}

/* The key of most calls, as its two arguments. */
#define ANN "ann", 3

static int32_t begin_tokens(const void *limiter, const void *key, size_t key_size, uint64_t cost,
                            tidegate_wait_callback callback, void *ticket, void *wake_after_ns) {
    return tidegate_keyed_rate_limiter_acquire_async(limiter, key, key_size, cost, NEVER, callback, NULL, ticket,
                                                     wake_after_ns);
}

static int32_t begin_permits(const void *limiter, const void *key, size_t key_size, uint64_t permits,
                             tidegate_keyed_wait_callback callback, void *permit, void *ticket, void *wake_after_ns) {
    return tidegate_keyed_concurrency_limiter_acquire_async(limiter, key, key_size, permits, NEVER, callback, NULL,
                                                            permit, ticket, wake_after_ns);
}

static void wrong_input_is_refused_and_changes_nothing(void) {
    tidegate_keyed_rate_limiter *rate = keyed_rate_limiter("5/h", 10, 0, NULL);
    tidegate_keyed_concurrency_limiter *lender = keyed_concurrency_limiter(1, 10);
    uint64_t *number = &out.number;
    tidegate_keyed_permit *permit = &out.permit;
    REFUSES_BAD(tidegate_keyed_rate_limiter_acquire(bad, ANN, 1, 0));
    REFUSES_BAD(begin_tokens(bad, ANN, 1, never_called, number, number));
    REFUSES_BAD(begin_tokens(rate, ANN, 1, never_called, bad, number));
    REFUSES_BAD(begin_tokens(rate, ANN, 1, never_called, number, bad));
    REFUSED(begin_tokens(rate, ANN, 1, NULL, number, number), TIDEGATE_ERROR_NULL_POINTER);
    REFUSES_BAD(tidegate_keyed_rate_limiter_poll(bad, 1, number));
    REFUSES_BAD(tidegate_keyed_rate_limiter_poll(rate, 1, bad));
    REFUSES_BAD(tidegate_keyed_rate_limiter_cancel(bad, 1));
    REFUSES_BAD(tidegate_keyed_rate_limiter_waiting(bad, ANN, number));
    REFUSES_BAD(tidegate_keyed_rate_limiter_waiting(rate, ANN, bad));
    REFUSES_BAD(tidegate_keyed_concurrency_limiter_acquire(bad, ANN, 1, 0, permit));
    REFUSES_BAD(tidegate_keyed_concurrency_limiter_acquire(lender, ANN, 1, 0, bad));
    REFUSES_BAD(begin_permits(bad, ANN, 1, never_called_for_permits, permit, number, number));
    REFUSES_BAD(begin_permits(lender, ANN, 1, never_called_for_permits, bad, number, number));
    REFUSES_BAD(begin_permits(lender, ANN, 1, never_called_for_permits, permit, bad, number));
    REFUSES_BAD(begin_permits(lender, ANN, 1, never_called_for_permits, permit, number, bad));
    REFUSED(begin_permits(lender, ANN, 1, NULL, permit, number, number), TIDEGATE_ERROR_NULL_POINTER);
    REFUSES_BAD(tidegate_keyed_concurrency_limiter_poll(bad, 1, number));
    REFUSES_BAD(tidegate_keyed_concurrency_limiter_poll(lender, 1, bad));
    REFUSES_BAD(tidegate_keyed_concurrency_limiter_cancel(bad, 1));
    REFUSES_BAD(tidegate_keyed_concurrency_limiter_waiting(bad, ANN, number));
    REFUSES_BAD(tidegate_keyed_concurrency_limiter_waiting(lender, ANN, bad));
    REFUSES_BAD(tidegate_keyed_concurrency_limiter_close(bad));

    const int32_t no_key = TIDEGATE_ERROR_KEY;
    REFUSED(tidegate_keyed_rate_limiter_acquire(rate, NULL, 1, 1, 0), no_key);
    REFUSED(begin_tokens(rate, NULL, 1, 1, never_called, number, number), no_key);
    REFUSED(tidegate_keyed_rate_limiter_waiting(rate, NULL, 1, number), no_key);
    REFUSED(tidegate_keyed_concurrency_limiter_acquire(lender, NULL, 1, 1, 0, permit), no_key);
    REFUSED(begin_permits(lender, NULL, 1, 1, never_called_for_permits, permit, number, number), no_key);
    REFUSED(tidegate_keyed_concurrency_limiter_waiting(lender, NULL, 1, number), no_key);

    const uint64_t costs[] = {0, TIDEGATE_MAX_COST + UINT64_C(1), UINT64_MAX};
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++) {
        REFUSED(tidegate_keyed_rate_limiter_acquire(rate, ANN, costs[i], NEVER), TIDEGATE_ERROR_COST);
        REFUSED(begin_tokens(rate, ANN, costs[i], never_called, number, number), TIDEGATE_ERROR_COST);
        REFUSED(tidegate_keyed_concurrency_limiter_acquire(lender, ANN, costs[i], NEVER, permit), TIDEGATE_ERROR_COST);
        REFUSED(begin_permits(lender, ANN, costs[i], never_called_for_permits, permit, number, number), TIDEGATE_ERROR_COST);
    }
    const uint64_t tickets[] = {0, 1, UINT64_C(7) << 32, UINT64_MAX};
    for (size_t i = 0; i < sizeof tickets / sizeof tickets[0]; i++) {
        REFUSED(tidegate_keyed_rate_limiter_poll(rate, tickets[i], number), TIDEGATE_ERROR_TICKET);
        REFUSED(tidegate_keyed_rate_limiter_cancel(rate, tickets[i]), TIDEGATE_ERROR_TICKET);
        REFUSED(tidegate_keyed_concurrency_limiter_poll(lender, tickets[i], number), TIDEGATE_ERROR_TICKET);
        REFUSED(tidegate_keyed_concurrency_limiter_cancel(lender, tickets[i]), TIDEGATE_ERROR_TICKET);
    }
    CHECK_EQUAL(remaining(rate, "ann"), 5);
    tidegate_keyed_rate_limiter_free(rate);
    CHECK_EQUAL(out_of(lender, "ann"), 0);
    tidegate_keyed_concurrency_limiter_free(lender);
}

static void max_waiters_goes_with_its_flag_and_has_a_largest(void) {
    char error[TIDEGATE_ERROR_SIZE];
    tidegate_keyed_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = 1, .max_keys = 10};
    tidegate_keyed_rate_limiter_options rate_options = {.struct_size = sizeof rate_options, .max_keys = 10};
    options.max_waiters = rate_options.max_waiters = TIDEGATE_MAX_WAITERS + UINT64_C(1);
    REFUSED(tidegate_keyed_concurrency_limiter_new(&options, &out.concurrency, error, sizeof error),
            TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "max_waiters: got 4294967295; allowed: 0 to 4294967294");
    REFUSED(tidegate_keyed_rate_limiter_parse("1/s", 3, &rate_options, &out.rate, error, sizeof error),
            TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "max_waiters: got 4294967295; allowed: 0 to 4294967294");

    options.max_waiters = rate_options.max_waiters = 5;
    options.flags = TIDEGATE_CONCURRENCY_NO_WAITERS;
    rate_options.flags = TIDEGATE_RATE_NO_WAITERS;
    REFUSED(tidegate_keyed_concurrency_limiter_new(&options, &out.concurrency, error, sizeof error),
            TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "max_waiters: got 5 with the flag TIDEGATE_CONCURRENCY_NO_WAITERS; "
                      "allowed: 0 to 4294967294, and 0 with the flag");
    REFUSED(tidegate_keyed_rate_limiter_parse("1/s", 3, &rate_options, &out.rate, error, sizeof error),
            TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "max_waiters: got 5 with the flag TIDEGATE_RATE_NO_WAITERS; "
                      "allowed: 0 to 4294967294, and 0 with the flag");
}

int main(void) {
    RUN(wrong_input_is_refused_and_changes_nothing);
    RUN(max_waiters_goes_with_its_flag_and_has_a_largest);
    return finish();
}
