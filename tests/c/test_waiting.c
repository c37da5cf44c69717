/* Waiting through the C ABI, on the manual clock where time matters: who goes first, what a timeout means, what leaving
 * does, and when callbacks run. */

#include "waiting_fixture.h"

/* How often what must leave nothing behind is done. Less under a memory checker. */
static int times = 1000000;

static void whoever_waits_first_is_granted_first(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    tidegate_permit held = hold(limiter, 1);
    Wait waits[3];
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(wait_for_permits(limiter, &waits[i], (char)('a' + i), 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
        CHECK_EQUAL(waits[i].permit.permits, 0);
        CHECK(waits[i].ticket != 0);
        CHECK(waits[i].wake_after_ns == TIDEGATE_NEVER_NS);
    }
    uint64_t waiting = 0;
    CHECK_EQUAL(tidegate_concurrency_limiter_waiting(limiter, &waiting), TIDEGATE_OK);
    CHECK_EQUAL(waiting, 3);
    release(limiter, &held);
    CHECK_TOLD("a allowed");
    CHECK_EQUAL(waits[0].permit.permits, 1);
    for (int i = 0; i < 3; i++) {
        release(limiter, &waits[i].permit);
        CHECK_EQUAL(waits[i].ends, 1);
    }
    CHECK_TOLD("b allowed, c allowed");
    CHECK_EQUAL(permit_stats(limiter).allowed, 4);
    finish_permits(limiter);
}

static void what_is_there_is_taken_at_once_and_nobody_is_called(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_concurrency_limiter *permits = concurrency_limiter(1, 0, clock);
    tidegate_rate_limiter *tokens = rate_limiter("1/s", clock);
    Wait wait;
    CHECK_EQUAL(wait_for_permits(permits, &wait, 'p', 1, TIDEGATE_NEVER_NS), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait.ticket, 0);
    CHECK(wait.wake_after_ns == TIDEGATE_NEVER_NS);
    CHECK_EQUAL(wait.permit.permits, 1);
    release(permits, &wait.permit);
    CHECK_EQUAL(wait_for_tokens(tokens, &wait, 't', 1, TIDEGATE_NEVER_NS), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait.ticket, 0);
    tidegate_permit permit;
    CHECK_EQUAL(tidegate_concurrency_limiter_acquire(permits, 1, TIDEGATE_NEVER_NS, &permit), TIDEGATE_ALLOWED);
    release(permits, &permit);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_rate_limiter_acquire(tokens, 1, TIDEGATE_NEVER_NS), TIDEGATE_ALLOWED);
    CHECK_TOLD("");
    tidegate_rate_limiter_free(tokens);
    finish_permits(permits);
    tidegate_clock_free(clock);
}

static void p5_who_gave_up_leaves_nothing_behind(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, clock);
    tidegate_permit a = hold(limiter, 1);
    Wait b;
    CHECK_EQUAL(wait_for_permits(limiter, &b, 'b', 1, 10 * MS), TIDEGATE_PENDING);
    CHECK_EQUAL(b.wake_after_ns, 10 * MS);
    CHECK_EQUAL(tidegate_clock_advance(clock, 10 * MS - 1), TIDEGATE_OK);
    CHECK_TOLD("");
    CHECK_EQUAL(tidegate_concurrency_limiter_poll(limiter, b.ticket, &b.wake_after_ns), TIDEGATE_PENDING);
    CHECK_EQUAL(b.wake_after_ns, 1);
    CHECK_EQUAL(tidegate_clock_advance(clock, 1), TIDEGATE_OK);
    CHECK_TOLD("b timed_out");
    release(limiter, &a);
    tidegate_permit c = hold(limiter, 1);
    release(limiter, &c);
    CHECK_EQUAL(permit_stats(limiter).timed_out, 1);
    finish_permits(limiter);
    tidegate_clock_free(clock);
}

static void p6_a_head_that_is_cancelled_is_passed_over(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    tidegate_permit held = hold(limiter, 1);
    Wait a, b, c;
    CHECK_EQUAL(wait_for_permits(limiter, &a, 'a', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, &b, 'b', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, &c, 'c', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_concurrency_limiter_cancel(limiter, a.ticket), TIDEGATE_OK);
    CHECK_TOLD("a cancelled");
    release(limiter, &held);
    CHECK_TOLD("b allowed");
    CHECK_EQUAL(tidegate_concurrency_limiter_cancel(limiter, b.ticket), TIDEGATE_TOO_LATE);
    release(limiter, &b.permit);
    release(limiter, &c.permit);
    CHECK_TOLD("c allowed");
    CHECK_EQUAL(permit_stats(limiter).cancelled, 1);
    finish_permits(limiter);
}

static void p7_a_permit_is_handed_over_in_its_release(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    tidegate_permit held = hold(limiter, 1), overtaking;
    Wait b;
    CHECK_EQUAL(wait_for_permits(limiter, &b, 'b', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(permit_stats(limiter).available, 0);
    release(limiter, &held);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &overtaking), TIDEGATE_DENIED);
    CHECK_TOLD("b allowed");
    release(limiter, &b.permit);
    finish_permits(limiter);
}

static void p8_a_waiter_behind_a_changing_limit_waits_for_a_release(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(2, 0, NULL);
    tidegate_permit first = hold(limiter, 1), second = hold(limiter, 1);
    Wait a, heavy;
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, 1), TIDEGATE_OK);
    CHECK_EQUAL(wait_for_permits(limiter, &a, 'a', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, 2), TIDEGATE_OK);
    CHECK_TOLD("");
    CHECK_EQUAL(wait_for_permits(limiter, &heavy, 'h', 2, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, 1), TIDEGATE_OK);
    CHECK_TOLD("h exceeds_capacity");
    release(limiter, &first);
    CHECK_TOLD("");
    release(limiter, &second);
    CHECK_TOLD("a allowed");
    release(limiter, &a.permit);
    finish_permits(limiter);
}

typedef struct {
    const tidegate_concurrency_limiter *limiter;
    tidegate_permit permit;
    uint64_t in_flight_seen;
} Changer;

static void lower_the_limit(void *user_data, int32_t status, const tidegate_permit *permit) {
    Changer *changer = user_data;
    CHECK_EQUAL(status, TIDEGATE_ALLOWED);
    changer->permit = *permit;
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(changer->limiter, 2), TIDEGATE_OK);
    changer->in_flight_seen = permit_stats(changer->limiter).in_flight;
}

static void p9_a_limit_is_changed_from_within_a_callback(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(5, 0, NULL);
    tidegate_permit held[5], none, next;
    for (int i = 0; i < 5; i++) {
        held[i] = hold(limiter, 1);
    }
    Changer changer = {.limiter = limiter};
    uint64_t ticket, wake_after_ns;
    CHECK_EQUAL(tidegate_concurrency_limiter_acquire_async(limiter, 1, TIDEGATE_NEVER_NS, lower_the_limit, &changer,
                                                           &none, &ticket, &wake_after_ns),
                TIDEGATE_PENDING);
    release(limiter, &held[0]);
    CHECK_EQUAL(changer.in_flight_seen, 5);
    CHECK_EQUAL(permit_stats(limiter).limit, 2);
    for (int i = 1; i < 5; i++) {
        CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &next), TIDEGATE_DENIED);
        release(limiter, &held[i]);
    }
    next = hold(limiter, 1);
    release(limiter, &next);
    release(limiter, &changer.permit);
    finish_permits(limiter);
}

static void p10_p11_two_that_want_all_take_turns_and_more_than_all_is_refused_at_once(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(5, 0, NULL);
    Wait first, second, excessive;
    CHECK_EQUAL(wait_for_permits(limiter, &first, 'a', 5, TIDEGATE_NEVER_NS), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait_for_permits(limiter, &second, 'b', 5, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, &excessive, 'x', 6, TIDEGATE_NEVER_NS), TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(tidegate_concurrency_limiter_acquire(limiter, 6, TIDEGATE_NEVER_NS, &excessive.permit),
                TIDEGATE_EXCEEDS_CAPACITY);
    release(limiter, &first.permit);
    CHECK_TOLD("b allowed");
    release(limiter, &second.permit);
    tidegate_permit one = hold(limiter, 1);
    release(limiter, &one);
    finish_permits(limiter);
}

static void p12_a_million_waits_that_are_cancelled_leave_nothing(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    tidegate_permit held = hold(limiter, 1);
    Wait wait;
    int lost = 0;
    for (int i = 0; i < times; i++) {
        lost += wait_for_permits(limiter, &wait, 'w', 1, TIDEGATE_NEVER_NS) != TIDEGATE_PENDING ||
                tidegate_concurrency_limiter_cancel(limiter, wait.ticket) != TIDEGATE_OK || wait.ends != 1;
        told_text[0] = '\0';
    }
    CHECK_EQUAL(lost, 0);
    release(limiter, &held);
    CHECK_EQUAL(permit_stats(limiter).cancelled, times);
    finish_permits(limiter);
}

static void p14_a_heavy_waiter_is_not_starved_by_light_ones(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(10, 0, NULL);
    tidegate_permit held[10], none;
    Wait heavy, light;
    for (int i = 0; i < 10; i++) {
        held[i] = hold(limiter, 1);
    }
    CHECK_EQUAL(wait_for_permits(limiter, &heavy, 'h', 8, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, &light, 'l', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    for (int i = 0; i < 10; i++) {
        CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &none), TIDEGATE_DENIED);
        release(limiter, &held[i]);
        CHECK_TOLD(i == 7 ? "h allowed" : i == 8 ? "l allowed" : "");
    }
    release(limiter, &heavy.permit);
    release(limiter, &light.permit);
    finish_permits(limiter);
}

static void p15_closing_ends_all_waits_for_ever(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(1, 0, NULL);
    tidegate_permit held = hold(limiter, 1), none;
    Wait a, b, late;
    CHECK_EQUAL(wait_for_permits(limiter, &a, 'a', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, &b, 'b', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_concurrency_limiter_close(limiter), TIDEGATE_OK);
    CHECK_TOLD("a closed, b closed");
    CHECK_EQUAL(tidegate_concurrency_limiter_close(limiter), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, 5), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(limiter, 1, &none), TIDEGATE_CLOSED);
    CHECK_EQUAL(tidegate_concurrency_limiter_acquire(limiter, 1, TIDEGATE_NEVER_NS, &none), TIDEGATE_CLOSED);
    CHECK_EQUAL(none.permits, 0);
    CHECK_EQUAL(wait_for_permits(limiter, &late, 'l', 1, TIDEGATE_NEVER_NS), TIDEGATE_CLOSED);
    release(limiter, &held);
    CHECK_EQUAL(permit_stats(limiter).in_flight, 0);
    CHECK_EQUAL(permit_stats(limiter).available, 0);
    tidegate_concurrency_limiter_free(limiter);
}

static void p16_a_timeout_of_0_tries_once(void) {
    tidegate_concurrency_limiter *permits = concurrency_limiter(1, 0, NULL);
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *tokens = rate_limiter("1/s", clock);
    tidegate_permit permit, none;
    Wait wait;
    CHECK_EQUAL(tidegate_concurrency_limiter_acquire(permits, 1, 0, &permit), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_acquire(permits, 1, 0, &none), TIDEGATE_TIMED_OUT);
    CHECK_EQUAL(none.permits, 0);
    CHECK_EQUAL(wait_for_permits(permits, &wait, 'w', 1, 0), TIDEGATE_TIMED_OUT);
    release(permits, &permit);
    CHECK_EQUAL(tidegate_concurrency_limiter_acquire(permits, 1, 0, &permit), TIDEGATE_ALLOWED);
    release(permits, &permit);
    CHECK_EQUAL(tidegate_rate_limiter_acquire(tokens, 1, 0), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_acquire(tokens, 1, 0), TIDEGATE_TIMED_OUT);
    CHECK_EQUAL(wait_for_tokens(tokens, &wait, 'w', 1, 0), TIDEGATE_TIMED_OUT);
    CHECK_EQUAL(token_stats(tokens).timed_out, 2);
    tidegate_rate_limiter_free(tokens);
    tidegate_clock_free(clock);
    finish_permits(permits);
}

static void p17_a_wait_that_would_outlast_its_timeout_is_refused_at_once_and_charges_nothing(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("1/s burst 1", clock);
    Wait a, b;
    CHECK_EQUAL(tidegate_rate_limiter_acquire(limiter, 1, 0), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_acquire(limiter, 1, SECOND - 1), TIDEGATE_TIMED_OUT);
    CHECK_EQUAL(wait_for_tokens(limiter, &a, 'a', 1, SECOND), TIDEGATE_PENDING);
    CHECK_EQUAL(a.wake_after_ns, SECOND);
    CHECK_EQUAL(wait_for_tokens(limiter, &b, 'b', 1, 2 * SECOND - 1), TIDEGATE_TIMED_OUT);
    CHECK_EQUAL(wait_for_tokens(limiter, &b, 'b', 2, TIDEGATE_NEVER_NS), TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(peeked(limiter).retry_after_ns, 2 * SECOND);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND - 1), TIDEGATE_OK);
    CHECK_TOLD("");
    CHECK_EQUAL(tidegate_clock_advance(clock, 1), TIDEGATE_OK);
    CHECK_TOLD("a allowed");
    CHECK_EQUAL(peeked(limiter).retry_after_ns, SECOND);
    CHECK_EQUAL(token_stats(limiter).timed_out, 2);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void count_grants(void *user_data, int32_t status, const tidegate_permit *permit) {
    CHECK(permit == NULL);
    *(int *)user_data += status == TIDEGATE_ALLOWED;
}

static void p18_five_thousand_waiters_need_one_timer_and_the_last_is_on_time(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("1000/s burst 1", clock);
    int granted = 0, timers = 0;
    CHECK_EQUAL(tidegate_rate_limiter_acquire(limiter, 1, 0), TIDEGATE_ALLOWED);
    for (int i = 0; i < 5000; i++) {
        uint64_t ticket, wake_after_ns;
        CHECK_EQUAL(tidegate_rate_limiter_acquire_async(limiter, 1, TIDEGATE_NEVER_NS, count_grants, &granted, &ticket,
                                                        &wake_after_ns),
                    TIDEGATE_PENDING);
        timers += wake_after_ns != TIDEGATE_NEVER_NS;
    }
    CHECK_EQUAL(timers, 1);
    CHECK_EQUAL(token_stats(limiter).waiting, 5000);
    CHECK_EQUAL(tidegate_clock_advance(clock, 5 * SECOND - 1), TIDEGATE_OK);
    CHECK_EQUAL(granted, 4999);
    CHECK_EQUAL(tidegate_clock_advance(clock, 1), TIDEGATE_OK);
    CHECK_EQUAL(granted, 5000);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void no_more_wait_than_max_waiters_and_none_with_the_flag(void) {
    tidegate_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = 1, .max_waiters = 1};
    tidegate_concurrency_limiter *limiter = NULL;
    CHECK_EQUAL(tidegate_concurrency_limiter_new(&options, &limiter, NULL, 0), TIDEGATE_OK);
    tidegate_permit held = hold(limiter, 1);
    Wait a, b;
    CHECK_EQUAL(wait_for_permits(limiter, &a, 'a', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_permits(limiter, &b, 'b', 1, TIDEGATE_NEVER_NS), TIDEGATE_QUEUE_FULL);
    CHECK_EQUAL(permit_stats(limiter).denied, 1);
    release(limiter, &held);
    release(limiter, &a.permit);
    CHECK_TOLD("a allowed");
    finish_permits(limiter);

    options.flags = TIDEGATE_CONCURRENCY_NO_WAITERS;
    options.max_waiters = 0;
    CHECK_EQUAL(tidegate_concurrency_limiter_new(&options, &limiter, NULL, 0), TIDEGATE_OK);
    held = hold(limiter, 1);
    CHECK_EQUAL(tidegate_concurrency_limiter_acquire(limiter, 1, TIDEGATE_NEVER_NS, &a.permit), TIDEGATE_QUEUE_FULL);
    release(limiter, &held);
    finish_permits(limiter);

    tidegate_rate_limiter_options rate_options = {.struct_size = sizeof rate_options,
                                                  .flags = TIDEGATE_RATE_NO_WAITERS};
    tidegate_rate_limiter *tokens = NULL;
    CHECK_EQUAL(tidegate_rate_limiter_parse("1/h", 3, &rate_options, &tokens, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_rate_limiter_acquire(tokens, 1, TIDEGATE_NEVER_NS), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_acquire(tokens, 1, TIDEGATE_NEVER_NS), TIDEGATE_QUEUE_FULL);
    tidegate_rate_limiter_free(tokens);
}

static void a_limit_of_0_is_a_pause(void) {
    tidegate_concurrency_limiter *limiter = concurrency_limiter(0, TIDEGATE_CONCURRENCY_LIMIT_ZERO, NULL);
    Wait a;
    CHECK_EQUAL(wait_for_permits(limiter, &a, 'a', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_concurrency_limiter_set_limit(limiter, 3), TIDEGATE_OK);
    CHECK_TOLD("a allowed");
    release(limiter, &a.permit);
    finish_permits(limiter);
}

static void tokens_that_come_back_reach_who_waits(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("1/min", clock);
    tidegate_decision decision;
    Wait a, b, c;
    CHECK_EQUAL(tidegate_rate_limiter_decide(limiter, 1, &decision), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait_for_tokens(limiter, &a, 'a', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_tokens(limiter, &b, 'b', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_tokens(limiter, &c, 'c', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &decision), TIDEGATE_OK);
    CHECK_TOLD("a allowed");
    CHECK_EQUAL(tidegate_rate_limiter_reset(limiter), TIDEGATE_OK);
    CHECK_TOLD("b allowed");
    CHECK_EQUAL(tidegate_rate_limiter_reconfigure_text(limiter, "1/s", 3, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(c.polls_asked >= 1, true);
    CHECK_EQUAL(tidegate_rate_limiter_poll(limiter, c.ticket, &c.wake_after_ns), TIDEGATE_PENDING);
    CHECK_EQUAL(c.wake_after_ns, SECOND);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND), TIDEGATE_OK);
    CHECK_TOLD("c allowed");
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void freeing_a_limiter_tells_who_waits(void) {
    tidegate_concurrency_limiter *permits = concurrency_limiter(1, 0, NULL);
    tidegate_rate_limiter *tokens = rate_limiter("1/h", NULL);
    tidegate_permit held = hold(permits, 1);
    Wait a, b;
    CHECK_EQUAL(wait_for_permits(permits, &a, 'a', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_rate_limiter_acquire(tokens, 1, 0), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait_for_tokens(tokens, &b, 'b', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    tidegate_concurrency_limiter_free(tidegate_concurrency_limiter_ref(permits));
    CHECK_TOLD("");
    tidegate_concurrency_limiter_free(permits);
    CHECK_TOLD("a closed");
    tidegate_rate_limiter_free(tokens);
    CHECK_TOLD("b closed");
    (void)held;
}

/* usage: test_waiting [TIMES ANYTHING] */
int main(int count, char **arguments) {
    if (count == 3) {
        times = atoi(arguments[1]);
    }
    RUN(whoever_waits_first_is_granted_first);
    RUN(what_is_there_is_taken_at_once_and_nobody_is_called);
    RUN(p5_who_gave_up_leaves_nothing_behind);
    RUN(p6_a_head_that_is_cancelled_is_passed_over);
    RUN(p7_a_permit_is_handed_over_in_its_release);
    RUN(p8_a_waiter_behind_a_changing_limit_waits_for_a_release);
    RUN(p9_a_limit_is_changed_from_within_a_callback);
    RUN(p10_p11_two_that_want_all_take_turns_and_more_than_all_is_refused_at_once);
    RUN(p12_a_million_waits_that_are_cancelled_leave_nothing);
    RUN(p14_a_heavy_waiter_is_not_starved_by_light_ones);
    RUN(p15_closing_ends_all_waits_for_ever);
    RUN(p16_a_timeout_of_0_tries_once);
    RUN(p17_a_wait_that_would_outlast_its_timeout_is_refused_at_once_and_charges_nothing);
    RUN(p18_five_thousand_waiters_need_one_timer_and_the_last_is_on_time);
    RUN(no_more_wait_than_max_waiters_and_none_with_the_flag);
    RUN(a_limit_of_0_is_a_pause);
    RUN(tokens_that_come_back_reach_who_waits);
    RUN(freeing_a_limiter_tells_who_waits);
    return finish();
}
