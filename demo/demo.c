/* tidegate at work in C: a handler that lets four in at once, a counter of visits, and ten threads that race for the tokens
 * of one window. The last line, `DEMO {...}`, gives what was seen; run.py judges it. */

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidegate.h"

enum { CALLERS = 10, AT_ONCE = 4, VISITS = 5 };

static const uint64_t handling_ns = 200000000;
static const uint64_t race_ns = 3500000000;
static const uint64_t race_limit = 5000000;
/* 3.5 s of calls see the windows that open at 0, 1, 2 and 3 s. */
static const uint64_t race_windows = 4;

/* What the ten threads share. */
typedef struct {
    pthread_barrier_t all_here;
    const tidegate_concurrency_limiter *gate;
    const tidegate_rate_limiter *limiter;
} Shared;

/* One of the ten threads, and what it was told. */
typedef struct {
    Shared *shared;
    uint64_t allowed;
    uint64_t refused;
} Caller;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_ns(uint64_t ns) {
    struct timespec left = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    while (nanosleep(&left, &left) != 0) {
    }
}

/* Ends the demo if a call of tidegate's failed. */
static void expect_ok(int32_t status, const char *error) {
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", tidegate_status_name(status), error);
        exit(1);
    }
}

static tidegate_rate_limiter *rate_limiter(const char *quota) {
    char error[TIDEGATE_ERROR_SIZE];
    tidegate_rate_limiter *limiter = NULL;
    expect_ok(tidegate_rate_limiter_parse(quota, strlen(quota), NULL, &limiter, error, sizeof error), error);
    return limiter;
}

/* Runs ten threads at once and adds up what they were told. */
static Caller together(Shared *shared, void *(*call)(void *)) {
    pthread_t threads[CALLERS];
    Caller callers[CALLERS];
    Caller all = {0};
    pthread_barrier_init(&shared->all_here, NULL, CALLERS);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (Caller){.shared = shared};
        if (pthread_create(&threads[i], NULL, call, &callers[i]) != 0) {
            fprintf(stderr, "no thread\n");
            exit(1);
        }
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        all.allowed += callers[i].allowed;
        all.refused += callers[i].refused;
    }
    pthread_barrier_destroy(&shared->all_here);
    return all;
}

static void *visit_limited(void *argument) {
    Caller *caller = argument;
    const tidegate_concurrency_limiter *gate = caller->shared->gate;
    tidegate_permit permit;
    pthread_barrier_wait(&caller->shared->all_here);
    if (tidegate_concurrency_limiter_try_acquire(gate, 1, &permit) == TIDEGATE_ALLOWED) {
        sleep_ns(handling_ns);
        expect_ok(tidegate_concurrency_limiter_release(gate, &permit, 1), "a permit that was held");
        caller->allowed++;
    } else {
        caller->refused++;
    }
    return NULL;
}

static void *visit_unlimited(void *argument) {
    Caller *caller = argument;
    pthread_barrier_wait(&caller->shared->all_here);
    sleep_ns(handling_ns);
    caller->allowed++;
    return NULL;
}

static void *race(void *argument) {
    Caller *caller = argument;
    const tidegate_rate_limiter *limiter = caller->shared->limiter;
    pthread_barrier_wait(&caller->shared->all_here);
    uint64_t end_ns = now_ns() + race_ns;
    while (now_ns() < end_ns) {
        for (int i = 0; i < 1000; i++) {
            if (tidegate_rate_limiter_try_acquire(limiter, 1) == TIDEGATE_ALLOWED) {
                caller->allowed++;
            } else {
                caller->refused++;
            }
        }
    }
    return NULL;
}

/* Four visits, and one more when the window is over: what each was told. True if the refusal named a wait. */
static bool visits(char *told, size_t size) {
    tidegate_rate_limiter *limiter = rate_limiter("3/2s fixed_window");
    tidegate_decision decision = {0};
    uint64_t wait_ns = 0;
    size_t length = 0;
    for (int visit = 1; visit <= VISITS; visit++) {
        if (visit == VISITS) {
            wait_ns = decision.retry_after_ns;
            /* The limiter's clock may be parts per million slower than the one that sleeps. */
            sleep_ns(wait_ns + 5000000);
        }
        int32_t status = tidegate_rate_limiter_decide(limiter, 1, &decision);
        expect_ok(status, "a visit");
        length += (size_t)snprintf(told + length, size - length, "%s%d", visit == 1 ? "" : " ",
                                   status == TIDEGATE_ALLOWED ? 200 : 429);
    }
    tidegate_rate_limiter_free(limiter);
    return wait_ns > 0 && wait_ns <= 2000000000;
}

int main(void) {
    char error[TIDEGATE_ERROR_SIZE];
    tidegate_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = AT_ONCE};
    tidegate_concurrency_limiter *gate = NULL;
    expect_ok(tidegate_concurrency_limiter_new(&options, &gate, error, sizeof error), error);
    Shared shared = {.gate = gate};

    Caller limited = together(&shared, visit_limited);
    printf("limit: ten callers at once on %d permits: %" PRIu64 " let in, %" PRIu64 " refused\n", AT_ONCE,
           limited.allowed, limited.refused);
    Caller unlimited = together(&shared, visit_unlimited);
    printf("nolimit: ten callers at once: %" PRIu64 " let in\n", unlimited.allowed);
    char told[64];
    bool retry_after = visits(told, sizeof told);
    printf("visit: three per 2 s, four visits, and one when the window is over: %s\n", told);
    fflush(stdout);

    tidegate_rate_limiter *limiter = rate_limiter("5000000/s fixed_window");
    shared.limiter = limiter;
    uint64_t begun_ns = now_ns();
    Caller raced = together(&shared, race);
    double seconds = (double)(now_ns() - begun_ns) / 1e9;
    double calls_per_s = (double)(raced.allowed + raced.refused) / seconds;
    printf("race: %d threads for %.1f s on %" PRIu64 " a second: %" PRIu64 " admitted, %" PRIu64
           " refused, %.1f million calls a second\n",
           CALLERS, (double)race_ns / 1e9, race_limit, raced.allowed, raced.refused, calls_per_s / 1e6);
    tidegate_rate_limiter_free(limiter);
    tidegate_concurrency_limiter_free(gate);

    bool ok = limited.allowed == AT_ONCE && limited.refused == CALLERS - AT_ONCE && retry_after &&
              unlimited.allowed == CALLERS && strcmp(told, "200 200 200 429 200") == 0 &&
              raced.allowed == race_windows * race_limit && raced.refused > 0;
    printf("DEMO {\"language\": \"c\", \"limit_ok\": %" PRIu64 ", \"limit_refused\": %" PRIu64
           ", \"retry_after\": %s, \"nolimit_ok\": %" PRIu64 ", \"visit\": \"%s\", \"race_limit\": %" PRIu64
           ", \"race_admitted\": %" PRIu64 ", \"race_refused\": %" PRIu64 ", \"race_calls_per_s\": %.0f, \"ok\": %s}\n",
           limited.allowed, limited.refused, retry_after ? "true" : "false", unlimited.allowed, told, race_limit,
           raced.allowed, raced.refused, calls_per_s, ok ? "true" : "false");
    return ok ? 0 : 1;
}
