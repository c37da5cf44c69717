/* Threads that race for one limiter: the totals are exact. */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>

#include "fixture.h"

enum { THREADS = 10 };

/* Calls of each thread in a race, and races in a row. Fewer under a memory checker, which runs one thread at a time. */
static int calls = 4000;
static int rounds = 50;

/* What the threads of a race share; each race uses what it needs. */
typedef struct {
    pthread_barrier_t barrier;
    const tidegate_clock *clock;
    const tidegate_rate_limiter *rate;
    const tidegate_concurrency_limiter *concurrency;
    tidegate_decision *decision;
    tidegate_permit *permit;
    atomic_uint_fast64_t total;
    atomic_uint_fast64_t wrong;
    atomic_int inside;
} Race;

/* Runs `body` on all threads at once. */
static void run_race(Race *race, void *(*body)(void *)) {
    pthread_t threads[THREADS];
    CHECK_EQUAL(pthread_barrier_init(&race->barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, body, race) != 0) {
            printf("no thread\n");
            exit(1);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&race->barrier);
}

/* A quarter of all calls. */
static int limit(void) {
    return calls * THREADS / 4;
}

static void *spend(void *argument) {
    Race *race = argument;
    uint64_t allowed = 0;
    pthread_barrier_wait(&race->barrier);
    for (int i = 0; i < calls; i++) {
        tidegate_decision decision;
        int32_t status = i % 8 == 0 ? tidegate_rate_limiter_decide(race->rate, 1, &decision)
                                    : tidegate_rate_limiter_try_acquire(race->rate, 1);
        allowed += status == TIDEGATE_ALLOWED;
        race->wrong += status != TIDEGATE_ALLOWED && status != TIDEGATE_DENIED;
    }
    race->total += allowed;
    return NULL;
}

static void ten_threads_on_one_limiter_are_admitted_exactly_to_the_limit(void) {
    const char *algorithms[] = {"gcra", "fixed_window", "sliding_window", "sliding_log"};
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        char quota[64];
        snprintf(quota, sizeof quota, "%d/h %s", limit(), algorithms[i]);
        tidegate_clock *clock = manual_clock();
        tidegate_rate_limiter *limiter = rate_limiter(quota, clock);
        /* Twice, two periods apart: the second time on a state that is used. */
        for (int turn = 1; turn <= 2; turn++) {
            Race race = {.rate = limiter};
            run_race(&race, spend);
            CHECK_EQUAL(race.total, limit());
            CHECK_EQUAL(race.wrong, 0);
            tidegate_stats stats;
            CHECK_EQUAL(tidegate_rate_limiter_stats(limiter, &stats), TIDEGATE_OK);
            CHECK_EQUAL(stats.allowed, turn * limit());
            CHECK_EQUAL(stats.denied, turn * (calls * THREADS - limit()));
            CHECK_EQUAL(tidegate_clock_advance(clock, 7200 * SECOND), TIDEGATE_OK);
        }
        tidegate_rate_limiter_free(limiter);
        tidegate_clock_free(clock);
    }
}

static void several_quotas_never_admit_more_than_the_tightest(void) {
    char quotas[64];
    snprintf(quotas, sizeof quotas, "%d/h; %d/2h fixed_window", limit() + 100, limit());
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter(quotas, clock);
    Race race = {.rate = limiter};
    run_race(&race, spend);
    CHECK_EQUAL(race.wrong, 0);
    /* What a charge that was just being undone kept from others is still there. */
    CHECK_EQUAL(race.total + admitted(limiter, (uint64_t)limit()), limit());
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void *spend_while_time_goes_on(void *argument) {
    Race *race = argument;
    uint64_t allowed = 0;
    pthread_barrier_wait(&race->barrier);
    for (int i = 0; i < calls; i++) {
        allowed += tidegate_rate_limiter_try_acquire(race->rate, 1) == TIDEGATE_ALLOWED;
        if (i % 4 == 0) {
            race->wrong += tidegate_clock_advance(race->clock, 1000) != TIDEGATE_OK;
        }
    }
    race->total += allowed;
    return NULL;
}

static void a_bucket_that_is_never_full_loses_no_token_while_time_goes_on(void) {
    /* Emptied at the start; then 2 tokens for each 1000 ns that pass, and more calls than tokens. */
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("2/us burst 1000000", clock);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 1000000), TIDEGATE_ALLOWED);
    Race race = {.rate = limiter, .clock = clock};
    run_race(&race, spend_while_time_goes_on);
    CHECK_EQUAL(race.wrong, 0);
    CHECK_EQUAL(race.total + peeked(limiter).remaining, 2 * THREADS * calls / 4);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void *enter_and_leave(void *argument) {
    Race *race = argument;
    pthread_barrier_wait(&race->barrier);
    for (int i = 0; i < calls; i++) {
        tidegate_permit permit;
        int weight = 1 + i % 2;
        int32_t status = tidegate_concurrency_limiter_try_acquire(race->concurrency, (uint64_t)weight, &permit);
        if (status == TIDEGATE_ALLOWED) {
            race->wrong += atomic_fetch_add(&race->inside, weight) + weight > 3;
            race->total += 1;
            race->inside -= weight;
            status = tidegate_concurrency_limiter_release(race->concurrency, &permit, i % 3);
            race->wrong += status != TIDEGATE_OK;
        }
    }
    return NULL;
}

static void p1_at_most_3_are_inside_at_once_and_none_at_the_end(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(3, 0, NULL);
    Race race = {.concurrency = limiter};
    run_race(&race, enter_and_leave);
    CHECK_EQUAL(race.wrong, 0);
    tidegate_stats stats;
    CHECK_EQUAL(tidegate_concurrency_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.in_flight, 0);
    CHECK_EQUAL(stats.available, 3);
    CHECK_EQUAL(stats.allowed, race.total);
    CHECK_EQUAL(stats.allowed + stats.denied, THREADS * calls);
    CHECK_EQUAL(stats.released_ok + stats.released_failed, race.total);
    tidegate_concurrency_limiter_free(limiter);
}

static void *take_one(void *argument) {
    Race *race = argument;
    tidegate_permit permit;
    pthread_barrier_wait(&race->barrier);
    race->total += tidegate_concurrency_limiter_try_acquire(race->concurrency, 1, &permit) == TIDEGATE_ALLOWED;
    return NULL;
}

static void of_ten_threads_at_a_limit_of_4_exactly_4_get_a_permit(void) {
    for (int round = 0; round < rounds; round++) {
        tidegate_concurrency_limiter *limiter = concurrency_limiter(4, 0, NULL);
        Race race = {.concurrency = limiter};
        run_race(&race, take_one);
        CHECK_EQUAL(race.total, 4);
        tidegate_concurrency_limiter_free(limiter);
    }
}

static void *refund_the_same(void *argument) {
    Race *race = argument;
    pthread_barrier_wait(&race->barrier);
    int32_t status = tidegate_rate_limiter_refund(race->rate, race->decision);
    race->total += status == TIDEGATE_OK;
    race->wrong += status != TIDEGATE_OK && status != TIDEGATE_ERROR_DECISION;
    return NULL;
}

static void of_ten_threads_that_refund_one_decision_one_succeeds(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("100/h fixed_window", clock);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 50), TIDEGATE_ALLOWED);
    for (int round = 0; round < rounds; round++) {
        tidegate_decision decision;
        CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 1, &decision), TIDEGATE_ALLOWED);
        Race race = {.rate = limiter, .decision = &decision};
        run_race(&race, refund_the_same);
        CHECK_EQUAL(race.total, 1);
        CHECK_EQUAL(race.wrong, 0);
    }
    CHECK_EQUAL(peeked(limiter).remaining, 50);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void *release_the_same(void *argument) {
    Race *race = argument;
    pthread_barrier_wait(&race->barrier);
    int32_t status = tidegate_concurrency_limiter_release(race->concurrency, race->permit, 1);
    race->total += status == TIDEGATE_OK;
    race->wrong += status != TIDEGATE_OK && status != TIDEGATE_ERROR_PERMIT;
    return NULL;
}

static void p4_of_ten_threads_that_release_one_permit_one_succeeds(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(20, 0, NULL);
    tidegate_permit held;
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 10, &held), TIDEGATE_ALLOWED);
    for (int round = 0; round < rounds; round++) {
        tidegate_permit permit;
        CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &permit), TIDEGATE_ALLOWED);
        Race race = {.concurrency = limiter, .permit = &permit};
        run_race(&race, release_the_same);
        CHECK_EQUAL(race.total, 1);
        CHECK_EQUAL(race.wrong, 0);
    }
    uint64_t in_flight = 0;
    CHECK_EQUAL(tidegate_concurrency_limiter_in_flight(limiter, &in_flight), TIDEGATE_OK);
    CHECK_EQUAL(in_flight, 10);
    tidegate_concurrency_limiter_free(limiter);
}

static void *own_and_disown(void *argument) {
    Race *race = argument;
    pthread_barrier_wait(&race->barrier);
    for (int i = 0; i < calls; i++) {
        tidegate_rate_limiter *mine = tidegate_rate_limiter_ref(race->rate);
        race->wrong += tidegate_rate_limiter_try_acquire(mine, 1) < 0;
        tidegate_rate_limiter_free(mine);
    }
    return NULL;
}

static void owners_come_and_go_on_all_threads(void) {
    tidegate_rate_limiter *limiter = rate_limiter("5/h", NULL);
    Race race = {.rate = limiter};
    run_race(&race, own_and_disown);
    CHECK_EQUAL(race.wrong, 0);
    CHECK_EQUAL(peeked(limiter).remaining, 0);
    tidegate_rate_limiter_free(limiter);
}

static void *release_handed_over(void *argument) {
    Race *race = argument;
    race->wrong += tidegate_concurrency_limiter_release(race->concurrency, race->permit, 1) != TIDEGATE_OK;
    return NULL;
}

static void p3_a_permit_is_released_on_another_thread(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    tidegate_permit permit;
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &permit), TIDEGATE_ALLOWED);
    Race race = {.concurrency = limiter, .permit = &permit};
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, release_handed_over, &race), 0);
    pthread_join(thread, NULL);
    CHECK_EQUAL(race.wrong, 0);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &permit), TIDEGATE_ALLOWED);
    tidegate_concurrency_limiter_free(limiter);
}

/* usage: test_threads [CALLS ROUNDS] */
int main(int count, char **arguments) {
    if (count == 3) {
        calls = atoi(arguments[1]);
        rounds = atoi(arguments[2]);
    }
    RUN(ten_threads_on_one_limiter_are_admitted_exactly_to_the_limit);
    RUN(several_quotas_never_admit_more_than_the_tightest);
    RUN(a_bucket_that_is_never_full_loses_no_token_while_time_goes_on);
    RUN(p1_at_most_3_are_inside_at_once_and_none_at_the_end);
    RUN(of_ten_threads_at_a_limit_of_4_exactly_4_get_a_permit);
    RUN(of_ten_threads_that_refund_one_decision_one_succeeds);
    RUN(p4_of_ten_threads_that_release_one_permit_one_succeeds);
    RUN(owners_come_and_go_on_all_threads);
    RUN(p3_a_permit_is_released_on_another_thread);
    return finish();
}
