/* Threads that race for one key of a keyed limiter, which is new to it: the totals are exact. */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>

#include "keyed_fixture.h"

enum { THREADS = 10 };

/* Calls of each thread in a race, and races in a row. Fewer under a memory checker, which runs one thread at a time. */
static int calls = 4000;
static int rounds = 50;

/* What the threads of a race share; each race uses what it needs. */
typedef struct {
    pthread_barrier_t barrier;
    const tidegate_keyed_rate_limiter *rate;
    const tidegate_keyed_concurrency_limiter *concurrency;
    tidegate_decision *decision;
    tidegate_keyed_permit *permit;
    const char *key;
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

static void *take_one(void *argument) {
    Race *race = argument;
    pthread_barrier_wait(&race->barrier);
    int32_t status = tidegate_keyed_rate_limiter_try_acquire(race->rate, KEY(race->key), 1);
    race->total += status == TIDEGATE_ALLOWED;
    race->wrong += status != TIDEGATE_ALLOWED && status != TIDEGATE_DENIED;
    return NULL;
}

static void of_ten_threads_that_meet_one_new_key_exactly_4_are_admitted(void) {
    const char *quotas[] = {"4/h", "4/h fixed_window", "4/h sliding_window", "4/h; 4/2h fixed_window"};
    for (size_t i = 0; i < sizeof quotas / sizeof quotas[0]; i++) {
        bool is_one_quota = strchr(quotas[i], ';') == NULL;
        tidegate_clock *clock = manual_clock();
        tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter(quotas[i], 1000, 0, clock);
        for (int round = 0; round < rounds; round++) {
            char key[32];
            snprintf(key, sizeof key, "client %d", round);
            Race race = {.rate = limiter, .key = key};
            run_race(&race, take_one);
            CHECK_EQUAL(race.wrong, 0);
            /* Of several quotas a charge that was just being undone may have kept a token from others: it is still there. */
            CHECK(is_one_quota ? race.total == 4 : race.total <= 4);
            for (int more = 0; more < THREADS; more++) {
                race.total += tidegate_keyed_rate_limiter_try_acquire(limiter, KEY(key), 1) == TIDEGATE_ALLOWED;
            }
            CHECK_EQUAL(race.total, 4);
        }
        tidegate_keyed_rate_limiter_free(limiter);
        tidegate_clock_free(clock);
    }
}

static void *spend(void *argument) {
    Race *race = argument;
    const char *keys[] = {"a", "b", "c"};
    tidegate_key batch[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    pthread_barrier_wait(&race->barrier);
    for (int i = 0; i < calls; i++) {
        int32_t statuses[3];
        tidegate_decision decision;
        switch (i % 3) {
        case 0:
            race->wrong += tidegate_keyed_rate_limiter_try_acquire_many(race->rate, batch, 3, 1, statuses) != TIDEGATE_OK;
            break;
        case 1:
            for (int key = 0; key < 3; key++) {
                statuses[key] = tidegate_keyed_rate_limiter_try_acquire(race->rate, KEY(keys[key]), 1);
            }
            break;
        default:
            for (int key = 0; key < 3; key++) {
                statuses[key] = tidegate_keyed_rate_limiter_decide(race->rate, KEY(keys[key]), 1, &decision);
            }
        }
        for (int key = 0; key < 3; key++) {
            race->total += statuses[key] == TIDEGATE_ALLOWED;
            race->wrong += statuses[key] != TIDEGATE_ALLOWED && statuses[key] != TIDEGATE_DENIED;
        }
    }
    return NULL;
}

static void one_by_one_in_batches_and_with_figures_each_key_has_its_limit(void) {
    int limit = calls * THREADS / 4;
    char quota[64];
    snprintf(quota, sizeof quota, "%d/h", limit);
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter(quota, 1000, 0, clock);
    Race race = {.rate = limiter};
    run_race(&race, spend);
    CHECK_EQUAL(race.wrong, 0);
    CHECK_EQUAL(race.total, 3 * limit);
    tidegate_stats stats;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.allowed, 3 * limit);
    CHECK_EQUAL(stats.denied, 3 * (calls * THREADS - limit));
    CHECK_EQUAL(stats.live_keys, 3);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void *refund_the_same(void *argument) {
    Race *race = argument;
    pthread_barrier_wait(&race->barrier);
    int32_t status = tidegate_keyed_rate_limiter_refund(race->rate, KEY(race->key), race->decision);
    race->total += status == TIDEGATE_OK;
    race->wrong += status != TIDEGATE_OK && status != TIDEGATE_ERROR_DECISION;
    return NULL;
}

static void of_ten_threads_that_refund_one_decision_one_succeeds(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("100/h fixed_window", 10, 0, clock);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 50), TIDEGATE_ALLOWED);
    for (int round = 0; round < rounds; round++) {
        tidegate_decision decision;
        CHECK_EQUAL(tidegate_keyed_rate_limiter_decide(limiter, KEY("ann"), 1, &decision), TIDEGATE_ALLOWED);
        Race race = {.rate = limiter, .decision = &decision, .key = "ann"};
        run_race(&race, refund_the_same);
        CHECK_EQUAL(race.total, 1);
        CHECK_EQUAL(race.wrong, 0);
    }
    CHECK_EQUAL(remaining(limiter, "ann"), 50);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void *enter_and_leave(void *argument) {
    Race *race = argument;
    pthread_barrier_wait(&race->barrier);
    for (int i = 0; i < calls; i++) {
        tidegate_keyed_permit permit;
        int weight = 1 + i % 2;
        int32_t status = tidegate_keyed_concurrency_limiter_try_acquire(race->concurrency, KEY(race->key),
                                                                        (uint64_t)weight, &permit);
        if (status == TIDEGATE_ALLOWED) {
            race->wrong += atomic_fetch_add(&race->inside, weight) + weight > 3;
            race->total += 1;
            race->inside -= weight;
            race->wrong += tidegate_keyed_concurrency_limiter_release(race->concurrency, &permit, i % 3) != TIDEGATE_OK;
        }
    }
    return NULL;
}

static void at_most_3_of_a_key_are_inside_at_once_and_none_at_the_end(void) {
    tidegate_keyed_concurrency_limiter *limiter = keyed_concurrency_limiter(3, 10);
    Race race = {.concurrency = limiter, .key = "/report"};
    run_race(&race, enter_and_leave);
    CHECK_EQUAL(race.wrong, 0);
    CHECK_EQUAL(out_of(limiter, "/report"), 0);
    tidegate_stats stats;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.allowed, race.total);
    CHECK_EQUAL(stats.allowed + stats.denied, THREADS * calls);
    CHECK_EQUAL(stats.released_ok + stats.released_failed, race.total);
    CHECK_EQUAL(stats.live_keys + stats.in_flight, 0);
    tidegate_keyed_concurrency_limiter_free(limiter);
}

static void *hold_one(void *argument) {
    Race *race = argument;
    tidegate_keyed_permit permit;
    pthread_barrier_wait(&race->barrier);
    race->total += tidegate_keyed_concurrency_limiter_try_acquire(race->concurrency, KEY(race->key), 1, &permit) ==
                   TIDEGATE_ALLOWED;
    return NULL;
}

static void of_ten_threads_that_meet_one_new_key_exactly_4_get_a_permit(void) {
    tidegate_keyed_concurrency_limiter *limiter = keyed_concurrency_limiter(4, 1000);
    for (int round = 0; round < rounds; round++) {
        char key[32];
        snprintf(key, sizeof key, "client %d", round);
        Race race = {.concurrency = limiter, .key = key};
        run_race(&race, hold_one);
        CHECK_EQUAL(race.total, 4);
        CHECK_EQUAL(out_of(limiter, key), 4);
    }
    tidegate_keyed_concurrency_limiter_free(limiter);
}

static void *release_the_same(void *argument) {
    Race *race = argument;
    pthread_barrier_wait(&race->barrier);
    int32_t status = tidegate_keyed_concurrency_limiter_release(race->concurrency, race->permit, 1);
    race->total += status == TIDEGATE_OK;
    race->wrong += status != TIDEGATE_OK && status != TIDEGATE_ERROR_PERMIT;
    return NULL;
}

static void of_ten_threads_that_release_one_permit_one_succeeds(void) {
    tidegate_keyed_concurrency_limiter *limiter = keyed_concurrency_limiter(20, 10);
    tidegate_keyed_permit held;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 10, &held), TIDEGATE_ALLOWED);
    for (int round = 0; round < rounds; round++) {
        tidegate_keyed_permit permit;
        CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 1, &permit), TIDEGATE_ALLOWED);
        Race race = {.concurrency = limiter, .permit = &permit};
        run_race(&race, release_the_same);
        CHECK_EQUAL(race.total, 1);
        CHECK_EQUAL(race.wrong, 0);
    }
    CHECK_EQUAL(out_of(limiter, "ann"), 10);
    tidegate_keyed_concurrency_limiter_free(limiter);
}

/* usage: test_keyed_threads [CALLS ROUNDS] */
int main(int count, char **arguments) {
    if (count == 3) {
        calls = atoi(arguments[1]);
        rounds = atoi(arguments[2]);
    }
    RUN(of_ten_threads_that_meet_one_new_key_exactly_4_are_admitted);
    RUN(one_by_one_in_batches_and_with_figures_each_key_has_its_limit);
    RUN(of_ten_threads_that_refund_one_decision_one_succeeds);
    RUN(at_most_3_of_a_key_are_inside_at_once_and_none_at_the_end);
    RUN(of_ten_threads_that_meet_one_new_key_exactly_4_get_a_permit);
    RUN(of_ten_threads_that_release_one_permit_one_succeeds);
    return finish();
}
