/* Pointers, keys and options that are wrong: each gives its status, and no output is written. */

#include "keyed_fixture.h"

/* An address that is not aligned for what it is said to hold. */
#define ASKEW(pointer) ((void *)((char *)(uintptr_t)(pointer) + 1))

static char error_text[TIDEGATE_ERROR_SIZE];

/* What outputs hold before a call that must not write them. */
static union {
    unsigned char bytes[4096];
    uint64_t aligned;
    int32_t statuses[8];
    tidegate_decision decision;
    tidegate_keyed_permit permit;
    tidegate_stats stats;
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
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

/* All calls that take a key, with one limiter of each kind. */
static void refuse_all(const tidegate_keyed_rate_limiter *rate, const tidegate_keyed_concurrency_limiter *concurrency,
                       const void *key, size_t size, int32_t status) {
    tidegate_decision decision = {.cost = 1};
    tidegate_key keys[] = {{"ann", 3}, {key, size}};
    REFUSED(tidegate_keyed_rate_limiter_try_acquire(rate, key, size, 1), status);
    REFUSED(tidegate_keyed_rate_limiter_try_acquire_many(rate, keys, 2, 1, out.statuses), status);
    REFUSED(tidegate_keyed_rate_limiter_decide(rate, key, size, 1, &out.decision), status);
    REFUSED(tidegate_keyed_rate_limiter_peek(rate, key, size, 1, &out.decision), status);
    REFUSED(tidegate_keyed_rate_limiter_refund(rate, key, size, &decision), status);
    REFUSED(tidegate_keyed_rate_limiter_reset(rate, key, size), status);
    REFUSED(tidegate_keyed_concurrency_limiter_try_acquire(concurrency, key, size, 1, &out.permit), status);
    REFUSED(tidegate_keyed_concurrency_limiter_in_flight(concurrency, key, size, &out.aligned), status);
    REFUSED(tidegate_keyed_concurrency_limiter_available(concurrency, key, size, &out.aligned), status);
}

static void wrong_keys_are_errors_of_their_own(void) {
    tidegate_keyed_rate_limiter *rate = keyed_rate_limiter("5/h", 10, 0, NULL);
    tidegate_keyed_concurrency_limiter *concurrency = keyed_concurrency_limiter(1, 10);
    refuse_all(rate, concurrency, NULL, 1, TIDEGATE_ERROR_KEY);
    refuse_all(rate, concurrency, NULL, SIZE_MAX, TIDEGATE_ERROR_KEY);
    refuse_all(rate, concurrency, "ann", SIZE_MAX, TIDEGATE_ERROR_MEMORY);
    CHECK_EQUAL(remaining(rate, "ann"), 5);
    tidegate_keyed_concurrency_limiter_free(concurrency);
    tidegate_keyed_rate_limiter_free(rate);
}

static void null_and_askew_handles_are_errors(void) {
    tidegate_quota quota = {.struct_size = sizeof quota, .limit = 1, .period_ns = 1};
    size_t count = 0;
    tidegate_keyed_permit permit = {0};
    refuse_all(NULL, NULL, "ann", 3, TIDEGATE_ERROR_NULL_POINTER);
    refuse_all(ASKEW(&out), ASKEW(&out), "ann", 3, TIDEGATE_ERROR_MEMORY);
    REFUSED(tidegate_keyed_rate_limiter_reconfigure(NULL, &quota, 1, NULL, 0), TIDEGATE_ERROR_NULL_POINTER);
    REFUSED(tidegate_keyed_rate_limiter_reconfigure_text(NULL, "1/s", 3, NULL, 0), TIDEGATE_ERROR_NULL_POINTER);
    REFUSED(tidegate_keyed_rate_limiter_quotas(NULL, out.quotas, TIDEGATE_MAX_QUOTAS, &count),
            TIDEGATE_ERROR_NULL_POINTER);
    REFUSED(tidegate_keyed_rate_limiter_stats(NULL, &out.stats), TIDEGATE_ERROR_NULL_POINTER);
    REFUSED(tidegate_keyed_rate_limiter_len(NULL, &out.aligned), TIDEGATE_ERROR_NULL_POINTER);
    REFUSED(tidegate_keyed_rate_limiter_capacity(NULL, &out.aligned), TIDEGATE_ERROR_NULL_POINTER);
    REFUSED(tidegate_keyed_concurrency_limiter_release(NULL, &permit, 1), TIDEGATE_ERROR_NULL_POINTER);
    REFUSED(tidegate_keyed_concurrency_limiter_set_limit(NULL, 1), TIDEGATE_ERROR_NULL_POINTER);
    REFUSED(tidegate_keyed_concurrency_limiter_limit(NULL, &out.aligned), TIDEGATE_ERROR_NULL_POINTER);
    REFUSED(tidegate_keyed_concurrency_limiter_capacity(NULL, &out.aligned), TIDEGATE_ERROR_NULL_POINTER);
    REFUSED(tidegate_keyed_concurrency_limiter_stats(NULL, &out.stats), TIDEGATE_ERROR_NULL_POINTER);
    tidegate_keyed_rate_limiter_free(NULL);
    tidegate_keyed_concurrency_limiter_free(NULL);
    CHECK(tidegate_keyed_rate_limiter_ref(NULL) == NULL);
    CHECK(tidegate_keyed_concurrency_limiter_ref(NULL) == NULL);
}

static void null_and_askew_outputs_are_errors_and_nothing_is_taken(void) {
    tidegate_keyed_rate_limiter *rate = keyed_rate_limiter("5/h", 10, 0, NULL);
    tidegate_keyed_concurrency_limiter *concurrency = keyed_concurrency_limiter(1, 10);
    tidegate_key key = {"ann", 3};
    void *outputs[] = {NULL, ASKEW(&out)};
    int32_t statuses[] = {TIDEGATE_ERROR_NULL_POINTER, TIDEGATE_ERROR_MEMORY};
    for (int i = 0; i < 2; i++) {
        void *output = outputs[i];
        int32_t status = statuses[i];
        REFUSED(tidegate_keyed_rate_limiter_decide(rate, KEY("ann"), 1, output), status);
        REFUSED(tidegate_keyed_rate_limiter_peek(rate, KEY("ann"), 1, output), status);
        REFUSED(tidegate_keyed_rate_limiter_refund(rate, KEY("ann"), output), status);
        REFUSED(tidegate_keyed_rate_limiter_try_acquire_many(rate, &key, 1, 1, output), status);
        REFUSED(tidegate_keyed_rate_limiter_try_acquire_many(rate, output, 1, 1, out.statuses), status);
        REFUSED(tidegate_keyed_rate_limiter_stats(rate, output), status);
        REFUSED(tidegate_keyed_rate_limiter_len(rate, output), status);
        REFUSED(tidegate_keyed_rate_limiter_capacity(rate, output), status);
        REFUSED(tidegate_keyed_rate_limiter_quotas(rate, output, 1, &(size_t){0}), status);
        REFUSED(tidegate_keyed_concurrency_limiter_try_acquire(concurrency, KEY("ann"), 1, output), status);
        REFUSED(tidegate_keyed_concurrency_limiter_release(concurrency, output, 1), status);
        REFUSED(tidegate_keyed_concurrency_limiter_in_flight(concurrency, KEY("ann"), output), status);
        REFUSED(tidegate_keyed_concurrency_limiter_available(concurrency, KEY("ann"), output), status);
        REFUSED(tidegate_keyed_concurrency_limiter_limit(concurrency, output), status);
        REFUSED(tidegate_keyed_concurrency_limiter_capacity(concurrency, output), status);
        REFUSED(tidegate_keyed_concurrency_limiter_stats(concurrency, output), status);
        REFUSED(tidegate_keyed_rate_limiter_parse("1/s", 3, NULL, output, NULL, 0), status);
    }
    REFUSED(tidegate_keyed_rate_limiter_try_acquire_many(rate, &key, SIZE_MAX, 1, out.statuses), TIDEGATE_ERROR_MEMORY);
    CHECK_EQUAL(remaining(rate, "ann"), 5);
    CHECK_EQUAL(out_of(concurrency, "ann"), 0);
    tidegate_keyed_concurrency_limiter_free(concurrency);
    tidegate_keyed_rate_limiter_free(rate);
}

static void costs_and_permits_outside_their_range_are_errors(void) {
    tidegate_keyed_rate_limiter *rate = keyed_rate_limiter("5/h", 10, 0, NULL);
    tidegate_keyed_concurrency_limiter *concurrency = keyed_concurrency_limiter(1, 10);
    uint64_t wrong[] = {0, TIDEGATE_MAX_COST + 1, UINT64_MAX};
    for (int i = 0; i < 3; i++) {
        REFUSED(tidegate_keyed_rate_limiter_try_acquire(rate, KEY("ann"), wrong[i]), TIDEGATE_ERROR_COST);
        REFUSED(tidegate_keyed_rate_limiter_decide(rate, KEY("ann"), wrong[i], &out.decision), TIDEGATE_ERROR_COST);
        REFUSED(tidegate_keyed_rate_limiter_peek(rate, KEY("ann"), wrong[i], &out.decision), TIDEGATE_ERROR_COST);
        REFUSED(tidegate_keyed_concurrency_limiter_try_acquire(concurrency, KEY("ann"), wrong[i], &out.permit),
                TIDEGATE_ERROR_COST);
    }
    tidegate_keyed_concurrency_limiter_free(concurrency);
    tidegate_keyed_rate_limiter_free(rate);
}

/* What is told of options that are not acceptable, and the status that comes with it. */
static const char *told_of_rate(const char *quota, tidegate_keyed_rate_limiter_options options, int32_t status) {
    error_text[0] = '\0';
    REFUSED(tidegate_keyed_rate_limiter_parse(quota, strlen(quota), &options, &out.rate, error_text, sizeof error_text),
            status);
    return error_text;
}

static const char *told_of_concurrency(tidegate_keyed_concurrency_limiter_options options, int32_t status) {
    error_text[0] = '\0';
    REFUSED(tidegate_keyed_concurrency_limiter_new(&options, &out.concurrency, error_text, sizeof error_text), status);
    return error_text;
}

#define RATE(...) ((tidegate_keyed_rate_limiter_options){.struct_size = 64, __VA_ARGS__})
#define CONCURRENCY(...) ((tidegate_keyed_concurrency_limiter_options){.struct_size = 64, __VA_ARGS__})

static void wrong_options_are_told_in_words(void) {
    CHECK_TEXT(told_of_rate("1/s", RATE(.max_keys = TIDEGATE_MAX_KEYS + UINT64_C(1)), TIDEGATE_ERROR_OPTION),
               "max_keys: got 4294967297; allowed: 1 to 4294967296");
    CHECK_TEXT(told_of_rate("1/s", RATE(.when_full = 3), TIDEGATE_ERROR_OPTION), "when_full: got 3; allowed: 0 to 2");
    CHECK_TEXT(told_of_rate("1/s", RATE(.flags = 2), TIDEGATE_ERROR_OPTION), "flags: got 0x2; allowed: bits of 0x1");
    CHECK_TEXT(told_of_rate("1/s", RATE(.reserved = {5}), TIDEGATE_ERROR_OPTION), "reserved: got 5; allowed: 0");
    CHECK(strncmp(told_of_rate("1/s", RATE(.clock = ASKEW(&out)), TIDEGATE_ERROR_MEMORY), "clock: got ", 11) == 0);
    CHECK(strncmp(told_of_rate("5/s sliding_log", RATE(0), TIDEGATE_ERROR_OPTION), "algorithm: got ", 15) == 0);
    CHECK(strncmp(told_of_rate("5/m", RATE(0), TIDEGATE_ERROR_OPTION), "quota: got ", 11) == 0);

    CHECK_TEXT(told_of_concurrency(CONCURRENCY(.limit = 1, .max_keys = UINT64_MAX), TIDEGATE_ERROR_OPTION),
               "max_keys: got 18446744073709551615; allowed: 1 to 4294967296");
    CHECK_TEXT(told_of_concurrency(CONCURRENCY(.limit = 1, .flags = 8), TIDEGATE_ERROR_OPTION),
               "flags: got 0x8; allowed: bits of 0x7");
    CHECK(strncmp(told_of_concurrency(CONCURRENCY(.limit = 1, .clock = ASKEW(&out)), TIDEGATE_ERROR_MEMORY),
                  "clock: got ", 11) == 0);
    CHECK_TEXT(told_of_concurrency(CONCURRENCY(.limit = 1, .reserved = {6}), TIDEGATE_ERROR_OPTION),
               "reserved: got 6; allowed: 0");
    CHECK_TEXT(told_of_concurrency(CONCURRENCY(.limit = 0), TIDEGATE_ERROR_OPTION),
               "limit: got 0; allowed: 1 to 2147483647, or 0 with the flag TIDEGATE_CONCURRENCY_LIMIT_ZERO");
    REFUSED(tidegate_keyed_concurrency_limiter_new(NULL, &out.concurrency, NULL, 0), TIDEGATE_ERROR_NULL_POINTER);
}

/* Options of `size` bytes at the end of their own allocation, so that a memory checker sees any byte read beyond it. */
static int32_t build_resized(uint32_t size, size_t nonzero_at) {
    char *options = calloc(1, size < 4 ? 4 : size);
    tidegate_keyed_rate_limiter *rate = NULL;
    memcpy(options, &size, sizeof size);
    if (nonzero_at != 0) {
        options[nonzero_at] = 1;
    }
    int32_t status = tidegate_keyed_rate_limiter_parse("1/s", 3, (void *)options, &rate, NULL, 0);
    CHECK((status == TIDEGATE_OK) == (rate != NULL));
    tidegate_keyed_rate_limiter_free(rate);

    tidegate_keyed_concurrency_limiter *concurrency = NULL;
    uint32_t flag = TIDEGATE_CONCURRENCY_LIMIT_ZERO;
    if (size >= 8) {
        memcpy(options + 4, &flag, sizeof flag);
    }
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_new((void *)options, &concurrency, NULL, 0), status);
    tidegate_keyed_concurrency_limiter_free(concurrency);
    free(options);
    return status;
}

static void smaller_and_larger_options_are_understood(void) {
    CHECK_EQUAL(build_resized(8, 0), TIDEGATE_OK);
    CHECK_EQUAL(build_resized(24, 0), TIDEGATE_OK);
    CHECK_EQUAL(build_resized(128, 0), TIDEGATE_OK);
    CHECK_EQUAL(build_resized(128, 127), TIDEGATE_ERROR_STRUCT_SIZE);
    CHECK_EQUAL(build_resized(0, 0), TIDEGATE_ERROR_STRUCT_SIZE);
    CHECK_EQUAL(build_resized(4, 0), TIDEGATE_ERROR_STRUCT_SIZE);
    CHECK_EQUAL(build_resized(63, 0), TIDEGATE_ERROR_STRUCT_SIZE);
    CHECK_EQUAL(build_resized(8192, 0), TIDEGATE_ERROR_STRUCT_SIZE);
}

int main(void) {
    RUN(wrong_keys_are_errors_of_their_own);
    RUN(null_and_askew_handles_are_errors);
    RUN(null_and_askew_outputs_are_errors_and_nothing_is_taken);
    RUN(costs_and_permits_outside_their_range_are_errors);
    RUN(wrong_options_are_told_in_words);
    RUN(smaller_and_larger_options_are_understood);
    return finish();
}
