/* Keyed rate limiters through the C ABI. What the algorithms decide is the vectors' subject. */

#include "keyed_fixture.h"

static void each_key_has_a_budget_of_its_own(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("2/s", 0, 0, clock);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 2), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 1), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 3), TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("bob"), 1), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_clock_advance(clock, 500 * MS), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 1), TIDEGATE_ALLOWED);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_key_is_its_bytes_with_nuls_and_of_any_size(void) {
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("1/h", 0, 0, NULL);
    char *large = calloc(1, 100000);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, "a\0b", 3, 1), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, "a\0c", 3, 1), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, "a", 1, 1), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, "xa\0bx" + 1, 3, 1), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, large, 100000, 1), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, large, 100000, 1), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, large, 99999, 1), TIDEGATE_ALLOWED);
    free(large);
    tidegate_keyed_rate_limiter_free(limiter);
}

static void null_of_no_bytes_is_the_empty_key(void) {
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("1/h", 0, 0, NULL);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, NULL, 0, 1), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, "", 0, 1), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, "\0", 1, 1), TIDEGATE_ALLOWED);
    tidegate_keyed_rate_limiter_free(limiter);
}

static void decide_and_peek_tell_the_figures_of_the_key(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("10/s", 0, 0, clock);
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_decide(limiter, KEY("ann"), 10, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(decision.limit, 10);
    CHECK_EQUAL(decision.remaining, 0);
    CHECK_EQUAL(decision.reset_after_ns, SECOND);
    CHECK(decision.key_hash != 0);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_peek(limiter, KEY("ann"), 1, &decision), TIDEGATE_DENIED);
    CHECK_EQUAL(decision.status, TIDEGATE_DENIED);
    CHECK_EQUAL(decision.retry_after_ns, 100 * MS);
    CHECK_EQUAL(decision.cost, 0);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_peek(limiter, KEY("bob"), 1, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(decision.remaining, 10);
    for (size_t i = 0; i < sizeof decision.reserved / sizeof decision.reserved[0]; i++) {
        CHECK_EQUAL(decision.reserved[i], 0);
    }
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_batch_answers_each_key_in_turn_and_counts_repeated_ones(void) {
    enum { COUNT = 200 };
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("2/s", 0, 0, clock);
    char names[COUNT][8];
    tidegate_key keys[COUNT];
    int32_t statuses[COUNT + 1];
    /* Each key three times. */
    for (int i = 0; i < COUNT; i++) {
        int size = snprintf(names[i], sizeof names[i], "k%d", i / 3);
        keys[i] = (tidegate_key){.data = names[i], .size = (size_t)size};
    }
    statuses[COUNT] = 77;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire_many(limiter, keys, COUNT, 1, statuses), TIDEGATE_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQUAL(statuses[i], i % 3 < 2 ? TIDEGATE_ALLOWED : TIDEGATE_DENIED);
    }
    CHECK_EQUAL(statuses[COUNT], 77);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire_many(limiter, keys, 1, 3, statuses), TIDEGATE_OK);
    CHECK_EQUAL(statuses[0], TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire_many(limiter, NULL, 0, 1, NULL), TIDEGATE_OK);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_batch_with_a_mistake_takes_nothing_from_any_key(void) {
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("1/h", 0, 0, NULL);
    tidegate_key keys[100];
    int32_t statuses[100] = {77};
    for (int i = 0; i < 100; i++) {
        keys[i] = (tidegate_key){.data = "ann", .size = 3};
    }
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire_many(limiter, keys, 100, 0, statuses), TIDEGATE_ERROR_COST);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire_many(limiter, NULL, 0, 0, NULL), TIDEGATE_ERROR_COST);
    keys[99].data = NULL;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire_many(limiter, keys, 100, 1, statuses), TIDEGATE_ERROR_KEY);
    CHECK_EQUAL(statuses[0], 77);
    CHECK_EQUAL(remaining(limiter, "ann"), 1);
    tidegate_stats stats;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.allowed + stats.denied, 0);
    tidegate_keyed_rate_limiter_free(limiter);
}

static void a_refund_wants_the_key_of_the_decision_and_consumes_it(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("5/h", 0, 0, clock);
    tidegate_keyed_rate_limiter *other = keyed_rate_limiter("5/h", 0, 0, clock);
    tidegate_rate_limiter *keyless = rate_limiter("5/h", clock);
    tidegate_decision decision, refused;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_decide(limiter, KEY("ann"), 3, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_decide(limiter, KEY("bob"), 3, &refused), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_refund(limiter, KEY("bob"), &decision), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_refund(other, KEY("ann"), &decision), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(tidegate_rate_limiter_refund(keyless, &decision), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(decision.cost, 3);
    CHECK_EQUAL(remaining(limiter, "ann"), 2);
    CHECK_EQUAL(remaining(limiter, "bob"), 2);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_refund(limiter, KEY("ann"), &decision), TIDEGATE_OK);
    CHECK_EQUAL(decision.cost, 0);
    CHECK_EQUAL(remaining(limiter, "ann"), 5);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_refund(limiter, KEY("ann"), &decision), TIDEGATE_ERROR_DECISION);

    CHECK_EQUAL(tidegate_keyed_rate_limiter_decide(limiter, KEY("bob"), 3, &refused), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_refund(limiter, KEY("bob"), &refused), TIDEGATE_ERROR_DECISION);
    tidegate_rate_limiter_free(keyless);
    tidegate_keyed_rate_limiter_free(other);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_reset_is_of_one_key_and_voids_its_grants(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("5/h", 0, 0, clock);
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_decide(limiter, KEY("ann"), 4, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("bob"), 4), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_reset(limiter, KEY("ann")), TIDEGATE_OK);
    CHECK_EQUAL(remaining(limiter, "ann"), 5);
    CHECK_EQUAL(remaining(limiter, "bob"), 1);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 5), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_refund(limiter, KEY("ann"), &decision), TIDEGATE_OK);
    CHECK_EQUAL(remaining(limiter, "ann"), 0);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_reconfigure_keeps_what_is_used_of_every_key(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("10/h", 100, 0, clock);
    char error[TIDEGATE_ERROR_SIZE];
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    size_t count = 0;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 4), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_reconfigure_text(limiter, "20/h", 4, error, sizeof error), TIDEGATE_OK);
    CHECK_EQUAL(remaining(limiter, "ann"), 16);
    CHECK_EQUAL(remaining(limiter, "bob"), 20);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_quotas(limiter, quotas, TIDEGATE_MAX_QUOTAS, &count), TIDEGATE_OK);
    CHECK_EQUAL(count, 1);
    CHECK_EQUAL(quotas[0].limit, 20);
    quotas[0].limit = 5;
    quotas[0].burst = 0;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_reconfigure(limiter, quotas, 1, error, sizeof error), TIDEGATE_OK);
    CHECK_EQUAL(remaining(limiter, "ann"), 1);
    CHECK_EQUAL(
        tidegate_keyed_rate_limiter_reconfigure_text(limiter, "5/h fixed_window", 16, error, sizeof error),
        TIDEGATE_ERROR_OPTION);
    CHECK(strncmp(error, "quota: got ", 11) == 0);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_full_table_forgets_a_key_or_refuses_the_new_one_as_asked(void) {
    /* A table for one key has eight slots, which every key may use. */
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *evicting = keyed_rate_limiter("9/h", 1, TIDEGATE_WHEN_FULL_EVICT, clock);
    tidegate_keyed_rate_limiter *denying = keyed_rate_limiter("9/h", 1, TIDEGATE_WHEN_FULL_DENY_NEW, clock);
    for (uint64_t i = 1; i <= 8; i++) {
        CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(evicting, &i, sizeof i, i), TIDEGATE_ALLOWED);
        CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(denying, &i, sizeof i, i), TIDEGATE_ALLOWED);
    }
    uint64_t least = 1, most = 8;
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(evicting, KEY("new"), 9), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_peek(evicting, &least, sizeof least, 1, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(decision.remaining, 9);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_peek(evicting, &most, sizeof most, 1, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(decision.remaining, 1);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(denying, KEY("new"), 1), TIDEGATE_KEYS_FULL);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_decide(denying, KEY("new"), 1, &decision), TIDEGATE_KEYS_FULL);
    CHECK_EQUAL(decision.status, TIDEGATE_KEYS_FULL);
    CHECK(decision.retry_after_ns > 0 && decision.cost == 0);
    CHECK_EQUAL(tidegate_clock_advance(clock, decision.retry_after_ns), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(denying, KEY("new"), 1), TIDEGATE_ALLOWED);

    tidegate_stats stats;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_stats(evicting, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.evicted_live, 1);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_stats(denying, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.evicted_live, 0);
    CHECK_EQUAL(stats.allowed, 9);
    CHECK_EQUAL(stats.denied, 2);
    tidegate_keyed_rate_limiter_free(denying);
    tidegate_keyed_rate_limiter_free(evicting);
    tidegate_clock_free(clock);
}

static void statistics_tell_keys_and_room(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("2/s", 1000, 0, clock);
    tidegate_keyed_rate_limiter *usual = keyed_rate_limiter("2/s", 0, 0, clock);
    uint64_t figure = 77;
    tidegate_stats stats;
    for (uint64_t i = 0; i < 30; i++) {
        CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, &i, sizeof i, 1 + i % 2), TIDEGATE_ALLOWED);
    }
    CHECK_EQUAL(tidegate_keyed_rate_limiter_len(limiter, &figure), TIDEGATE_OK);
    CHECK_EQUAL(figure, 30);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_capacity(limiter, &figure), TIDEGATE_OK);
    CHECK_EQUAL(figure, 1000);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_capacity(usual, &figure), TIDEGATE_OK);
    CHECK_EQUAL(figure, TIDEGATE_DEFAULT_MAX_KEYS);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.live_keys, 30);
    CHECK_EQUAL(stats.capacity, 1000);
    CHECK_EQUAL(stats.limit + stats.in_flight + stats.available, 0);
    /* Half of them are at rest by then, and so as good as never seen. */
    CHECK_EQUAL(tidegate_clock_advance(clock, 500 * MS), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_len(limiter, &figure), TIDEGATE_OK);
    CHECK_EQUAL(figure, 15);
    tidegate_keyed_rate_limiter_free(usual);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void several_quotas_and_no_options_do_for_keys_too(void) {
    tidegate_quota quotas[] = {
        {.struct_size = sizeof quotas[0], .limit = 5, .period_ns = SECOND},
        {.struct_size = sizeof quotas[0], .limit = 3, .period_ns = 3600 * SECOND},
    };
    tidegate_keyed_rate_limiter *limiter = NULL;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_new(quotas, 2, NULL, &limiter, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 3), TIDEGATE_ALLOWED);
    tidegate_decision decision;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_decide(limiter, KEY("ann"), 1, &decision), TIDEGATE_DENIED);
    CHECK_EQUAL(decision.quota, 1);
    CHECK(tidegate_keyed_rate_limiter_ref(limiter) == limiter);
    tidegate_keyed_rate_limiter_free(limiter);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("bob"), 3), TIDEGATE_ALLOWED);
    tidegate_keyed_rate_limiter_free(limiter);
}

int main(void) {
    RUN(each_key_has_a_budget_of_its_own);
    RUN(a_key_is_its_bytes_with_nuls_and_of_any_size);
    RUN(null_of_no_bytes_is_the_empty_key);
    RUN(decide_and_peek_tell_the_figures_of_the_key);
    RUN(a_batch_answers_each_key_in_turn_and_counts_repeated_ones);
    RUN(a_batch_with_a_mistake_takes_nothing_from_any_key);
    RUN(a_refund_wants_the_key_of_the_decision_and_consumes_it);
    RUN(a_reset_is_of_one_key_and_voids_its_grants);
    RUN(a_reconfigure_keeps_what_is_used_of_every_key);
    RUN(a_full_table_forgets_a_key_or_refuses_the_new_one_as_asked);
    RUN(statistics_tell_keys_and_room);
    RUN(several_quotas_and_no_options_do_for_keys_too);
    return finish();
}
