/* Rate limiters through the C ABI. What the algorithms decide is the vectors' subject; here it is what C sees of it. */

#include "fixture.h"

static void try_acquire_tells_allowed_denied_and_exceeds_capacity_apart(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("10/s", clock);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 8), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 5), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 11), TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 1), TIDEGATE_ALLOWED);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_cost_outside_its_range_is_an_error_and_no_denial(void) {
    tidegate_rate_limiter *limiter = rate_limiter("10/s", NULL);
    tidegate_stats stats;
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 0), TIDEGATE_ERROR_COST);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, TIDEGATE_MAX_COST + 1), TIDEGATE_ERROR_COST);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, UINT64_MAX), TIDEGATE_ERROR_COST);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, TIDEGATE_MAX_COST), TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(tidegate_rate_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.allowed, 0);
    CHECK_EQUAL(stats.denied, 1);
    tidegate_rate_limiter_free(limiter);
}

static void f1_the_first_of_10_a_second_leaves_9(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("10/s", clock);
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 1, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(decision.status, TIDEGATE_ALLOWED);
    CHECK_EQUAL(decision.quota, 0);
    CHECK_EQUAL(decision.limit, 10);
    CHECK_EQUAL(decision.remaining, 9);
    CHECK_EQUAL(decision.retry_after_ns, 0);
    CHECK_EQUAL(decision.reset_after_ns, 100 * MS);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void f2_a_second_call_200_ms_later_has_800_ms_to_wait_and_then_is_allowed(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("1/s", clock);
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 1, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_clock_advance(clock, 200 * MS), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 1, &decision), TIDEGATE_DENIED);
    CHECK_EQUAL(decision.status, TIDEGATE_DENIED);
    CHECK_EQUAL(decision.retry_after_ns, 800 * MS);
    CHECK_EQUAL(tidegate_clock_advance(clock, decision.retry_after_ns - 1), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 1), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_clock_advance(clock, 1), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 1), TIDEGATE_ALLOWED);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void f5_more_than_can_ever_be_held_waits_for_ever_and_changes_no_figure(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("10/s", clock);
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 100, &decision), TIDEGATE_EXCEEDS_CAPACITY);
    CHECK(decision.retry_after_ns == TIDEGATE_NEVER_NS);
    CHECK_EQUAL(decision.remaining, 10);
    CHECK_EQUAL(decision.reset_after_ns, 0);
    CHECK_EQUAL(decision.cost, 0);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void f8_peek_spends_nothing_and_is_right_about_what_remains(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("10/s", clock);
    CHECK_EQUAL(admitted(limiter, 4), 4);
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(peeked(limiter).remaining, 6);
    }
    CHECK_EQUAL(peeked(limiter).cost, 0);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 7), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 6), TIDEGATE_ALLOWED);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_decision_comes_with_a_reserve_of_zeros(void) {
    tidegate_rate_limiter *limiter = rate_limiter("10/s", NULL);
    tidegate_decision decision;
    memset(&decision, 0xAB, sizeof decision);
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 1, &decision), TIDEGATE_ALLOWED);
    for (size_t i = 0; i < sizeof decision.reserved / sizeof decision.reserved[0]; i++) {
        CHECK_EQUAL(decision.reserved[i], 0);
    }
    tidegate_rate_limiter_free(limiter);
}

static void a_refund_gives_the_tokens_back_once(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("10/s", clock);
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 4, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(decision.cost, 4);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &decision), TIDEGATE_OK);
    CHECK_EQUAL(decision.cost, 0);
    CHECK_EQUAL(peeked(limiter).remaining, 10);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &decision), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(peeked(limiter).remaining, 10);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void f9_a_refund_after_the_window_has_ended_has_no_effect(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("3/s fixed_window", clock);
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 2, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND), TIDEGATE_OK);
    CHECK_EQUAL(admitted(limiter, 2), 2);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &decision), TIDEGATE_OK);
    CHECK_EQUAL(peeked(limiter).remaining, 1);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void f9_a_decision_of_another_limiter_or_without_a_grant_is_no_refund(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("2/h", clock);
    tidegate_rate_limiter *other = rate_limiter("2/h", clock);
    tidegate_decision granted;
    tidegate_decision refused;
    tidegate_decision forged = {0};
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 2, &granted), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 1, &refused), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_rate_limiter_refund(other, &granted), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(granted.cost, 2);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &refused), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &forged), TIDEGATE_ERROR_DECISION);
    forged.limiter_id = granted.limiter_id;
    forged.cost = UINT64_MAX;
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &forged), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(forged.cost, UINT64_MAX);
    forged.cost = TIDEGATE_MAX_COST + 1;
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &forged), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(forged.cost, TIDEGATE_MAX_COST + 1);
    CHECK_EQUAL(peeked(limiter).remaining, 0);
    CHECK_EQUAL(peeked(other).remaining, 2);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &granted), TIDEGATE_OK);
    tidegate_rate_limiter_free(limiter);
    tidegate_rate_limiter_free(other);
    tidegate_clock_free(clock);
}

static void a_forged_decision_gives_back_no_more_than_the_limit(void) {
    const char *quotas[] = {"10/s", "10/s fixed_window", "10/s fixed_window anchor clock", "10/s sliding_window",
                            "10/s sliding_log"};
    const uint64_t granted_at_ns[] = {0, SECOND / 2, 3 * SECOND, UINT64_MAX / 2, UINT64_MAX};
    const uint64_t costs[] = {1, 10, 11, TIDEGATE_MAX_COST};
    for (size_t i = 0; i < 5 * 5 * 4; i++) {
        tidegate_clock *clock = manual_clock();
        tidegate_rate_limiter *limiter = rate_limiter(quotas[i % 5], clock);
        tidegate_decision forged;
        CHECK_EQUAL(tidegate_clock_set(clock, 2 * SECOND), TIDEGATE_OK);
        CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 5, &forged), TIDEGATE_ALLOWED);
        forged.granted_at_ns = granted_at_ns[i / 5 % 5];
        forged.cost = costs[i / 25];
        CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &forged), TIDEGATE_OK);
        uint64_t remaining = peeked(limiter).remaining;
        CHECK(remaining >= 5 && remaining <= 10);
        CHECK_EQUAL(admitted(limiter, 20), remaining);
        tidegate_rate_limiter_free(limiter);
        tidegate_clock_free(clock);
    }
}

static void a_reset_makes_everything_unspent_and_voids_older_decisions(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("2/h", clock);
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 2, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_reset(limiter), TIDEGATE_OK);
    CHECK_EQUAL(admitted(limiter, 3), 2);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &decision), TIDEGATE_OK);
    CHECK_EQUAL(peeked(limiter).remaining, 0);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a3_lowering_the_limit_below_what_is_used_leaves_0(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("10/h", clock);
    CHECK_EQUAL(admitted(limiter, 8), 8);
    CHECK_EQUAL(tidegate_rate_limiter_reconfigure_text(limiter, "5/h", 3, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(peeked(limiter).remaining, 0);
    CHECK_EQUAL(peeked(limiter).limit, 5);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a4_raising_5_to_10_a_minute_gives_5_more_and_doing_it_again_nothing(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("5/min", clock);
    tidegate_quota quota = {.struct_size = sizeof quota, .limit = 10, .period_ns = 60 * SECOND};
    CHECK_EQUAL(admitted(limiter, 6), 5);
    CHECK_EQUAL(tidegate_rate_limiter_reconfigure(limiter, &quota, 1, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(admitted(limiter, 6), 5);
    CHECK_EQUAL(tidegate_rate_limiter_reconfigure(limiter, &quota, 1, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(admitted(limiter, 1), 0);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_reconfiguration_that_is_refused_changes_nothing(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("5/min", clock);
    char error[TIDEGATE_ERROR_SIZE];
    const char *refused[] = {"10/min fixed_window", "10/min; 20/h", "10/month", ""};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        CHECK_EQUAL(
            tidegate_rate_limiter_reconfigure_text(limiter, refused[i], strlen(refused[i]), error, sizeof error),
            TIDEGATE_ERROR_OPTION);
        CHECK(strncmp(error, "quota: got ", strlen("quota: got ")) == 0);
    }
    CHECK_EQUAL(peeked(limiter).limit, 5);
    CHECK_EQUAL(peeked(limiter).remaining, 5);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a7_a_refusal_by_one_of_two_quotas_charges_the_other_once(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("10/min; 1/min", clock);
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 1), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 1, &decision), TIDEGATE_DENIED);
    CHECK_EQUAL(decision.quota, 1);
    CHECK_EQUAL(decision.limit, 1);
    CHECK_EQUAL(tidegate_rate_limiter_reconfigure_text(limiter, "10/min; 10/min", 14, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(peeked(limiter).remaining, 9);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void stats_count_calls_and_leave_the_rest_0(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("5/h", clock);
    tidegate_stats stats;
    tidegate_stats wanted = {.allowed = 2, .denied = 3};
    memset(&stats, 0xAB, sizeof stats);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 3), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 2), TIDEGATE_ALLOWED);
    CHECK_EQUAL(admitted(limiter, 3), 0);
    peeked(limiter);
    CHECK_EQUAL(tidegate_rate_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK(memcmp(&stats, &wanted, sizeof stats) == 0);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void an_object_lives_until_its_last_owner_frees_it(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("2/h", clock);
    tidegate_clock *clock_again = tidegate_clock_ref(clock);
    tidegate_rate_limiter *again = tidegate_rate_limiter_ref(limiter);
    CHECK(clock_again == clock);
    CHECK(again == limiter);
    tidegate_clock_free(clock);
    tidegate_rate_limiter_free(limiter);
    CHECK_EQUAL(admitted(again, 3), 2);
    CHECK_EQUAL(tidegate_clock_advance(clock_again, 1800 * SECOND), TIDEGATE_OK);
    tidegate_clock_free(clock_again);
    CHECK_EQUAL(admitted(again, 3), 1);
    tidegate_rate_limiter_free(again);
}

static void a_limiter_without_options_goes_by_real_time(void) {
    tidegate_rate_limiter *limiter = NULL;
    CHECK_EQUAL(tidegate_rate_limiter_parse("1/h", 3, NULL, &limiter, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(admitted(limiter, 2), 1);
    tidegate_decision decision = peeked(limiter);
    CHECK(decision.retry_after_ns > 3500 * SECOND);
    CHECK(decision.retry_after_ns <= 3600 * SECOND);
    tidegate_rate_limiter_free(limiter);
}

int main(void) {
    RUN(try_acquire_tells_allowed_denied_and_exceeds_capacity_apart);
    RUN(a_cost_outside_its_range_is_an_error_and_no_denial);
    RUN(f1_the_first_of_10_a_second_leaves_9);
    RUN(f2_a_second_call_200_ms_later_has_800_ms_to_wait_and_then_is_allowed);
    RUN(f5_more_than_can_ever_be_held_waits_for_ever_and_changes_no_figure);
    RUN(f8_peek_spends_nothing_and_is_right_about_what_remains);
    RUN(a_decision_comes_with_a_reserve_of_zeros);
    RUN(a_refund_gives_the_tokens_back_once);
    RUN(f9_a_refund_after_the_window_has_ended_has_no_effect);
    RUN(f9_a_decision_of_another_limiter_or_without_a_grant_is_no_refund);
    RUN(a_forged_decision_gives_back_no_more_than_the_limit);
    RUN(a_reset_makes_everything_unspent_and_voids_older_decisions);
    RUN(a3_lowering_the_limit_below_what_is_used_leaves_0);
    RUN(a4_raising_5_to_10_a_minute_gives_5_more_and_doing_it_again_nothing);
    RUN(a_reconfiguration_that_is_refused_changes_nothing);
    RUN(a7_a_refusal_by_one_of_two_quotas_charges_the_other_once);
    RUN(stats_count_calls_and_leave_the_rest_0);
    RUN(an_object_lives_until_its_last_owner_frees_it);
    RUN(a_limiter_without_options_goes_by_real_time);
    return finish();
}
