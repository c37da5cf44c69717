/* Quotas as texts and as structs. */

#include "fixture.h"

static char error_text[TIDEGATE_ERROR_SIZE];

/* The status of reading a text; its error is in error_text. */
static int32_t read_text(const char *text, size_t length, tidegate_quota *quotas, size_t *count) {
    strcpy(error_text, "untouched");
    return tidegate_quota_parse(text, length, quotas, TIDEGATE_MAX_QUOTAS, count, error_text, sizeof error_text);
}

/* Reads a text and writes its first quota back. */
static const char *canonical(const char *text) {
    static char written[TIDEGATE_QUOTA_TEXT_SIZE];
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    size_t count = 0, length = 0;
    CHECK_EQUAL(read_text(text, strlen(text), quotas, &count), TIDEGATE_OK);
    CHECK_TEXT(error_text, "untouched");
    CHECK_EQUAL(tidegate_quota_format(&quotas[0], written, sizeof written, &length), TIDEGATE_OK);
    CHECK_EQUAL(length, strlen(written));
    return written;
}

static int32_t build(const tidegate_quota *quota) {
    tidegate_rate_limiter *limiter = NULL;
    strcpy(error_text, "untouched");
    int32_t status = tidegate_rate_limiter_new(quota, 1, NULL, &limiter, error_text, sizeof error_text);
    CHECK((status == TIDEGATE_OK) == (limiter != NULL));
    tidegate_rate_limiter_free(limiter);
    return status;
}

static tidegate_quota per_second(uint64_t limit) {
    return (tidegate_quota){.struct_size = sizeof(tidegate_quota), .limit = limit, .period_ns = SECOND};
}

static bool begins_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static void texts_are_read_in_full_and_written_in_their_shortest_form(void) {
    CHECK_TEXT(canonical("100/s"), "100/s");
    CHECK_TEXT(canonical("5 per 30s"), "5/30s");
    CHECK_TEXT(canonical(" 10 / 60 seconds "), "10/min");
    CHECK_TEXT(canonical("100/minute burst 20"), "100/min burst 20");
    CHECK_TEXT(canonical("3/2s fixed_window anchor clock"), "3/2s fixed_window anchor clock");
    CHECK_TEXT(canonical("0/s"), "0/s");
    CHECK_TEXT(canonical("100/week"), "100/w");
}

static void a6_a_text_is_never_guessed_at_and_its_error_shows_it_and_the_grammar(void) {
    const char *refused[] = {"5/M",     "10/month", "100/s burst", "1e3/s", "\xd9\xa1\xd9\xa0/s",
                             "10/s ; ", "s",        "-1/s",        "1.5/s", "10/s x"};
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        size_t count = 77;
        CHECK_EQUAL(read_text(refused[i], strlen(refused[i]), quotas, &count), TIDEGATE_ERROR_OPTION);
        CHECK_EQUAL(count, 77);
        CHECK(begins_with(error_text, "quota: got \""));
        CHECK(strstr(error_text, "; allowed: ") != NULL);
        CHECK(strstr(error_text, "such as 100/s") != NULL || strstr(error_text, "the units ns, us, ms") != NULL);
    }
    CHECK(read_text("5/M", 3, quotas, &(size_t){0}) < 0 && strstr(error_text, "\"5/M\"") != NULL);
    CHECK_EQUAL(read_text("5/0 second", 10, quotas, &(size_t){0}), TIDEGATE_ERROR_OPTION);
    CHECK(begins_with(error_text, "period: got 0 second; allowed: 1 ns to "));
}

static void a6_empty_texts_are_errors_also_at_no_address(void) {
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    CHECK_EQUAL(read_text("", 0, quotas, &(size_t){0}), TIDEGATE_ERROR_OPTION);
    CHECK(begins_with(error_text, "quota: got \"\";"));
    CHECK_EQUAL(read_text(NULL, 0, quotas, &(size_t){0}), TIDEGATE_ERROR_OPTION);
    CHECK(begins_with(error_text, "quota: got \"\";"));
}

static void texts_need_no_nul_and_may_not_hold_one(void) {
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    size_t count = 0;
    CHECK_EQUAL(read_text("10/smurf", 4, quotas, &count), TIDEGATE_OK);
    CHECK_EQUAL(quotas[0].limit, 10);
    CHECK_EQUAL(read_text("10/s\0", 5, quotas, &count), TIDEGATE_ERROR_OPTION);
    CHECK(begins_with(error_text, "quota: got \"10/s\\0\";"));
}

static void bytes_that_are_no_utf_8_are_an_error(void) {
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    CHECK_EQUAL(read_text("10/s\xff", 5, quotas, &(size_t){0}), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "quota: got \"10/s\xef\xbf\xbd\"; allowed: text in UTF-8");
}

static void structs_come_back_as_they_went_in(void) {
    tidegate_quota quotas[] = {per_second(100), per_second(7), per_second(9), per_second(0)};
    quotas[0].burst = 20;
    quotas[1].algorithm = TIDEGATE_ALGORITHM_FIXED_WINDOW;
    quotas[1].anchor = TIDEGATE_ANCHOR_CLOCK;
    quotas[2].algorithm = TIDEGATE_ALGORITHM_SLIDING_LOG;
    quotas[3].flags = TIDEGATE_QUOTA_LIMIT_ZERO;
    tidegate_rate_limiter *limiter = NULL;
    tidegate_quota back[TIDEGATE_MAX_QUOTAS];
    size_t count = 0;
    memset(back, 0xAB, sizeof back);
    CHECK_EQUAL(tidegate_rate_limiter_new(quotas, 4, NULL, &limiter, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_rate_limiter_quotas(limiter, back, TIDEGATE_MAX_QUOTAS, &count), TIDEGATE_OK);
    CHECK_EQUAL(count, 4);
    /* What was left to its default is named. */
    quotas[0].algorithm = quotas[3].algorithm = TIDEGATE_ALGORITHM_GCRA;
    quotas[0].anchor = quotas[2].anchor = quotas[3].anchor = TIDEGATE_ANCHOR_FIRST;
    CHECK(memcmp(quotas, back, sizeof quotas) == 0);
    CHECK_EQUAL(tidegate_rate_limiter_quotas(limiter, back, 3, &count), TIDEGATE_ERROR_OPTION);
    CHECK_EQUAL(tidegate_rate_limiter_reconfigure(limiter, back, 4, NULL, 0), TIDEGATE_OK);
    tidegate_rate_limiter_free(limiter);
}

static void each_algorithm_has_its_number(void) {
    const char *texts[] = {"5/s", "5/s", "5/s fixed_window", "5/s sliding_window", "5/s sliding_log"};
    for (uint32_t algorithm = TIDEGATE_ALGORITHM_DEFAULT; algorithm <= TIDEGATE_ALGORITHM_SLIDING_LOG; algorithm++) {
        tidegate_quota quota = per_second(5);
        quota.algorithm = algorithm;
        char text[TIDEGATE_QUOTA_TEXT_SIZE];
        CHECK_EQUAL(tidegate_quota_format(&quota, text, sizeof text, &(size_t){0}), TIDEGATE_OK);
        CHECK_TEXT(text, texts[algorithm]);
    }
}

static void the_longest_text_of_a_quota_fits_into_its_macro(void) {
    tidegate_quota quota = {
        .struct_size = sizeof quota,
        .limit = TIDEGATE_MAX_COST,
        .period_ns = UINT64_C(31535999999999999),
        .algorithm = TIDEGATE_ALGORITHM_FIXED_WINDOW,
        .anchor = TIDEGATE_ANCHOR_CLOCK,
    };
    char text[TIDEGATE_QUOTA_TEXT_SIZE];
    size_t length = 0;
    CHECK_EQUAL(tidegate_quota_format(&quota, text, sizeof text, &length), TIDEGATE_OK);
    CHECK(length + 32 < sizeof text);
    memset(text, 'x', sizeof text);
    CHECK_EQUAL(tidegate_quota_format(&quota, text, length, &(size_t){0}), TIDEGATE_ERROR_OPTION);
    CHECK_EQUAL(text[0], 'x');
    CHECK_EQUAL(tidegate_quota_format(&quota, text, length + 1, &length), TIDEGATE_OK);
    CHECK_EQUAL(text[length], '\0');
    CHECK_EQUAL(text[length + 1], 'x');
}

static void a1_a_limit_of_0_wants_its_flag_and_denies_all(void) {
    tidegate_quota quota = per_second(0);
    CHECK_EQUAL(build(&quota), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "limit: got 0; allowed: 1 to 9007199254740991, or 0 with the flag TIDEGATE_QUOTA_LIMIT_ZERO");
    quota.flags = TIDEGATE_QUOTA_LIMIT_ZERO;
    CHECK_EQUAL(build(&quota), TIDEGATE_OK);
    quota.limit = 1;
    CHECK_EQUAL(build(&quota), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "limit: got 1 with the flag TIDEGATE_QUOTA_LIMIT_ZERO; "
                           "allowed: 1 to 9007199254740991, or 0 with the flag TIDEGATE_QUOTA_LIMIT_ZERO");
    tidegate_rate_limiter *limiter = rate_limiter("0/s", NULL);
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 1, &decision), TIDEGATE_DENIED);
    CHECK_EQUAL(decision.remaining, 0);
    CHECK(decision.retry_after_ns == TIDEGATE_NEVER_NS);
    tidegate_rate_limiter_free(limiter);
}

static void a1_each_part_outside_its_range_is_named_with_its_value(void) {
    tidegate_quota quota = per_second(TIDEGATE_MAX_COST + 1);
    CHECK_EQUAL(build(&quota), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "limit: got 9007199254740992; "
                           "allowed: 1 to 9007199254740991, or 0 with the flag TIDEGATE_QUOTA_LIMIT_ZERO");
    quota = per_second(1);
    quota.period_ns = 0;
    CHECK_EQUAL(build(&quota), TIDEGATE_ERROR_OPTION);
    CHECK(begins_with(error_text, "period: got 0 ns; allowed: 1 ns to "));
    quota.period_ns = UINT64_MAX;
    CHECK_EQUAL(build(&quota), TIDEGATE_ERROR_OPTION);
    CHECK(begins_with(error_text, "period: got 18446744073709551615 ns; allowed: 1 ns to "));
    quota = per_second(1);
    quota.burst = UINT64_MAX;
    CHECK_EQUAL(build(&quota), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "burst: got 18446744073709551615; allowed: 1 to 9007199254740991");
    quota.burst = 5;
    quota.algorithm = TIDEGATE_ALGORITHM_FIXED_WINDOW;
    CHECK_EQUAL(build(&quota), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "burst: got 5 with fixed_window; allowed: a burst with gcra only");
}

static void a1_a_burst_of_0_in_a_text_is_an_error_and_in_a_struct_the_default(void) {
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    CHECK_EQUAL(read_text("5/s burst 0", 11, quotas, &(size_t){0}), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "burst: got 0; allowed: 1 to 9007199254740991");
    tidegate_quota quota = per_second(5);
    char text[TIDEGATE_QUOTA_TEXT_SIZE];
    CHECK_EQUAL(tidegate_quota_format(&quota, text, sizeof text, &(size_t){0}), TIDEGATE_OK);
    CHECK_TEXT(text, "5/s");
}

static void a_list_has_1_to_16_quotas(void) {
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS + 1];
    tidegate_rate_limiter *limiter = NULL;
    for (size_t i = 0; i < TIDEGATE_MAX_QUOTAS + 1; i++) {
        quotas[i] = per_second(i + 1);
    }
    CHECK_EQUAL(tidegate_rate_limiter_new(quotas, 0, NULL, &limiter, error_text, sizeof error_text),
                TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "quotas: got 0 quotas; allowed: 1 to 16 quotas");
    CHECK_EQUAL(
        tidegate_rate_limiter_new(quotas, TIDEGATE_MAX_QUOTAS + 1, NULL, &limiter, error_text, sizeof error_text),
        TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "quotas: got 17 quotas; allowed: 1 to 16 quotas");
    CHECK_EQUAL(tidegate_rate_limiter_new(quotas, SIZE_MAX, NULL, &limiter, NULL, 0), TIDEGATE_ERROR_OPTION);
    CHECK(limiter == NULL);
    CHECK_EQUAL(tidegate_rate_limiter_new(quotas, TIDEGATE_MAX_QUOTAS, NULL, &limiter, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(admitted(limiter, 3), 1);
    tidegate_rate_limiter_free(limiter);
}

static void an_array_that_is_too_short_is_left_as_it_is(void) {
    tidegate_quota quotas[2] = {{.limit = 77}, {.limit = 78}};
    size_t count = 79;
    CHECK_EQUAL(tidegate_quota_parse("1/s; 2/s; 3/s", 13, quotas, 2, &count, error_text, sizeof error_text),
                TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "capacity: got 2; allowed: at least 3 for these quotas");
    CHECK_EQUAL(quotas[0].limit, 77);
    CHECK_EQUAL(count, 79);
    CHECK_EQUAL(tidegate_quota_parse("1/s; 2/s", 8, quotas, 2, &count, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(count, 2);
    CHECK_EQUAL(quotas[1].limit, 2);
}

int main(void) {
    RUN(texts_are_read_in_full_and_written_in_their_shortest_form);
    RUN(a6_a_text_is_never_guessed_at_and_its_error_shows_it_and_the_grammar);
    RUN(a6_empty_texts_are_errors_also_at_no_address);
    RUN(texts_need_no_nul_and_may_not_hold_one);
    RUN(bytes_that_are_no_utf_8_are_an_error);
    RUN(structs_come_back_as_they_went_in);
    RUN(each_algorithm_has_its_number);
    RUN(the_longest_text_of_a_quota_fits_into_its_macro);
    RUN(a1_a_limit_of_0_wants_its_flag_and_denies_all);
    RUN(a1_each_part_outside_its_range_is_named_with_its_value);
    RUN(a1_a_burst_of_0_in_a_text_is_an_error_and_in_a_struct_the_default);
    RUN(a_list_has_1_to_16_quotas);
    RUN(an_array_that_is_too_short_is_left_as_it_is);
    return finish();
}
