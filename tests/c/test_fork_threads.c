/* The child of a fork works at once, whatever other threads of the parent were about; and what was out stays the parent's. */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "waiting_fixture.h"

enum { THREADS = 4, CHILD_SECONDS = 5 };

static int forks = 500;

static struct {
    tidegate_concurrency_limiter *permits;
    tidegate_rate_limiter *tokens;
    tidegate_rate_limiter *log;
    tidegate_keyed_rate_limiter *keyed;
    tidegate_keyed_concurrency_limiter *keyed_permits;
    tidegate_clock *clock;
    tidegate_rate_limiter *manual;
} all;

static atomic_bool stop;

static void ignore(void *user_data, int32_t status, const tidegate_permit *permit) {
    (void)user_data, (void)status, (void)permit;
}

/* A bit of everything that takes a lock; false if anything is a mistake. */
static bool work(uint64_t round) {
    tidegate_permit permit;
    tidegate_keyed_permit keyed_permit;
    tidegate_decision decision;
    uint64_t ticket, wake_after_ns;
    bool fine = tidegate_concurrency_limiter_acquire(all.permits, 1, 20000, &permit) >= 0;
    if (permit.permits != 0) {
        fine &= tidegate_concurrency_limiter_release(all.permits, &permit, 1) == TIDEGATE_OK;
    }
    fine &= tidegate_rate_limiter_acquire(all.tokens, 1, 20000) >= 0;
    fine &= tidegate_rate_limiter_acquire(all.log, 1, 20000) >= 0;
    fine &= tidegate_rate_limiter_reset(all.log) >= 0;
    fine &= tidegate_keyed_rate_limiter_decide(all.keyed, &round, sizeof round, 1, &decision) >= 0;
    fine &= tidegate_keyed_rate_limiter_reset(all.keyed, &round, sizeof round) >= 0;
    fine &= tidegate_keyed_concurrency_limiter_try_acquire(all.keyed_permits, &round, sizeof round, 1, &keyed_permit) >= 0;
    if (keyed_permit.permits != 0) {
        fine &= tidegate_keyed_concurrency_limiter_release(all.keyed_permits, &keyed_permit, 1) == TIDEGATE_OK;
    }
    fine &= tidegate_rate_limiter_reconfigure_text(all.tokens, round % 2 == 0 ? "900000/s" : "900001/s", 8, NULL, 0) >= 0;
    fine &= tidegate_rate_limiter_acquire_async(all.manual, 1, 5000, ignore, NULL, &ticket, &wake_after_ns) >= 0;
    fine &= tidegate_clock_advance(all.clock, 1000) >= 0;
    return fine;
}

/* What `run` says in a child, which is killed if it hangs. One that is fine kills itself, since a memory checker would
 * look for leaks if it exited, and find what the threads had that aren't there. */
static bool in_child(bool (*run)(void)) {
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        _exit(run() ? kill(getpid(), SIGKILL) : 1);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void *work_until_stopped(void *argument) {
    uint64_t round = (uint64_t)(uintptr_t)argument << 32;
    bool fine = true;
    while (!stop) {
        fine &= work(round++);
    }
    return (void *)(uintptr_t)!fine;
}

/* All permits can be had, since those of the parent don't count, and nobody waits. */
static bool child_works(void) {
    tidegate_permit permit;
    uint64_t waiting = 1;
    return work(7) && tidegate_concurrency_limiter_acquire(all.permits, 2, SECOND / 2, &permit) == TIDEGATE_ALLOWED &&
           tidegate_concurrency_limiter_waiting(all.permits, &waiting) == TIDEGATE_OK && waiting == 0;
}

static void l5_children_of_a_busy_process_work(void) {
    tidegate_keyed_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = 2, .max_keys = 100};
    tidegate_keyed_rate_limiter_options keyed_options = {.struct_size = sizeof keyed_options, .max_keys = 100};
    all.clock = manual_clock();
    all.permits = concurrency_limiter(2, 0, NULL);
    all.tokens = rate_limiter("1000000/s", NULL);
    all.log = rate_limiter("1000/s sliding_log", NULL);
    all.manual = rate_limiter("10/s", all.clock);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_parse("1000/s", 6, &keyed_options, &all.keyed, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_new(&options, &all.keyed_permits, NULL, 0), TIDEGATE_OK);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, work_until_stopped, (void *)i), 0);
    }
    int failed = 0;
    for (int i = 0; i < forks; i++) {
        failed += !in_child(child_works);
    }
    CHECK_EQUAL(failed, 0);
    stop = true;
    for (int i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        CHECK(wrong == NULL);
    }
    tidegate_rate_limiter_free(all.manual);
    tidegate_rate_limiter_free(all.log);
    tidegate_rate_limiter_free(all.tokens);
    tidegate_keyed_rate_limiter_free(all.keyed);
    tidegate_keyed_concurrency_limiter_free(all.keyed_permits);
    finish_permits(all.permits);
    tidegate_clock_free(all.clock);
}

static struct {
    tidegate_concurrency_limiter *limiter;
    tidegate_permit held;
    Wait wait;
} parents;

static bool child_leaves_alone_what_is_the_parents(void) {
    tidegate_permit own, none;
    uint64_t wake_after_ns;
    return tidegate_concurrency_limiter_release(parents.limiter, &parents.held, 1) == TIDEGATE_ERROR_FORKED &&
           parents.held.permits == 1 &&
           tidegate_concurrency_limiter_poll(parents.limiter, parents.wait.ticket, &wake_after_ns) ==
               TIDEGATE_ERROR_TICKET &&
           tidegate_concurrency_limiter_try_acquire(parents.limiter, 1, &own) == TIDEGATE_ALLOWED &&
           tidegate_concurrency_limiter_try_acquire(parents.limiter, 1, &none) == TIDEGATE_DENIED &&
           tidegate_concurrency_limiter_release(parents.limiter, &own, 1) == TIDEGATE_OK && parents.wait.ends == 0;
}

static void what_the_parent_holds_and_waits_for_is_not_the_childs(void) {
    parents.limiter = concurrency_limiter(1, 0, NULL);
    parents.held = hold(parents.limiter, 1);
    CHECK_EQUAL(wait_for_permits(parents.limiter, &parents.wait, 'w', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK(in_child(child_leaves_alone_what_is_the_parents));
    tidegate_stats stats = permit_stats(parents.limiter);
    CHECK_EQUAL(stats.in_flight, 1);
    CHECK_EQUAL(stats.waiting, 1);
    release(parents.limiter, &parents.held);
    CHECK_TOLD("w allowed");
    release(parents.limiter, &parents.wait.permit);
    finish_permits(parents.limiter);
}

/* usage: test_fork_threads [ANYTHING FORKS] */
int main(int count, char **arguments) {
    if (count == 3) {
        forks = atoi(arguments[2]);
    }
    RUN(l5_children_of_a_busy_process_work);
    RUN(what_the_parent_holds_and_waits_for_is_not_the_childs);
    return finish();
}
