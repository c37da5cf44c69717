/* Concurrency limiters through the C ABI. */

#include "fixture.h"

static uint64_t figure(int32_t (*ask)(const tidegate_concurrency_limiter *, uint64_t *),
                       const tidegate_concurrency_limiter *limiter) {
    uint64_t figure = UINT64_MAX;
    CHECK_EQUAL(ask(limiter, &figure), TIDEGATE_OK);
    return figure;
}

#define LIMIT(limiter) figure(tidegate_concurrency_limiter_limit, limiter)
#define IN_FLIGHT(limiter) figure(tidegate_concurrency_limiter_in_flight, limiter)
#define AVAILABLE(limiter) figure(tidegate_concurrency_limiter_available, limiter)

static void permits_are_lent_up_to_the_limit_and_again_after_a_release(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(2, 0, NULL);
    tidegate_permit first, second, third;
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &first), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &second), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &third), TIDEGATE_DENIED);
    CHECK_EQUAL(LIMIT(limiter), 2);
    CHECK_EQUAL(IN_FLIGHT(limiter), 2);
    CHECK_EQUAL(AVAILABLE(limiter), 0);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &first, 1), TIDEGATE_OK);
    CHECK_EQUAL(first.permits, 0);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &third), TIDEGATE_ALLOWED);
    tidegate_concurrency_limiter_free(limiter);
}

static void a_refused_call_leaves_a_permit_that_holds_nothing(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    tidegate_permit held, refused;
    tidegate_permit nothing = {0};
    memset(&refused, 0xAB, sizeof refused);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &held), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &refused), TIDEGATE_DENIED);
    CHECK(memcmp(&refused, &nothing, sizeof nothing) == 0);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &refused, 1), TIDEGATE_ERROR_PERMIT);
    CHECK_EQUAL(IN_FLIGHT(limiter), 1);
    tidegate_concurrency_limiter_free(limiter);
}

static void p3_permits_are_released_in_any_order(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(2, 0, NULL);
    tidegate_permit a, b;
    for (int turn = 0; turn < 2; turn++) {
        CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &a), TIDEGATE_ALLOWED);
        CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &b), TIDEGATE_ALLOWED);
        CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, turn == 0 ? &a : &b, 1), TIDEGATE_OK);
        CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, turn == 0 ? &b : &a, 1), TIDEGATE_OK);
        CHECK_EQUAL(AVAILABLE(limiter), 2);
    }
    tidegate_concurrency_limiter_free(limiter);
}

static void p4_a_second_release_and_one_of_what_was_never_taken_change_nothing(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(3, 0, NULL);
    tidegate_permit first, second;
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &first), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &second), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &first, 1), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &first, 1), TIDEGATE_ERROR_PERMIT);
    tidegate_permit never_taken = {.limiter_id = second.limiter_id, .permits = 2};
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &never_taken, 1), TIDEGATE_ERROR_PERMIT);
    CHECK_EQUAL(never_taken.permits, 2);
    CHECK_EQUAL(IN_FLIGHT(limiter), 1);
    tidegate_stats stats;
    CHECK_EQUAL(tidegate_concurrency_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.released_ok, 1);
    tidegate_concurrency_limiter_free(limiter);
}

static void a_permit_is_released_by_its_own_limiter_alone(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    tidegate_concurrency_limiter *other = concurrency_limiter(1, 0, NULL);
    tidegate_permit ours, theirs;
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &ours), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(other, 1, &theirs), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(other, &ours, 1), TIDEGATE_ERROR_PERMIT);
    CHECK_EQUAL(ours.permits, 1);
    CHECK_EQUAL(IN_FLIGHT(limiter), 1);
    CHECK_EQUAL(IN_FLIGHT(other), 1);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &ours, 1), TIDEGATE_OK);
    tidegate_concurrency_limiter_free(limiter);
    tidegate_concurrency_limiter_free(other);
}

static void p8_a_limit_that_is_lowered_while_in_use_keeps_what_is_out(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(2, 0, NULL);
    tidegate_permit a, b, c;
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &a), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &b), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, 1), TIDEGATE_OK);
    CHECK_EQUAL(IN_FLIGHT(limiter), 2);
    CHECK_EQUAL(AVAILABLE(limiter), 0);
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, 2), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &c), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &a, 1), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &c), TIDEGATE_ALLOWED);
    tidegate_concurrency_limiter_free(limiter);
}

static void p11_more_than_the_limit_is_refused_at_once_and_blocks_nobody(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(2, 0, NULL);
    tidegate_permit permit;
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 3, &permit), TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &permit), TIDEGATE_ALLOWED);
    tidegate_concurrency_limiter_free(limiter);
}

static void weights_are_taken_and_given_back_whole(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(10, 0, NULL);
    tidegate_permit heavy, light;
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 8, &heavy), TIDEGATE_ALLOWED);
    CHECK_EQUAL(heavy.permits, 8);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 3, &light), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 2, &light), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &heavy, 0), TIDEGATE_OK);
    CHECK_EQUAL(IN_FLIGHT(limiter), 2);
    tidegate_concurrency_limiter_free(limiter);
}

static void a_number_of_permits_outside_its_range_is_an_error(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(2, 0, NULL);
    tidegate_permit permit;
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 0, &permit), TIDEGATE_ERROR_COST);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, TIDEGATE_MAX_COST + 1, &permit), TIDEGATE_ERROR_COST);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, TIDEGATE_MAX_COST, &permit),
                TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(IN_FLIGHT(limiter), 0);
    tidegate_concurrency_limiter_free(limiter);
}

static void a1_a_limit_of_0_denies_everything_and_can_be_raised(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(0, TIDEGATE_CONCURRENCY_LIMIT_ZERO, NULL);
    tidegate_permit permit;
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &permit), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 5, &permit), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, 1), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &permit), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, 0), TIDEGATE_OK);
    CHECK_EQUAL(LIMIT(limiter), 0);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &permit, 1), TIDEGATE_OK);
    tidegate_concurrency_limiter_free(limiter);
}

static void limits_beyond_31_bits_are_refused(void) {
    const uint64_t most = UINT64_C(2147483647);
    tidegate_concurrency_limiter *limiter = concurrency_limiter(most, 0, NULL);
    tidegate_permit permit;
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, most + 1), TIDEGATE_ERROR_OPTION);
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, UINT64_MAX), TIDEGATE_ERROR_OPTION);
    CHECK_EQUAL(LIMIT(limiter), most);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, most, &permit), TIDEGATE_ALLOWED);
    CHECK_EQUAL(AVAILABLE(limiter), 0);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &permit, 1), TIDEGATE_OK);
    tidegate_concurrency_limiter_free(limiter);
}

static void stats_count_calls_and_releases_and_measure_hold_times_if_asked(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_concurrency_limiter *limiter = concurrency_limiter(5, TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME, clock);
    tidegate_permit a, b, c, refused;
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &a), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_clock_advance(clock, 100), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 2, &b), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 2, &c), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &refused), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_clock_advance(clock, 10), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &a, 1), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(limiter, &b, 0), TIDEGATE_OK);
    tidegate_stats stats;
    tidegate_stats wanted = {
        .allowed = 3,
        .denied = 1,
        .limit = 5,
        .in_flight = 2,
        .available = 3,
        .released_ok = 1,
        .released_failed = 1,
        .hold_time_total_ns = 120,
        .hold_time_max_ns = 110,
    };
    memset(&stats, 0xAB, sizeof stats);
    CHECK_EQUAL(tidegate_concurrency_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK(memcmp(&stats, &wanted, sizeof stats) == 0);
    tidegate_concurrency_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void an_object_lives_until_its_last_owner_frees_it(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    tidegate_concurrency_limiter *again = tidegate_concurrency_limiter_ref(limiter);
    tidegate_permit permit;
    CHECK(again == limiter);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &permit), TIDEGATE_ALLOWED);
    tidegate_concurrency_limiter_free(limiter);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(again, &permit, 1), TIDEGATE_OK);
    tidegate_concurrency_limiter_free(again);
}

int main(void) {
    RUN(permits_are_lent_up_to_the_limit_and_again_after_a_release);
    RUN(a_refused_call_leaves_a_permit_that_holds_nothing);
    RUN(p3_permits_are_released_in_any_order);
    RUN(p4_a_second_release_and_one_of_what_was_never_taken_change_nothing);
    RUN(a_permit_is_released_by_its_own_limiter_alone);
    RUN(p8_a_limit_that_is_lowered_while_in_use_keeps_what_is_out);
    RUN(p11_more_than_the_limit_is_refused_at_once_and_blocks_nobody);
    RUN(weights_are_taken_and_given_back_whole);
    RUN(a_number_of_permits_outside_its_range_is_an_error);
    RUN(a1_a_limit_of_0_denies_everything_and_can_be_raised);
    RUN(limits_beyond_31_bits_are_refused);
    RUN(stats_count_calls_and_releases_and_measure_hold_times_if_asked);
    RUN(an_object_lives_until_its_last_owner_frees_it);
    return finish();
}
