/* When callbacks run: once the outputs are written, one after the other, and never again once a wait is over. */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "waiting_fixture.h"

/* How long a chain of callbacks is. Less under a memory checker. */
static int deep = 1000000;

static void sleep_ns(uint64_t ns) {
    struct timespec time = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
    while (nanosleep(&time, &time) != 0) {
    }
}

/* A wait that begins the next one and releases its permit to it, so often. */
typedef struct {
    const tidegate_concurrency_limiter *limiter;
    int left;
    int wrong;
    char *lowest;
    char *highest;
} Chain;

static void next_in_chain(void *user_data, int32_t status, const tidegate_permit *permit) {
    Chain *chain = user_data;
    char here;
    chain->lowest = chain->lowest == NULL || &here < chain->lowest ? &here : chain->lowest;
    chain->highest = chain->highest == NULL || &here > chain->highest ? &here : chain->highest;
    tidegate_permit held = *permit, none;
    uint64_t ticket, wake_after_ns;
    chain->wrong += status != TIDEGATE_ALLOWED;
    if (--chain->left > 0) {
        chain->wrong += tidegate_concurrency_limiter_acquire_async(chain->limiter, 1, TIDEGATE_NEVER_NS, next_in_chain,
                                                                   chain, &none, &ticket,
                                                                   &wake_after_ns) != TIDEGATE_PENDING;
    }
    chain->wrong += tidegate_concurrency_limiter_release(chain->limiter, &held, 1) != TIDEGATE_OK;
}

static void callbacks_that_release_a_million_deep_need_no_more_stack_than_one(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    Chain chain = {.limiter = limiter, .left = deep};
    tidegate_permit held = hold(limiter, 1), none;
    uint64_t ticket, wake_after_ns;
    CHECK_EQUAL(tidegate_concurrency_limiter_acquire_async(limiter, 1, TIDEGATE_NEVER_NS, next_in_chain, &chain, &none,
                                                           &ticket, &wake_after_ns),
                TIDEGATE_PENDING);
    release(limiter, &held);
    CHECK_EQUAL(chain.left, 0);
    CHECK_EQUAL(chain.wrong, 0);
    CHECK(chain.highest - chain.lowest < 4096);
    CHECK_EQUAL(permit_stats(limiter).allowed, deep + 1);
    finish_permits(limiter);
}

/* A wait that cancels another when it is granted, and notes whether that one was told meanwhile. */
typedef struct {
    const tidegate_concurrency_limiter *limiter;
    const Wait *other;
    tidegate_permit permit;
    int told_within;
} Canceller;

static void cancel_the_other(void *user_data, int32_t status, const tidegate_permit *permit) {
    Canceller *canceller = user_data;
    CHECK_EQUAL(status, TIDEGATE_ALLOWED);
    canceller->permit = *permit;
    CHECK_EQUAL(tidegate_concurrency_limiter_cancel(canceller->limiter, canceller->other->ticket), TIDEGATE_OK);
    canceller->told_within = canceller->other->ends;
}

static void what_a_callback_brings_about_is_told_once_it_has_returned(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    tidegate_permit held = hold(limiter, 1), none;
    Wait other;
    Canceller canceller = {.limiter = limiter, .other = &other, .told_within = -1};
    uint64_t ticket, wake_after_ns;
    CHECK_EQUAL(tidegate_concurrency_limiter_acquire_async(limiter, 1, TIDEGATE_NEVER_NS, cancel_the_other, &canceller,
                                                           &none, &ticket, &wake_after_ns),
                TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, &other, 'o', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    release(limiter, &held);
    CHECK_EQUAL(canceller.told_within, 0);
    CHECK_TOLD("o cancelled");
    release(limiter, &canceller.permit);
    finish_permits(limiter);
}

/* A wait on the heap, outputs and all, which its last call frees: a memory checker sees any use after that. */
typedef struct {
    int *ends;
    uint64_t ticket;
    uint64_t wake_after_ns;
    tidegate_permit none;
} Heap;

static void free_the_wait(void *user_data, int32_t status, const tidegate_permit *permit) {
    Heap *wait = user_data;
    (void)permit;
    if (status != TIDEGATE_POLL_AGAIN) {
        *wait->ends += 1;
        CHECK(wait->ticket != 0);
        memset(wait, 0xAB, sizeof *wait);
        free(wait);
    }
}

static void the_last_call_is_the_last_use_of_user_data_and_outputs(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, clock);
    tidegate_permit held = hold(limiter, 1);
    int ends = 0;
    for (int way = 0; way < 4; way++) {
        Heap *wait = calloc(1, sizeof *wait);
        wait->ends = &ends;
        CHECK_EQUAL(tidegate_concurrency_limiter_acquire_async(limiter, 1, SECOND, free_the_wait, wait, &wait->none,
                                                               &wait->ticket, &wait->wake_after_ns),
                    TIDEGATE_PENDING);
        if (way == 0) {
            CHECK_EQUAL(tidegate_concurrency_limiter_cancel(limiter, wait->ticket), TIDEGATE_OK);
        } else if (way == 1) {
            CHECK_EQUAL(tidegate_clock_advance(clock, SECOND), TIDEGATE_OK);
        } else if (way == 2) {
            CHECK_EQUAL(tidegate_concurrency_limiter_close(limiter), TIDEGATE_OK);
            tidegate_concurrency_limiter_free(limiter);
            limiter = concurrency_limiter(1, 0, clock);
            held = hold(limiter, 1);
        } else {
            tidegate_concurrency_limiter_free(limiter);
        }
        CHECK_EQUAL(ends, way + 1);
    }
    (void)held;
    tidegate_clock_free(clock);
}

/* A wait whose host is slow to take in that it is to poll again. */
typedef struct {
    tidegate_rate_limiter *limiter;
    atomic_bool is_within, may_return, has_ended, was_told_within;
} Slow;

static void be_slow(void *user_data, int32_t status, const tidegate_permit *permit) {
    Slow *slow = user_data;
    (void)permit;
    if (status != TIDEGATE_POLL_AGAIN) {
        slow->was_told_within = slow->is_within;
        slow->has_ended = true;
        return;
    }
    slow->is_within = true;
    while (!slow->may_return) {
        sleep_ns(MS);
    }
    slow->is_within = false;
}

static void *bring_forward(void *argument) {
    Slow *slow = argument;
    CHECK_EQUAL(tidegate_rate_limiter_reconfigure_text(slow->limiter, "1/s", 3, NULL, 0), TIDEGATE_OK);
    return NULL;
}

static void *let_return(void *argument) {
    Slow *slow = argument;
    sleep_ns(20 * MS);
    slow->may_return = true;
    return NULL;
}

static void the_last_call_comes_once_the_one_before_has_returned(void) {
    tidegate_clock *clock = manual_clock();
    Slow slow = {.limiter = rate_limiter("1/min", clock)};
    uint64_t ticket, wake_after_ns;
    CHECK_EQUAL(tidegate_rate_limiter_acquire(slow.limiter, 1, 0), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_acquire_async(slow.limiter, 1, TIDEGATE_NEVER_NS, be_slow, &slow, &ticket,
                                                    &wake_after_ns),
                TIDEGATE_PENDING);
    pthread_t forward, waker;
    CHECK_EQUAL(pthread_create(&forward, NULL, bring_forward, &slow), 0);
    while (!slow.is_within) {
        sleep_ns(MS);
    }
    CHECK_EQUAL(pthread_create(&waker, NULL, let_return, &slow), 0);
    CHECK_EQUAL(tidegate_rate_limiter_cancel(slow.limiter, ticket), TIDEGATE_OK);
    CHECK(slow.has_ended && !slow.was_told_within);
    pthread_join(forward, NULL);
    pthread_join(waker, NULL);
    tidegate_rate_limiter_free(slow.limiter);
    tidegate_clock_free(clock);
}

/* A head that, once granted, makes all tokens unspent: so the next is granted within the call that began its wait. */
static void reset_when_granted(void *user_data, int32_t status, const tidegate_permit *permit) {
    (void)permit;
    if (status == TIDEGATE_ALLOWED) {
        CHECK_EQUAL(tidegate_rate_limiter_reset(user_data), TIDEGATE_OK);
    }
}

static void a_callback_may_run_before_its_wait_is_returned_and_finds_the_ticket(void) {
    /* On the real clock, on which nobody polls the head: the wait that comes next finds it due. */
    tidegate_rate_limiter *limiter = rate_limiter("4/s burst 1", NULL);
    uint64_t ticket, wake_after_ns;
    int ends = 0, pending = 0;
    CHECK_EQUAL(tidegate_rate_limiter_acquire(limiter, 1, 0), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_acquire_async(limiter, 1, TIDEGATE_NEVER_NS, reset_when_granted, limiter, &ticket,
                                                    &wake_after_ns),
                TIDEGATE_PENDING);
    sleep_ns(260 * MS);
    Heap *wait = calloc(1, sizeof *wait);
    wait->ends = &ends;
    pending += tidegate_rate_limiter_acquire_async(limiter, 1, TIDEGATE_NEVER_NS, free_the_wait, wait, &wait->ticket,
                                                   &wait->wake_after_ns) == TIDEGATE_PENDING;
    CHECK_EQUAL(pending, 1);
    CHECK_EQUAL(ends, 1);
    tidegate_rate_limiter_free(limiter);
}

static void a_host_with_a_timer_is_told_when_to_poll(void) {
    tidegate_rate_limiter *limiter = rate_limiter("4/s burst 1", NULL);
    Wait wait;
    CHECK_EQUAL(tidegate_rate_limiter_acquire(limiter, 1, 0), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait_for_tokens(limiter, &wait, 'w', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    int32_t status = TIDEGATE_PENDING;
    for (int polls = 0; status == TIDEGATE_PENDING && polls < 1000; polls++) {
        CHECK(wait.wake_after_ns >= 1 && wait.wake_after_ns <= 250 * MS);
        sleep_ns(wait.wake_after_ns);
        status = tidegate_rate_limiter_poll(limiter, wait.ticket, &wait.wake_after_ns);
    }
    CHECK_EQUAL(status, TIDEGATE_OK);
    CHECK(wait.wake_after_ns == TIDEGATE_NEVER_NS);
    CHECK_TOLD("w allowed");
    tidegate_rate_limiter_free(limiter);
}

/* usage: test_wait_callbacks [DEEP ANYTHING] */
int main(int count, char **arguments) {
    if (count == 3) {
        deep = atoi(arguments[1]);
    }
    RUN(callbacks_that_release_a_million_deep_need_no_more_stack_than_one);
    RUN(what_a_callback_brings_about_is_told_once_it_has_returned);
    RUN(the_last_call_is_the_last_use_of_user_data_and_outputs);
    RUN(the_last_call_comes_once_the_one_before_has_returned);
    RUN(a_callback_may_run_before_its_wait_is_returned_and_finds_the_ticket);
    RUN(a_host_with_a_timer_is_told_when_to_poll);
    return finish();
}
