/* Keyed limiters through the C ABI: quotas of single keys, keys refused most, regions, hold times. */

#include "keyed_fixture.h"

static char error_text[TIDEGATE_ERROR_SIZE];

static const char *told_of_setting(const tidegate_keyed_rate_limiter *limiter, const char *quotas, int32_t status) {
    error_text[0] = '\0';
    CHECK_EQUAL(tidegate_keyed_rate_limiter_set_quota_text(limiter, KEY("ann"), quotas, strlen(quotas), error_text,
                                                           sizeof error_text),
                status);
    return error_text;
}

static void a_key_goes_by_its_own_quota_until_that_is_cleared_and_what_is_used_stays_used(void) {
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("5/h", 10, 0, NULL);
    tidegate_quota quota = {.struct_size = sizeof quota, .limit = 9, .period_ns = 3600 * SECOND};
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 2), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_set_quota(limiter, KEY("ann"), &quota, 1, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(remaining(limiter, "ann"), 7);
    CHECK_EQUAL(remaining(limiter, "bob"), 5);
    CHECK_TEXT(told_of_setting(limiter, "20/h", TIDEGATE_OK), "");
    CHECK_EQUAL(remaining(limiter, "ann"), 18);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_clear_quota(limiter, KEY("ann")), TIDEGATE_OK);
    CHECK_EQUAL(remaining(limiter, "ann"), 3);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_clear_quota(limiter, KEY("ann")), TIDEGATE_OK);
    tidegate_keyed_rate_limiter_free(limiter);
}

static void a_quota_that_does_not_suit_the_limiter_is_told_in_words_and_changes_nothing(void) {
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("5/h", 10, 0, NULL);
    CHECK(strncmp(told_of_setting(limiter, "5/h fixed_window", TIDEGATE_ERROR_OPTION), "quota: got ", 11) == 0);
    CHECK(strncmp(told_of_setting(limiter, "5/h; 6/h", TIDEGATE_ERROR_OPTION), "quota: got ", 11) == 0);
    CHECK(strncmp(told_of_setting(limiter, "nonsense", TIDEGATE_ERROR_OPTION), "quota: got ", 11) == 0);
    CHECK(strncmp(told_of_setting(NULL, "5/h", TIDEGATE_ERROR_NULL_POINTER), "limiter: got ", 13) == 0);
    CHECK_EQUAL(remaining(limiter, "ann"), 5);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_set_quota_text(limiter, NULL, 1, "1/s", 3, NULL, 0), TIDEGATE_ERROR_KEY);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_set_quota(limiter, KEY("ann"), NULL, 1, NULL, 0),
                TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_clear_quota(limiter, NULL, 1), TIDEGATE_ERROR_KEY);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_clear_quota(NULL, KEY("ann")), TIDEGATE_ERROR_NULL_POINTER);
    tidegate_keyed_rate_limiter_free(limiter);
}

static tidegate_keyed_rate_limiter *built(tidegate_keyed_rate_limiter_options options, int32_t status) {
    tidegate_keyed_rate_limiter *limiter = NULL;
    error_text[0] = '\0';
    options.struct_size = sizeof options;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_parse("2/h", 3, &options, &limiter, error_text, sizeof error_text), status);
    return limiter;
}

static void keys_refused_most_are_named_with_their_counts(void) {
    tidegate_keyed_rate_limiter *limiter = built((tidegate_keyed_rate_limiter_options){.track_denied = 8}, TIDEGATE_OK);
    char large[200];
    tidegate_denied_key keys[8];
    size_t count = 99;
    memset(large, 'x', sizeof large);
    for (int i = 0; i < 5; i++) {
        CHECK(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 1) >= 0);
        CHECK(tidegate_keyed_rate_limiter_try_acquire(limiter, large, sizeof large, 3) >= 0);
    }
    CHECK_EQUAL(tidegate_keyed_rate_limiter_top_denied(limiter, keys, 8, &count), TIDEGATE_OK);
    CHECK_EQUAL(count, 2);
    CHECK_EQUAL(keys[0].count, 5);
    CHECK_EQUAL(keys[0].key_size, TIDEGATE_DENIED_KEY_SIZE);
    CHECK(memcmp(keys[0].key, large, TIDEGATE_DENIED_KEY_SIZE) == 0);
    CHECK_EQUAL(keys[1].count, 3);
    CHECK_EQUAL(keys[1].error, 0);
    CHECK_EQUAL(keys[1].key_size, 3);
    CHECK(memcmp(keys[1].key, "ann\0\0", 5) == 0);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_top_denied(limiter, NULL, 0, &count), TIDEGATE_OK);
    CHECK_EQUAL(count, 0);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_top_denied(limiter, NULL, 1, &count), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_top_denied(limiter, keys, 8, NULL), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_top_denied(NULL, keys, 8, &count), TIDEGATE_ERROR_NULL_POINTER);
    tidegate_keyed_rate_limiter_free(limiter);
    CHECK(built((tidegate_keyed_rate_limiter_options){.track_denied = 65537}, TIDEGATE_ERROR_OPTION) == NULL);
    CHECK_TEXT(error_text, "track_denied: got 65537; allowed: 0 to 65536");
}

static void a_limiter_lives_in_a_region_of_the_callers(void) {
    size_t size = 0;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_region_size(100, 1, &size), TIDEGATE_OK);
    CHECK(size % 64 == 0 && size <= 4200);
    char *region = aligned_alloc(64, size + 64);
    memset(region, 0xA5, size + 64);
    tidegate_keyed_rate_limiter_options options = {.max_keys = 100, .region = region, .region_size = size};
    tidegate_keyed_rate_limiter *limiter = built(options, TIDEGATE_OK);
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, &i, sizeof i, 2), TIDEGATE_ALLOWED);
        CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, &i, sizeof i, 1), TIDEGATE_DENIED);
    }
    tidegate_keyed_rate_limiter_free(limiter);
    for (size_t i = size; i < size + 64; i++) {
        CHECK_EQUAL((unsigned char)region[i], 0xA5);
    }
    options.region_size = size - 1;
    CHECK(built(options, TIDEGATE_ERROR_MEMORY) == NULL);
    CHECK(strncmp(error_text, "region: got 4031 bytes at address ", 34) == 0);
    options.region_size = size;
    options.region = region + 8;
    CHECK(built(options, TIDEGATE_ERROR_MEMORY) == NULL);
    CHECK(strstr(error_text, "allowed: 4032 bytes at an address that is a multiple of 64") != NULL);
    options.region = NULL;
    CHECK(built(options, TIDEGATE_ERROR_NULL_POINTER) == NULL);
    CHECK_TEXT(error_text, "region: got NULL; allowed: a pointer that is not NULL");
    free(region);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_region_size(0, 2, &size), TIDEGATE_OK);
    CHECK_EQUAL(size, 2 * 4000000);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_region_size(1, 0, &size), TIDEGATE_ERROR_OPTION);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_region_size(UINT64_MAX, 1, &size), TIDEGATE_ERROR_OPTION);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_region_size(1, 1, NULL), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(size, 2 * 4000000);
}

static void hold_times_of_keyed_permits_are_tracked_on_request(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_concurrency_limiter_options options = {
        .struct_size = sizeof options,
        .flags = TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME,
        .limit = 2,
        .clock = clock,
    };
    tidegate_keyed_concurrency_limiter *limiter = NULL;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_new(&options, &limiter, NULL, 0), TIDEGATE_OK);
    tidegate_keyed_permit ann, bob;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 1, &ann), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_clock_advance(clock, 70), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("bob"), 2, &bob), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_clock_advance(clock, 30), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, &ann, 1), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, &bob, 1), TIDEGATE_OK);
    tidegate_stats stats = {0};
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.hold_time_total_ns, 130);
    CHECK_EQUAL(stats.hold_time_max_ns, 100);
    tidegate_keyed_concurrency_limiter_free(limiter);
    tidegate_clock_free(clock);
}

int main(void) {
    RUN(a_key_goes_by_its_own_quota_until_that_is_cleared_and_what_is_used_stays_used);
    RUN(a_quota_that_does_not_suit_the_limiter_is_told_in_words_and_changes_nothing);
    RUN(keys_refused_most_are_named_with_their_counts);
    RUN(a_limiter_lives_in_a_region_of_the_callers);
    RUN(hold_times_of_keyed_permits_are_tracked_on_request);
    return finish();
}
