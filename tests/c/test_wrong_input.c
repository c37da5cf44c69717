/* Pointers, flags and buffers that are wrong: each gives its status, and no output is written. */

#include "fixture.h"

/* An address that is not aligned for what it is said to hold. */
#define ASKEW(pointer) ((void *)((char *)(uintptr_t)(pointer) + 1))

/* What outputs hold before a call that must not write them. */
static union {
    unsigned char bytes[4096];
    uint64_t aligned;
    tidegate_decision decision;
    tidegate_permit permit;
    tidegate_stats stats;
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    tidegate_clock *clock;
    tidegate_rate_limiter *rate;
    tidegate_concurrency_limiter *concurrency;
    size_t size;
    char text[TIDEGATE_QUOTA_TEXT_SIZE];
} out;

static void mark_output(void) {
    memset(&out, 0xAB, sizeof out);
}

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
        mark_output();                                                                                                 \
        CHECK_EQUAL(call, status);                                                                                     \
        CHECK(output_is_untouched());                                                                                  \
    } while (0)

#define IS_NULL(call) REFUSED(call, TIDEGATE_ERROR_NULL_POINTER)
#define IS_ASKEW(call) REFUSED(call, TIDEGATE_ERROR_MEMORY)

static void null_handles_are_errors(void) {
    tidegate_quota quota = {.struct_size = sizeof quota, .limit = 1, .period_ns = 1};
    IS_NULL(tidegate_clock_advance(NULL, 1));
    IS_NULL(tidegate_clock_set(NULL, 1));
    IS_NULL(tidegate_clock_now_ns(NULL, &out.aligned));
    IS_NULL(tidegate_rate_limiter_try_acquire(NULL, 1));
    IS_NULL(tidegate_rate_limiter_decide(NULL, 1, &out.decision));
    IS_NULL(tidegate_rate_limiter_peek(NULL, 1, &out.decision));
    IS_NULL(tidegate_rate_limiter_refund(NULL, &out.decision));
    IS_NULL(tidegate_rate_limiter_reset(NULL));
    IS_NULL(tidegate_rate_limiter_reconfigure(NULL, &quota, 1, NULL, 0));
    IS_NULL(tidegate_rate_limiter_reconfigure_text(NULL, "1/s", 3, NULL, 0));
    IS_NULL(tidegate_rate_limiter_quotas(NULL, out.quotas, TIDEGATE_MAX_QUOTAS, &(size_t){0}));
    IS_NULL(tidegate_rate_limiter_stats(NULL, &out.stats));
    IS_NULL(tidegate_concurrency_limiter_try_acquire(NULL, 1, &out.permit));
    IS_NULL(tidegate_concurrency_limiter_release(NULL, &out.permit, 1));
    IS_NULL(tidegate_concurrency_limiter_set_limit(NULL, 1));
    IS_NULL(tidegate_concurrency_limiter_limit(NULL, &out.aligned));
    IS_NULL(tidegate_concurrency_limiter_in_flight(NULL, &out.aligned));
    IS_NULL(tidegate_concurrency_limiter_available(NULL, &out.aligned));
    IS_NULL(tidegate_concurrency_limiter_stats(NULL, &out.stats));
}

static void null_may_be_freed_and_its_owner_is_null(void) {
    tidegate_clock_free(NULL);
    tidegate_rate_limiter_free(NULL);
    tidegate_concurrency_limiter_free(NULL);
    CHECK(tidegate_clock_ref(NULL) == NULL);
    CHECK(tidegate_rate_limiter_ref(NULL) == NULL);
    CHECK(tidegate_concurrency_limiter_ref(NULL) == NULL);
}

static void null_arguments_are_errors(void) {
    tidegate_rate_limiter *rate = rate_limiter("5/h", NULL);
    tidegate_concurrency_limiter *concurrency = concurrency_limiter(1, 0, NULL);
    tidegate_clock *clock = manual_clock();
    tidegate_quota quota = {.struct_size = sizeof quota, .limit = 1, .period_ns = 1};
    size_t count;
    IS_NULL(tidegate_clock_manual_new(NULL));
    IS_NULL(tidegate_clock_monotonic_new(NULL));
    IS_NULL(tidegate_clock_now_ns(clock, NULL));
    IS_NULL(tidegate_quota_parse(NULL, 3, out.quotas, TIDEGATE_MAX_QUOTAS, &count, NULL, 0));
    IS_NULL(tidegate_quota_parse("1/s", 3, NULL, TIDEGATE_MAX_QUOTAS, &count, NULL, 0));
    IS_NULL(tidegate_quota_parse("1/s", 3, out.quotas, TIDEGATE_MAX_QUOTAS, NULL, NULL, 0));
    IS_NULL(tidegate_quota_format(NULL, out.text, sizeof out.text, &count));
    IS_NULL(tidegate_quota_format(&quota, NULL, 0, &count));
    IS_NULL(tidegate_quota_format(&quota, out.text, sizeof out.text, NULL));
    IS_NULL(tidegate_rate_limiter_new(NULL, 1, NULL, &out.rate, NULL, 0));
    IS_NULL(tidegate_rate_limiter_new(&quota, 1, NULL, NULL, NULL, 0));
    IS_NULL(tidegate_rate_limiter_parse(NULL, 3, NULL, &out.rate, NULL, 0));
    IS_NULL(tidegate_rate_limiter_parse("1/s", 3, NULL, NULL, NULL, 0));
    IS_NULL(tidegate_rate_limiter_decide(rate, 1, NULL));
    IS_NULL(tidegate_rate_limiter_peek(rate, 1, NULL));
    IS_NULL(tidegate_rate_limiter_refund(rate, NULL));
    IS_NULL(tidegate_rate_limiter_reconfigure(rate, NULL, 1, NULL, 0));
    IS_NULL(tidegate_rate_limiter_reconfigure_text(rate, NULL, 3, NULL, 0));
    IS_NULL(tidegate_rate_limiter_quotas(rate, NULL, TIDEGATE_MAX_QUOTAS, &count));
    IS_NULL(tidegate_rate_limiter_quotas(rate, out.quotas, TIDEGATE_MAX_QUOTAS, NULL));
    IS_NULL(tidegate_rate_limiter_stats(rate, NULL));
    IS_NULL(tidegate_concurrency_limiter_new(NULL, &out.concurrency, NULL, 0));
    IS_NULL(tidegate_concurrency_limiter_try_acquire(concurrency, 1, NULL));
    IS_NULL(tidegate_concurrency_limiter_release(concurrency, NULL, 1));
    IS_NULL(tidegate_concurrency_limiter_limit(concurrency, NULL));
    IS_NULL(tidegate_concurrency_limiter_in_flight(concurrency, NULL));
    IS_NULL(tidegate_concurrency_limiter_available(concurrency, NULL));
    IS_NULL(tidegate_concurrency_limiter_stats(concurrency, NULL));

    /* Nothing was spent or lent by any of these. */
    CHECK_EQUAL(peeked(rate).remaining, 5);
    CHECK_EQUAL(tidegate_concurrency_limiter_available(concurrency, &out.aligned), TIDEGATE_OK);
    CHECK_EQUAL(out.aligned, 1);
    tidegate_clock_free(clock);
    tidegate_concurrency_limiter_free(concurrency);
    tidegate_rate_limiter_free(rate);
}

static void addresses_out_of_line_are_errors(void) {
    tidegate_rate_limiter *rate = rate_limiter("5/h", NULL);
    tidegate_concurrency_limiter *concurrency = concurrency_limiter(1, 0, NULL);
    tidegate_clock *clock = manual_clock();
    tidegate_quota quota = {.struct_size = sizeof quota, .limit = 1, .period_ns = 1};
    tidegate_rate_limiter_options rate_options = {.struct_size = sizeof rate_options};
    tidegate_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = 1};
    size_t count;

    IS_ASKEW(tidegate_clock_manual_new(ASKEW(&out)));
    IS_ASKEW(tidegate_clock_monotonic_new(ASKEW(&out)));
    IS_ASKEW(tidegate_clock_advance(ASKEW(clock), 1));
    IS_ASKEW(tidegate_clock_set(ASKEW(clock), 1));
    IS_ASKEW(tidegate_clock_now_ns(ASKEW(clock), &out.aligned));
    IS_ASKEW(tidegate_clock_now_ns(clock, ASKEW(&out)));
    IS_ASKEW(tidegate_quota_parse("1/s", 3, ASKEW(&out), TIDEGATE_MAX_QUOTAS, &count, NULL, 0));
    IS_ASKEW(tidegate_quota_parse("1/s", 3, out.quotas, TIDEGATE_MAX_QUOTAS, ASKEW(&count), NULL, 0));
    IS_ASKEW(tidegate_quota_format(ASKEW(&quota), out.text, sizeof out.text, &count));
    IS_ASKEW(tidegate_quota_format(&quota, out.text, sizeof out.text, ASKEW(&count)));
    IS_ASKEW(tidegate_rate_limiter_new(ASKEW(&quota), 1, NULL, &out.rate, NULL, 0));
    IS_ASKEW(tidegate_rate_limiter_new(&quota, 1, ASKEW(&rate_options), &out.rate, NULL, 0));
    IS_ASKEW(tidegate_rate_limiter_new(&quota, 1, NULL, ASKEW(&out), NULL, 0));
    IS_ASKEW(tidegate_rate_limiter_parse("1/s", 3, NULL, ASKEW(&out), NULL, 0));
    IS_ASKEW(tidegate_rate_limiter_try_acquire(ASKEW(rate), 1));
    IS_ASKEW(tidegate_rate_limiter_decide(ASKEW(rate), 1, &out.decision));
    IS_ASKEW(tidegate_rate_limiter_decide(rate, 1, ASKEW(&out)));
    IS_ASKEW(tidegate_rate_limiter_peek(ASKEW(rate), 1, &out.decision));
    IS_ASKEW(tidegate_rate_limiter_peek(rate, 1, ASKEW(&out)));
    IS_ASKEW(tidegate_rate_limiter_refund(ASKEW(rate), &out.decision));
    IS_ASKEW(tidegate_rate_limiter_refund(rate, ASKEW(&out)));
    IS_ASKEW(tidegate_rate_limiter_reset(ASKEW(rate)));
    IS_ASKEW(tidegate_rate_limiter_reconfigure(ASKEW(rate), &quota, 1, NULL, 0));
    IS_ASKEW(tidegate_rate_limiter_reconfigure(rate, ASKEW(&quota), 1, NULL, 0));
    IS_ASKEW(tidegate_rate_limiter_reconfigure_text(ASKEW(rate), "1/s", 3, NULL, 0));
    IS_ASKEW(tidegate_rate_limiter_quotas(ASKEW(rate), out.quotas, TIDEGATE_MAX_QUOTAS, &count));
    IS_ASKEW(tidegate_rate_limiter_quotas(rate, ASKEW(&out), TIDEGATE_MAX_QUOTAS, &count));
    IS_ASKEW(tidegate_rate_limiter_quotas(rate, out.quotas, TIDEGATE_MAX_QUOTAS, ASKEW(&count)));
    IS_ASKEW(tidegate_rate_limiter_stats(ASKEW(rate), &out.stats));
    IS_ASKEW(tidegate_rate_limiter_stats(rate, ASKEW(&out)));
    IS_ASKEW(tidegate_concurrency_limiter_new(ASKEW(&options), &out.concurrency, NULL, 0));
    IS_ASKEW(tidegate_concurrency_limiter_new(&options, ASKEW(&out), NULL, 0));
    IS_ASKEW(tidegate_concurrency_limiter_try_acquire(ASKEW(concurrency), 1, &out.permit));
    IS_ASKEW(tidegate_concurrency_limiter_try_acquire(concurrency, 1, ASKEW(&out)));
    IS_ASKEW(tidegate_concurrency_limiter_release(ASKEW(concurrency), &out.permit, 1));
    IS_ASKEW(tidegate_concurrency_limiter_release(concurrency, ASKEW(&out), 1));
    IS_ASKEW(tidegate_concurrency_limiter_set_limit(ASKEW(concurrency), 1));
    IS_ASKEW(tidegate_concurrency_limiter_limit(ASKEW(concurrency), &out.aligned));
    IS_ASKEW(tidegate_concurrency_limiter_limit(concurrency, ASKEW(&out)));
    IS_ASKEW(tidegate_concurrency_limiter_in_flight(ASKEW(concurrency), &out.aligned));
    IS_ASKEW(tidegate_concurrency_limiter_in_flight(concurrency, ASKEW(&out)));
    IS_ASKEW(tidegate_concurrency_limiter_available(ASKEW(concurrency), &out.aligned));
    IS_ASKEW(tidegate_concurrency_limiter_available(concurrency, ASKEW(&out)));
    IS_ASKEW(tidegate_concurrency_limiter_stats(ASKEW(concurrency), &out.stats));
    IS_ASKEW(tidegate_concurrency_limiter_stats(concurrency, ASKEW(&out)));
    rate_options.clock = ASKEW(clock);
    IS_ASKEW(tidegate_rate_limiter_parse("1/s", 3, &rate_options, &out.rate, NULL, 0));
    options.clock = ASKEW(clock);
    IS_ASKEW(tidegate_concurrency_limiter_new(&options, &out.concurrency, NULL, 0));
    CHECK(tidegate_rate_limiter_ref(ASKEW(rate)) == NULL);
    CHECK(tidegate_concurrency_limiter_ref(ASKEW(concurrency)) == NULL);
    CHECK(tidegate_clock_ref(ASKEW(clock)) == NULL);
    tidegate_rate_limiter_free(ASKEW(rate));
    tidegate_concurrency_limiter_free(ASKEW(concurrency));
    tidegate_clock_free(ASKEW(clock));

    CHECK_EQUAL(peeked(rate).remaining, 5);
    CHECK_EQUAL(tidegate_concurrency_limiter_available(concurrency, &out.aligned), TIDEGATE_OK);
    CHECK_EQUAL(out.aligned, 1);
    tidegate_clock_free(clock);
    tidegate_concurrency_limiter_free(concurrency);
    tidegate_rate_limiter_free(rate);
}

static void a_length_that_no_memory_has_is_an_error(void) {
    char error[TIDEGATE_ERROR_SIZE];
    REFUSED(tidegate_rate_limiter_parse("1/s", SIZE_MAX, NULL, &out.rate, error, sizeof error), TIDEGATE_ERROR_MEMORY);
    CHECK(strncmp(error, "length: got ", strlen("length: got ")) == 0);
}

static void unknown_options_are_errors_that_name_them(void) {
    char error[TIDEGATE_ERROR_SIZE];
    tidegate_quota quota = {.struct_size = sizeof quota, .limit = 1, .period_ns = 1, .flags = 2};
    REFUSED(tidegate_rate_limiter_new(&quota, 1, NULL, &out.rate, error, sizeof error), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "flags: got 0x2; allowed: bits of 0x1");
    quota.flags = 0;
    quota.algorithm = 5;
    REFUSED(tidegate_rate_limiter_new(&quota, 1, NULL, &out.rate, error, sizeof error), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "algorithm: got 5; allowed: 0 to 4");
    quota.algorithm = 0;
    quota.anchor = 3;
    REFUSED(tidegate_rate_limiter_new(&quota, 1, NULL, &out.rate, error, sizeof error), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "anchor: got 3; allowed: 0 to 2");
    quota.anchor = TIDEGATE_ANCHOR_CLOCK;
    REFUSED(tidegate_rate_limiter_new(&quota, 1, NULL, &out.rate, error, sizeof error), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "anchor: got clock with gcra; allowed: an anchor with fixed_window only");
    quota.anchor = 0;
    quota.reserved[2] = 9;
    REFUSED(tidegate_rate_limiter_new(&quota, 1, NULL, &out.rate, error, sizeof error), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "reserved: got 9; allowed: 0");

    tidegate_rate_limiter_options rate_options = {.struct_size = sizeof rate_options, .flags = 2};
    REFUSED(tidegate_rate_limiter_parse("1/s", 3, &rate_options, &out.rate, error, sizeof error),
            TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "flags: got 0x2; allowed: bits of 0x1");
    rate_options.flags = 0;
    rate_options.reserved[4] = 1;
    REFUSED(tidegate_rate_limiter_parse("1/s", 3, &rate_options, &out.rate, error, sizeof error),
            TIDEGATE_ERROR_OPTION);

    tidegate_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = 1, .flags = 8};
    REFUSED(tidegate_concurrency_limiter_new(&options, &out.concurrency, error, sizeof error), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "flags: got 0x8; allowed: bits of 0x7");
    options.flags = 0;
    options.reserved[0] = 1;
    REFUSED(tidegate_concurrency_limiter_new(&options, &out.concurrency, error, sizeof error), TIDEGATE_ERROR_OPTION);
    options.reserved[0] = 0;
    options.limit = 0;
    REFUSED(tidegate_concurrency_limiter_new(&options, &out.concurrency, error, sizeof error), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "limit: got 0; allowed: 1 to 2147483647, or 0 with the flag TIDEGATE_CONCURRENCY_LIMIT_ZERO");
    options.limit = UINT64_C(1) << 31;
    REFUSED(tidegate_concurrency_limiter_new(&options, &out.concurrency, error, sizeof error), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error,
               "limit: got 2147483648; allowed: 1 to 2147483647, or 0 with the flag TIDEGATE_CONCURRENCY_LIMIT_ZERO");
    options.flags = TIDEGATE_CONCURRENCY_LIMIT_ZERO;
    options.limit = 5;
    REFUSED(tidegate_concurrency_limiter_new(&options, &out.concurrency, error, sizeof error), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error, "limit: got 5 with the flag TIDEGATE_CONCURRENCY_LIMIT_ZERO; "
                      "allowed: 1 to 2147483647, or 0 with the flag TIDEGATE_CONCURRENCY_LIMIT_ZERO");
}

static void an_error_text_is_cut_between_characters_and_never_beyond_its_buffer(void) {
    const char *text = "\xc3\xa4\xc3\xa4/s";
    char whole[TIDEGATE_ERROR_SIZE];
    CHECK_EQUAL(tidegate_rate_limiter_parse(text, strlen(text), NULL, &out.rate, whole, sizeof whole),
                TIDEGATE_ERROR_OPTION);
    for (size_t size = 0; size < 32; size++) {
        char *buffer = malloc(size + 1);
        memset(buffer, 'x', size + 1);
        CHECK_EQUAL(tidegate_rate_limiter_parse(text, strlen(text), NULL, &out.rate, buffer, size),
                    TIDEGATE_ERROR_OPTION);
        CHECK_EQUAL(buffer[size], 'x');
        if (size > 0) {
            size_t length = strlen(buffer);
            CHECK(length < size);
            CHECK(length + 2 >= size);
            CHECK(memcmp(buffer, whole, length) == 0);
            CHECK(((unsigned char)whole[length] & 0xC0) != 0x80);
        }
        free(buffer);
    }
}

static void an_error_buffer_may_be_absent_only_with_a_size_of_0(void) {
    IS_NULL(tidegate_rate_limiter_parse("1/s", 3, NULL, &out.rate, NULL, 1));
    IS_NULL(tidegate_quota_parse("1/s", 3, out.quotas, TIDEGATE_MAX_QUOTAS, &(size_t){0}, NULL, 1));
    char error = 'x';
    CHECK_EQUAL(tidegate_rate_limiter_parse("?", 1, NULL, &out.rate, &error, 0), TIDEGATE_ERROR_OPTION);
    CHECK_EQUAL(error, 'x');
}

static void null_arguments_are_named_where_there_is_an_error_text(void) {
    char error[TIDEGATE_ERROR_SIZE];
    CHECK_EQUAL(tidegate_rate_limiter_parse("1/s", 3, NULL, NULL, error, sizeof error), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_TEXT(error, "limiter_out: got NULL; allowed: a pointer that is not NULL");
    CHECK_EQUAL(tidegate_concurrency_limiter_new(NULL, &out.concurrency, error, sizeof error),
                TIDEGATE_ERROR_NULL_POINTER);
    CHECK_TEXT(error, "options: got NULL; allowed: a pointer that is not NULL");
}

int main(void) {
    RUN(null_handles_are_errors);
    RUN(null_may_be_freed_and_its_owner_is_null);
    RUN(null_arguments_are_errors);
    RUN(addresses_out_of_line_are_errors);
    RUN(a_length_that_no_memory_has_is_an_error);
    RUN(unknown_options_are_errors_that_name_them);
    RUN(an_error_text_is_cut_between_characters_and_never_beyond_its_buffer);
    RUN(an_error_buffer_may_be_absent_only_with_a_size_of_0);
    RUN(null_arguments_are_named_where_there_is_an_error_text);
    return finish();
}
