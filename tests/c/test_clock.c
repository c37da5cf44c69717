/* Clocks through the C ABI. */

#include "fixture.h"

static uint64_t now(const tidegate_clock *clock) {
    uint64_t now_ns = 0;
    CHECK_EQUAL(tidegate_clock_now_ns(clock, &now_ns), TIDEGATE_OK);
    return now_ns;
}

static void a_manual_clock_begins_at_0_and_moves_only_when_told(void) {
    tidegate_clock *clock = manual_clock();
    CHECK_EQUAL(now(clock), 0);
    CHECK_EQUAL(tidegate_clock_advance(clock, 5), TIDEGATE_OK);
    CHECK_EQUAL(now(clock), 5);
    CHECK_EQUAL(now(clock), 5);
    tidegate_clock_free(clock);
}

static void t3_a_step_back_counts_as_no_time_and_later_progress_counts(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("1/s", clock);
    CHECK_EQUAL(tidegate_clock_set(clock, 3600 * SECOND), TIDEGATE_OK);
    CHECK_EQUAL(admitted(limiter, 2), 1);
    CHECK_EQUAL(tidegate_clock_set(clock, 0), TIDEGATE_OK);
    CHECK_EQUAL(now(clock), 3600 * SECOND);
    CHECK_EQUAL(admitted(limiter, 1), 0);
    CHECK_EQUAL(tidegate_clock_set(clock, SECOND), TIDEGATE_OK);
    CHECK_EQUAL(now(clock), 3601 * SECOND);
    CHECK_EQUAL(admitted(limiter, 2), 1);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void t4_a_jump_to_the_end_of_time_fills_the_bucket_and_overflows_nothing(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("10/s", clock);
    CHECK_EQUAL(admitted(limiter, 11), 10);
    CHECK_EQUAL(tidegate_clock_advance(clock, UINT64_MAX), TIDEGATE_OK);
    CHECK(now(clock) == UINT64_MAX);
    CHECK_EQUAL(admitted(limiter, 11), 10);
    CHECK_EQUAL(tidegate_clock_advance(clock, 1), TIDEGATE_OK);
    CHECK(now(clock) == UINT64_MAX);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void two_limiters_on_one_clock_share_its_time(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *one = rate_limiter("1/s", clock);
    tidegate_rate_limiter *other = rate_limiter("1/2s", clock);
    CHECK_EQUAL(admitted(one, 2) + admitted(other, 2), 2);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND), TIDEGATE_OK);
    CHECK_EQUAL(admitted(one, 2), 1);
    CHECK_EQUAL(admitted(other, 2), 0);
    tidegate_rate_limiter_free(one);
    tidegate_rate_limiter_free(other);
    tidegate_clock_free(clock);
}

static void the_monotonic_clock_goes_forward_and_cannot_be_told_the_time(void) {
    tidegate_clock *clock = NULL;
    CHECK_EQUAL(tidegate_clock_monotonic_new(&clock), TIDEGATE_OK);
    uint64_t before = now(clock);
    CHECK_EQUAL(tidegate_clock_advance(clock, 3600 * SECOND), TIDEGATE_ERROR_UNSUPPORTED);
    CHECK_EQUAL(tidegate_clock_set(clock, UINT64_MAX), TIDEGATE_ERROR_UNSUPPORTED);
    uint64_t after = now(clock);
    CHECK(after >= before);
    CHECK(after - before < 3600 * SECOND);
    while (now(clock) == after) {
    }
    tidegate_clock_free(clock);
}

int main(void) {
    RUN(a_manual_clock_begins_at_0_and_moves_only_when_told);
    RUN(t3_a_step_back_counts_as_no_time_and_later_progress_counts);
    RUN(t4_a_jump_to_the_end_of_time_fills_the_bucket_and_overflows_nothing);
    RUN(two_limiters_on_one_clock_share_its_time);
    RUN(the_monotonic_clock_goes_forward_and_cannot_be_told_the_time);
    return finish();
}
