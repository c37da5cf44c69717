/* Waiting with keys through the C ABI: each key has a line of its own. */

#define _POSIX_C_SOURCE 200809L

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keyed_fixture.h"

#define NEVER TIDEGATE_NEVER_NS

/* A wait without a thread. It must stay where it is until it is over. */
typedef struct {
    char name;
    uint64_t ticket;
    uint64_t wake_after_ns;
    tidegate_keyed_permit permit;
} Wait;

/* The ends of waits since last asked, such as "a allowed, b closed". */
static char told_text[512];

/* The next that waits are told is this. */
#define CHECK_TOLD(wanted)                                                                                             \
    do {                                                                                                               \
        CHECK_TEXT(told_text, wanted);                                                                                 \
        told_text[0] = '\0';                                                                                           \
    } while (0)

static void tell_status(char name, int32_t status) {
    if (status == TIDEGATE_POLL_AGAIN) {
        return;
    }
    size_t length = strlen(told_text);
    snprintf(told_text + length, sizeof told_text - length, "%s%c %s", length == 0 ? "" : ", ", name,
             tidegate_status_name(status));
}

static void tell_of_permit(void *user_data, int32_t status, const tidegate_keyed_permit *permit) {
    Wait *wait = user_data;
    CHECK((permit != NULL) == (status == TIDEGATE_ALLOWED));
    if (permit != NULL) {
        wait->permit = *permit;
    }
    tell_status(wait->name, status);
}

static void tell_of_tokens(void *user_data, int32_t status, const tidegate_permit *permit) {
    CHECK(permit == NULL);
    tell_status(((Wait *)user_data)->name, status);
}

static int32_t wait_for_permits(const tidegate_keyed_concurrency_limiter *limiter, const char *key, Wait *wait,
                                char name, uint64_t permits, uint64_t timeout_ns) {
    *wait = (Wait){.name = name};
    return tidegate_keyed_concurrency_limiter_acquire_async(limiter, KEY(key), permits, timeout_ns, tell_of_permit,
                                                            wait, &wait->permit, &wait->ticket, &wait->wake_after_ns);
}

static int32_t wait_for_tokens(const tidegate_keyed_rate_limiter *limiter, const char *key, Wait *wait, char name,
                               uint64_t cost, uint64_t timeout_ns) {
    *wait = (Wait){.name = name};
    return tidegate_keyed_rate_limiter_acquire_async(limiter, KEY(key), cost, timeout_ns, tell_of_tokens, wait,
                                                     &wait->ticket, &wait->wake_after_ns);
}

static tidegate_keyed_permit hold(const tidegate_keyed_concurrency_limiter *limiter, const char *key) {
    tidegate_keyed_permit permit = {0};
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_acquire(limiter, KEY(key), 1, 0, &permit), TIDEGATE_ALLOWED);
    return permit;
}

static void release(const tidegate_keyed_concurrency_limiter *limiter, tidegate_keyed_permit *permit) {
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, permit, 1), TIDEGATE_OK);
}

static uint64_t waiting_for(const tidegate_keyed_concurrency_limiter *limiter, const char *key) {
    uint64_t waiting = UINT64_MAX;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_waiting(limiter, KEY(key), &waiting), TIDEGATE_OK);
    return waiting;
}

static tidegate_stats permit_stats(const tidegate_keyed_concurrency_limiter *limiter) {
    tidegate_stats stats = {0};
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_stats(limiter, &stats), TIDEGATE_OK);
    return stats;
}

static tidegate_stats token_stats(const tidegate_keyed_rate_limiter *limiter) {
    tidegate_stats stats = {0};
    CHECK_EQUAL(tidegate_keyed_rate_limiter_stats(limiter, &stats), TIDEGATE_OK);
    return stats;
}

/* Nobody waits and nothing is out; then the limiter is freed. */
static void finish_permits(tidegate_keyed_concurrency_limiter *limiter) {
    tidegate_stats stats = permit_stats(limiter);
    CHECK_EQUAL(stats.in_flight, 0);
    CHECK_EQUAL(stats.waiting, 0);
    CHECK_EQUAL(stats.live_keys, 0);
    tidegate_keyed_concurrency_limiter_free(limiter);
}

static void each_key_has_its_own_line_of_permits(void) {
    tidegate_keyed_concurrency_limiter *limiter = keyed_concurrency_limiter(1, 10);
    tidegate_keyed_permit ann = hold(limiter, "ann"), bob = hold(limiter, "bob"), eve = hold(limiter, "eve");
    Wait a, b, c;
    CHECK_EQUAL(wait_for_permits(limiter, "ann", &a, 'a', 1, NEVER), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, "ann", &b, 'b', 1, NEVER), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, "bob", &c, 'c', 1, NEVER), TIDEGATE_PENDING);
    CHECK(a.ticket != 0 && a.wake_after_ns == NEVER && a.permit.permits == 0);
    CHECK_EQUAL(waiting_for(limiter, "ann"), 2);
    CHECK_EQUAL(waiting_for(limiter, "bob"), 1);
    CHECK_EQUAL(waiting_for(limiter, "eve"), 0);
    CHECK_EQUAL(permit_stats(limiter).waiting, 3);
    release(limiter, &bob);
    release(limiter, &eve);
    CHECK_TOLD("c allowed");
    release(limiter, &ann);
    CHECK_TOLD("a allowed");
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 1, &ann), TIDEGATE_DENIED);
    release(limiter, &a.permit);
    CHECK_TOLD("b allowed");
    release(limiter, &b.permit);
    release(limiter, &c.permit);
    CHECK_EQUAL(permit_stats(limiter).allowed, 6);
    finish_permits(limiter);
}

static void who_times_out_or_is_cancelled_is_passed_over(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_concurrency_limiter_options options = {
        .struct_size = sizeof options, .limit = 1, .max_keys = 10, .clock = clock};
    tidegate_keyed_concurrency_limiter *limiter = NULL;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_new(&options, &limiter, NULL, 0), TIDEGATE_OK);
    tidegate_keyed_permit held = hold(limiter, "k");
    Wait a, b, c;
    CHECK_EQUAL(wait_for_permits(limiter, "k", &a, 'a', 1, 10 * MS), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, "k", &b, 'b', 1, NEVER), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, "k", &c, 'c', 1, 30 * MS), TIDEGATE_PENDING);
    CHECK_EQUAL(a.wake_after_ns, 10 * MS);
    CHECK_EQUAL(tidegate_clock_advance(clock, 10 * MS - 1), TIDEGATE_OK);
    CHECK_TOLD("");
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_poll(limiter, a.ticket, &a.wake_after_ns), TIDEGATE_PENDING);
    CHECK_EQUAL(a.wake_after_ns, 1);
    CHECK_EQUAL(tidegate_clock_advance(clock, 1), TIDEGATE_OK);
    CHECK_TOLD("a timed_out");
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_cancel(limiter, b.ticket), TIDEGATE_OK);
    CHECK_TOLD("b cancelled");
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_cancel(limiter, b.ticket), TIDEGATE_TOO_LATE);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_poll(limiter, b.ticket, &b.wake_after_ns), TIDEGATE_OK);
    CHECK(b.wake_after_ns == NEVER);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_acquire(limiter, KEY("k"), 1, 0, &b.permit), TIDEGATE_TIMED_OUT);
    release(limiter, &held);
    CHECK_TOLD("c allowed");
    release(limiter, &c.permit);
    tidegate_stats stats = permit_stats(limiter);
    CHECK_EQUAL(stats.timed_out, 2);
    CHECK_EQUAL(stats.cancelled, 1);
    finish_permits(limiter);
    tidegate_clock_free(clock);
}

static void closing_and_freeing_end_the_waits_of_all_keys(void) {
    tidegate_keyed_concurrency_limiter *limiter = keyed_concurrency_limiter(1, 10);
    tidegate_keyed_permit ann = hold(limiter, "ann"), bob = hold(limiter, "bob"), none = {0};
    Wait a, b, t;
    CHECK_EQUAL(wait_for_permits(limiter, "ann", &a, 'a', 1, NEVER), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_close(limiter), TIDEGATE_OK);
    CHECK_TOLD("a closed");
    CHECK_EQUAL(wait_for_permits(limiter, "bob", &b, 'b', 1, NEVER), TIDEGATE_CLOSED);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_acquire(limiter, KEY("new"), 1, NEVER, &none), TIDEGATE_CLOSED);
    CHECK_EQUAL(none.permits, 0);
    release(limiter, &ann);
    release(limiter, &bob);
    finish_permits(limiter);

    limiter = keyed_concurrency_limiter(1, 10);
    hold(limiter, "ann");
    CHECK_EQUAL(wait_for_permits(limiter, "ann", &a, 'a', 1, NEVER), TIDEGATE_PENDING);
    tidegate_keyed_concurrency_limiter_free(limiter);
    CHECK_TOLD("a closed");
    tidegate_keyed_rate_limiter *tokens = keyed_rate_limiter("1/h", 10, 0, NULL);
    CHECK_EQUAL(wait_for_tokens(tokens, "ann", &t, 't', 1, NEVER), TIDEGATE_ALLOWED);
    CHECK_EQUAL(t.ticket, 0);
    CHECK_EQUAL(wait_for_tokens(tokens, "ann", &t, 't', 1, NEVER), TIDEGATE_PENDING);
    tidegate_keyed_rate_limiter_free(tokens);
    CHECK_TOLD("t closed");
}

static void each_key_has_its_own_line_of_tokens(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("1/s", 10, 0, clock);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_acquire(limiter, KEY("ann"), 1, NEVER), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_acquire(limiter, KEY("ann"), 1, SECOND - 1), TIDEGATE_TIMED_OUT);
    Wait a, b, c, d;
    uint64_t waiting = 0;
    CHECK_EQUAL(wait_for_tokens(limiter, "ann", &a, 'a', 1, SECOND), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_tokens(limiter, "ann", &b, 'b', 1, NEVER), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_tokens(limiter, "ann", &c, 'c', 2, NEVER), TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(wait_for_tokens(limiter, "bob", &d, 'd', 1, NEVER), TIDEGATE_ALLOWED);
    CHECK(a.wake_after_ns == SECOND && b.wake_after_ns == NEVER);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_waiting(limiter, KEY("ann"), &waiting), TIDEGATE_OK);
    CHECK_EQUAL(waiting, 2);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND - 1), TIDEGATE_OK);
    CHECK_TOLD("");
    CHECK_EQUAL(tidegate_keyed_rate_limiter_poll(limiter, a.ticket, &a.wake_after_ns), TIDEGATE_PENDING);
    CHECK_EQUAL(a.wake_after_ns, 1);
    CHECK_EQUAL(tidegate_clock_advance(clock, 1), TIDEGATE_OK);
    CHECK_TOLD("a allowed");
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 1), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_cancel(limiter, a.ticket), TIDEGATE_TOO_LATE);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_cancel(limiter, b.ticket), TIDEGATE_OK);
    CHECK_TOLD("b cancelled");
    tidegate_stats stats = token_stats(limiter);
    CHECK_EQUAL(stats.allowed, 3);
    CHECK_EQUAL(stats.timed_out, 1);
    CHECK_EQUAL(stats.cancelled, 1);
    CHECK_EQUAL(stats.waiting, 0);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_thread_waits_for_tokens_of_a_key(void) {
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("100/s burst 1", 10, 0, NULL);
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(tidegate_keyed_rate_limiter_acquire(limiter, KEY("k"), 1, NEVER), TIDEGATE_ALLOWED);
    }
    CHECK_EQUAL(token_stats(limiter).allowed, 3);
    tidegate_keyed_rate_limiter_free(limiter);
}

static void no_more_wait_for_a_key_than_may(void) {
    tidegate_keyed_concurrency_limiter_options options = {
        .struct_size = sizeof options, .limit = 1, .max_keys = 10, .max_waiters = 1};
    tidegate_keyed_concurrency_limiter *limiter = NULL;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_new(&options, &limiter, NULL, 0), TIDEGATE_OK);
    tidegate_keyed_permit held[] = {hold(limiter, "ann"), hold(limiter, "bob")}, none;
    Wait a, b, c;
    CHECK_EQUAL(wait_for_permits(limiter, "ann", &a, 'a', 1, NEVER), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, "ann", &b, 'b', 1, NEVER), TIDEGATE_QUEUE_FULL);
    CHECK_EQUAL(wait_for_permits(limiter, "bob", &c, 'c', 1, NEVER), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_acquire(limiter, KEY("bob"), 1, NEVER, &none), TIDEGATE_QUEUE_FULL);
    release(limiter, &held[0]);
    release(limiter, &held[1]);
    CHECK_TOLD("a allowed, c allowed");
    release(limiter, &a.permit);
    release(limiter, &c.permit);
    finish_permits(limiter);

    options.max_waiters = 0;
    options.flags = TIDEGATE_CONCURRENCY_NO_WAITERS;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_new(&options, &limiter, NULL, 0), TIDEGATE_OK);
    held[0] = hold(limiter, "ann");
    CHECK_EQUAL(wait_for_permits(limiter, "ann", &a, 'a', 1, NEVER), TIDEGATE_QUEUE_FULL);
    release(limiter, &held[0]);
    finish_permits(limiter);
    tidegate_keyed_rate_limiter_options rate_options = {
        .struct_size = sizeof rate_options, .flags = TIDEGATE_RATE_NO_WAITERS, .max_keys = 10};
    tidegate_keyed_rate_limiter *tokens = NULL;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_parse("1/h", 3, &rate_options, &tokens, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(wait_for_tokens(tokens, "ann", &a, 'a', 1, NEVER), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait_for_tokens(tokens, "ann", &a, 'a', 1, NEVER), TIDEGATE_QUEUE_FULL);
    tidegate_keyed_rate_limiter_free(tokens);
    CHECK_TOLD("");
}

static void a_forked_child_has_none_of_the_parents_waits_and_permits(void) {
    tidegate_keyed_concurrency_limiter *limiter = keyed_concurrency_limiter(1, 10);
    tidegate_keyed_permit held = hold(limiter, "k");
    Wait a;
    CHECK_EQUAL(wait_for_permits(limiter, "k", &a, 'a', 1, NEVER), TIDEGATE_PENDING);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        uint64_t wake_after_ns;
        bool is_right = waiting_for(limiter, "k") == 0 && out_of(limiter, "k") == 0;
        is_right &= tidegate_keyed_concurrency_limiter_release(limiter, &held, 1) == TIDEGATE_ERROR_PERMIT;
        is_right &= tidegate_keyed_concurrency_limiter_poll(limiter, a.ticket, &wake_after_ns) == TIDEGATE_ERROR_TICKET;
        tidegate_keyed_permit own = hold(limiter, "k");
        is_right &= own.permits == 1 && told_text[0] == '\0';
        /* Not by an exit, at which a memory checker would find the parent's waits, which nobody here owns. */
        _exit(is_right ? kill(getpid(), SIGKILL) : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    release(limiter, &held);
    CHECK_TOLD("a allowed");
    release(limiter, &a.permit);
    finish_permits(limiter);
}

int main(void) {
    RUN(each_key_has_its_own_line_of_permits);
    RUN(who_times_out_or_is_cancelled_is_passed_over);
    RUN(closing_and_freeing_end_the_waits_of_all_keys);
    RUN(each_key_has_its_own_line_of_tokens);
    RUN(a_thread_waits_for_tokens_of_a_key);
    RUN(no_more_wait_for_a_key_than_may);
    RUN(a_forked_child_has_none_of_the_parents_waits_and_permits);
    return finish();
}
