/* Threads that wait for one another: nobody is lost, nothing is lent twice, and at the end all is back. */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "waiting_fixture.h"

enum { THREADS = 8, MOST_THREADS = 10 };

/* Rounds of a storm, of all threads together. Fewer under a memory checker, which runs one thread at a time. */
static int rounds = 100000;

typedef struct {
    pthread_barrier_t barrier;
    tidegate_clock *clock;
    const tidegate_concurrency_limiter *permits;
    const tidegate_rate_limiter *tokens;
    uint64_t asked;
    uint64_t timeout_ns;
    atomic_int seed;
    atomic_int inside;
    atomic_int most_inside;
    atomic_uint_fast64_t granted;
    atomic_int begun;
    atomic_int ended;
    atomic_int wrong;
    /* By status. */
    atomic_int outcomes[16];
} Race;

static void start(pthread_t *threads, int count, Race *race, void *(*body)(void *)) {
    CHECK_EQUAL(pthread_barrier_init(&race->barrier, NULL, (unsigned)count), 0);
    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, body, race) != 0) {
            printf("no thread\n");
            exit(1);
        }
    }
}

static void join(pthread_t *threads, int count, Race *race) {
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&race->barrier);
    CHECK_EQUAL(race->wrong, 0);
}

static void run_race(int count, Race *race, void *(*body)(void *)) {
    pthread_t threads[MOST_THREADS];
    start(threads, count, race, body);
    join(threads, count, race);
}

static void sleep_ns(uint64_t ns) {
    struct timespec time = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
    while (nanosleep(&time, &time) != 0) {
    }
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* Until so many wait. */
static void await_waiting(const tidegate_concurrency_limiter *permits, const tidegate_rate_limiter *tokens,
                          uint64_t wanted) {
    uint64_t waiting = UINT64_MAX;
    while (waiting != wanted) {
        sleep_ns(MS / 10);
        CHECK_EQUAL(permits != NULL ? tidegate_concurrency_limiter_waiting(permits, &waiting)
                                    : tidegate_rate_limiter_waiting(tokens, &waiting),
                    TIDEGATE_OK);
    }
}

static void enter(Race *race, int permits) {
    int inside = atomic_fetch_add(&race->inside, permits) + permits;
    int most = race->most_inside;
    while (inside > most && !atomic_compare_exchange_weak(&race->most_inside, &most, inside)) {
    }
}

static void *acquire_and_hold(void *argument) {
    Race *race = argument;
    pthread_barrier_wait(&race->barrier);
    for (int i = 0; i < 20; i++) {
        tidegate_permit permit;
        int32_t status =
            tidegate_concurrency_limiter_acquire(race->permits, race->asked, TIDEGATE_NEVER_NS, &permit);
        race->wrong += status != TIDEGATE_ALLOWED;
        enter(race, (int)race->asked);
        if (i % 4 == 0) {
            sleep_ns(MS / 20);
        }
        race->inside -= (int)race->asked;
        race->wrong += tidegate_concurrency_limiter_release(race->permits, &permit, 1) != TIDEGATE_OK;
    }
    return NULL;
}

static void p1_of_ten_callers_at_most_three_are_inside_at_once(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(3, 0, NULL);
    Race race = {.permits = limiter, .asked = 1};
    run_race(10, &race, acquire_and_hold);
    CHECK(race.most_inside <= 3);
    CHECK_EQUAL(permit_stats(limiter).allowed, 200);
    finish_permits(limiter);
}

static void p10_callers_that_want_all_take_turns(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(5, 0, NULL);
    Race race = {.permits = limiter, .asked = 5};
    run_race(2, &race, acquire_and_hold);
    CHECK_EQUAL(race.most_inside, 5);
    finish_permits(limiter);
}

static void *acquire_once(void *argument) {
    Race *race = argument;
    tidegate_permit permit = {0};
    int32_t status = race->permits != NULL
                         ? tidegate_concurrency_limiter_acquire(race->permits, 1, race->timeout_ns, &permit)
                         : tidegate_rate_limiter_acquire(race->tokens, 1, race->timeout_ns);
    race->wrong += status < 0;
    race->outcomes[status & 15] += 1;
    if (permit.permits != 0) {
        race->wrong += tidegate_concurrency_limiter_release(race->permits, &permit, 1) != TIDEGATE_OK;
    }
    return NULL;
}

static void p15_closing_wakes_all_threads_that_wait(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    tidegate_permit held = hold(limiter, 1);
    Race race = {.permits = limiter, .timeout_ns = TIDEGATE_NEVER_NS};
    pthread_t threads[4];
    start(threads, 4, &race, acquire_once);
    await_waiting(limiter, NULL, 4);
    CHECK_EQUAL(tidegate_concurrency_limiter_close(limiter), TIDEGATE_OK);
    join(threads, 4, &race);
    CHECK_EQUAL(race.outcomes[TIDEGATE_CLOSED], 4);
    release(limiter, &held);
    tidegate_concurrency_limiter_free(limiter);
}

static void a_manual_clock_that_is_moved_wakes_who_is_due_and_who_timed_out(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *tokens = rate_limiter("1/s burst 1", clock);
    CHECK_EQUAL(tidegate_rate_limiter_acquire(tokens, 1, 0), TIDEGATE_ALLOWED);
    Race race = {.tokens = tokens, .timeout_ns = 3 * SECOND};
    pthread_t threads[3];
    start(threads, 3, &race, acquire_once);
    await_waiting(NULL, tokens, 3);
    CHECK_EQUAL(tidegate_clock_advance(clock, 3 * SECOND), TIDEGATE_OK);
    join(threads, 3, &race);
    CHECK_EQUAL(race.outcomes[TIDEGATE_ALLOWED], 3);

    tidegate_concurrency_limiter *permits = concurrency_limiter(1, 0, clock);
    tidegate_permit held = hold(permits, 1);
    Race late = {.permits = permits, .timeout_ns = 3 * SECOND};
    start(threads, 3, &late, acquire_once);
    await_waiting(permits, NULL, 3);
    CHECK_EQUAL(tidegate_clock_advance(clock, 3 * SECOND), TIDEGATE_OK);
    join(threads, 3, &late);
    CHECK_EQUAL(late.outcomes[TIDEGATE_TIMED_OUT], 3);
    release(permits, &held);
    finish_permits(permits);
    tidegate_rate_limiter_free(tokens);
    tidegate_clock_free(clock);
}

static void a_timeout_takes_as_long_as_it_says_and_a_wait_for_tokens_as_it_must(void) {
    tidegate_concurrency_limiter *permits = concurrency_limiter(1, 0, NULL);
    tidegate_permit held = hold(permits, 1), none;
    uint64_t began_ns = now_ns();
    CHECK_EQUAL(tidegate_concurrency_limiter_acquire(permits, 1, 20 * MS, &none), TIDEGATE_TIMED_OUT);
    /* The limiter's clock and this one may run apart by parts per million. */
    CHECK(now_ns() - began_ns >= 19 * MS);
    release(permits, &held);
    finish_permits(permits);

    tidegate_rate_limiter *tokens = rate_limiter("100/s burst 1", NULL);
    began_ns = now_ns();
    for (int i = 0; i < 4; i++) {
        CHECK_EQUAL(tidegate_rate_limiter_acquire(tokens, 1, 10 * SECOND), TIDEGATE_ALLOWED);
    }
    CHECK(now_ns() - began_ns >= 29 * MS);
    tidegate_rate_limiter_free(tokens);
}

/* xorshift64*: the same numbers from the same seed. */
static uint64_t below(uint64_t *random, uint64_t bound) {
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return (*random * UINT64_C(0x2545F4914F6CDD1D) >> 33) % bound;
}

static void give_back(Race *race, const tidegate_permit *permit) {
    tidegate_permit held = *permit;
    enter(race, (int)held.permits);
    race->inside -= (int)held.permits;
    race->wrong += tidegate_concurrency_limiter_release(race->permits, &held, (int32_t)(held.permits & 1)) != TIDEGATE_OK;
}

static void end_of_storm_wait(void *user_data, int32_t status, const tidegate_permit *permit) {
    Race *race = user_data;
    if (status == TIDEGATE_POLL_AGAIN) {
        return;
    }
    race->ended++;
    if (permit != NULL) {
        give_back(race, permit);
    }
}

static void *storm_of_permits(void *argument) {
    Race *race = argument;
    uint64_t random = (uint64_t)++race->seed * UINT64_C(0x9E3779B97F4A7C15);
    pthread_barrier_wait(&race->barrier);
    for (int i = 0; i < rounds / THREADS; i++) {
        uint64_t wanted = 1 + below(&random, 3), ticket, wake_after_ns;
        tidegate_permit permit = {0};
        int32_t status = 0;
        switch (below(&random, 8)) {
        case 0:
        case 1:
        case 2: {
            uint64_t timeout_ns = below(&random, 4) > 0 ? below(&random, 200) * 1000 : TIDEGATE_NEVER_NS;
            status = tidegate_concurrency_limiter_acquire(race->permits, wanted, timeout_ns, &permit);
            break;
        }
        case 3:
            status = tidegate_concurrency_limiter_try_acquire(race->permits, wanted, &permit);
            break;
        case 4:
            status = tidegate_concurrency_limiter_set_limit(race->permits, 3 + below(&random, 4));
            break;
        default:
            status = tidegate_concurrency_limiter_acquire_async(race->permits, wanted, TIDEGATE_NEVER_NS,
                                                                end_of_storm_wait, race, &permit, &ticket,
                                                                &wake_after_ns);
            if (status == TIDEGATE_PENDING) {
                race->begun++;
                if (below(&random, 2) == 0) {
                    int32_t cancelled = tidegate_concurrency_limiter_cancel(race->permits, ticket);
                    race->wrong += cancelled != TIDEGATE_OK && cancelled != TIDEGATE_TOO_LATE;
                }
            }
        }
        race->wrong += status < 0;
        if (permit.permits != 0) {
            give_back(race, &permit);
        }
    }
    return NULL;
}

static void p13_permits_balance_after_a_storm(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(4, 0, NULL);
    Race race = {.permits = limiter};
    run_race(THREADS, &race, storm_of_permits);
    CHECK(race.most_inside <= 6);
    CHECK_EQUAL(race.inside, 0);
    CHECK_EQUAL(race.ended, race.begun);
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, 4), TIDEGATE_OK);
    finish_permits(limiter);
}

static void count_tokens(void *user_data, int32_t status, const tidegate_permit *permit) {
    Race *race = user_data;
    (void)permit;
    race->granted += status == TIDEGATE_ALLOWED;
    race->ended += status != TIDEGATE_POLL_AGAIN;
}

static void *storm_of_tokens(void *argument) {
    Race *race = argument;
    uint64_t random = (uint64_t)++race->seed * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t left_behind = 0;
    pthread_barrier_wait(&race->barrier);
    for (int i = 0; i < rounds / THREADS; i++) {
        uint64_t ticket, wake_after_ns;
        int32_t status;
        switch (below(&random, 4)) {
        case 0:
            status = tidegate_rate_limiter_acquire(race->tokens, 1, below(&random, 300) * 1000);
            race->granted += status == TIDEGATE_ALLOWED;
            break;
        case 1:
            status = tidegate_rate_limiter_try_acquire(race->tokens, 1);
            race->granted += status == TIDEGATE_ALLOWED;
            break;
        default:
            status = tidegate_rate_limiter_acquire_async(race->tokens, 1, MS, count_tokens, race, &ticket,
                                                         &wake_after_ns);
            race->granted += status == TIDEGATE_ALLOWED;
            if (status == TIDEGATE_PENDING) {
                race->begun++;
                /* Polled a round later, as by a slow timer. */
                if (left_behind != 0) {
                    race->wrong += tidegate_rate_limiter_poll(race->tokens, left_behind, &wake_after_ns) < 0;
                }
                left_behind = ticket;
                if (below(&random, 2) == 0) {
                    race->wrong += tidegate_rate_limiter_cancel(race->tokens, ticket) < 0;
                }
            }
        }
        race->wrong += status < 0;
    }
    return NULL;
}

static void tokens_are_never_more_than_due_in_a_storm(void) {
    tidegate_rate_limiter *limiter = rate_limiter("200000/s burst 100", NULL);
    Race race = {.tokens = limiter};
    uint64_t began_ns = now_ns(), waiting = 0, ticket, wake_after_ns;
    run_race(THREADS, &race, storm_of_tokens);
    /* Who is left has timed out by now, and whoever comes next sees the head do so. */
    for (int i = 0; i < 1000; i++) {
        CHECK_EQUAL(tidegate_rate_limiter_waiting(limiter, &waiting), TIDEGATE_OK);
        if (waiting == 0) {
            break;
        }
        sleep_ns(2 * MS);
        if (tidegate_rate_limiter_acquire_async(limiter, 1, 0, count_tokens, &race, &ticket, &wake_after_ns) ==
            TIDEGATE_ALLOWED) {
            race.granted++;
        }
    }
    uint64_t due = 100 + (now_ns() - began_ns) / 5000 + 1;
    CHECK_EQUAL(waiting, 0);
    CHECK(race.granted <= due);
    CHECK_EQUAL(race.ended, race.begun);
    tidegate_rate_limiter_free(limiter);
}

/* usage: test_waiting_threads [ROUNDS ANYTHING] */
int main(int count, char **arguments) {
    if (count == 3) {
        rounds = atoi(arguments[1]) * THREADS;
    }
    RUN(p1_of_ten_callers_at_most_three_are_inside_at_once);
    RUN(p10_callers_that_want_all_take_turns);
    RUN(p15_closing_wakes_all_threads_that_wait);
    RUN(a_manual_clock_that_is_moved_wakes_who_is_due_and_who_timed_out);
    RUN(a_timeout_takes_as_long_as_it_says_and_a_wait_for_tokens_as_it_must);
    RUN(p13_permits_balance_after_a_storm);
    RUN(tokens_are_never_more_than_due_in_a_storm);
    return finish();
}
