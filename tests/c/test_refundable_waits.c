/* Waits whose tokens are given back, since nobody wants them any more: through the C ABI, with keys and without. */

#include "keyed_fixture.h"

/* A wait, and what it was granted. */
typedef struct {
    int32_t status;
    uint64_t ticket;
    uint64_t wake_after_ns;
    tidegate_decision decision;
} Wait;

static void tell(void *user_data, int32_t status, const tidegate_decision *decision) {
    Wait *wait = user_data;
    CHECK((decision != NULL) == (status == TIDEGATE_ALLOWED));
    if (status != TIDEGATE_POLL_AGAIN) {
        wait->status = status;
    }
    if (decision != NULL) {
        wait->decision = *decision;
    }
}

static int32_t wait_for(const tidegate_rate_limiter *limiter, Wait *wait, uint64_t cost, uint64_t timeout_ns) {
    *wait = (Wait){.status = TIDEGATE_PENDING};
    return tidegate_rate_limiter_acquire_refundable_async(limiter, cost, timeout_ns, tell, wait, &wait->ticket,
                                                          &wait->wake_after_ns);
}

static int32_t wait_for_key(const tidegate_keyed_rate_limiter *limiter, const char *key, Wait *wait, uint64_t cost,
                            uint64_t timeout_ns) {
    *wait = (Wait){.status = TIDEGATE_PENDING};
    return tidegate_keyed_rate_limiter_acquire_refundable_async(limiter, KEY(key), cost, timeout_ns, tell, wait,
                                                                &wait->ticket, &wait->wake_after_ns);
}

static void a_cancel_that_is_too_late_gives_its_tokens_back(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("10/s burst 10", clock), *other = rate_limiter("1/s", clock);
    Wait wait;
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 10), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait_for(limiter, &wait, 5, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(wait.wake_after_ns, SECOND / 2);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND / 2), TIDEGATE_OK);
    CHECK_EQUAL(wait.status, TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_cancel(limiter, wait.ticket), TIDEGATE_TOO_LATE);
    CHECK_EQUAL(wait.decision.status, TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait.decision.cost, 5);
    CHECK_EQUAL(wait.decision.granted_at_ns, SECOND / 2);
    CHECK_EQUAL(tidegate_rate_limiter_refund(other, &wait.decision), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(peeked(limiter).remaining, 0);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &wait.decision), TIDEGATE_OK);
    CHECK_EQUAL(peeked(limiter).remaining, 5);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &wait.decision), TIDEGATE_ERROR_DECISION);
    tidegate_rate_limiter_free(limiter);
    tidegate_rate_limiter_free(other);
    tidegate_clock_free(clock);
}

static void what_came_back_by_itself_or_was_reset_is_not_given_back_again(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("10/s burst 10", clock);
    Wait long_ago, before_the_reset;
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 10), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait_for(limiter, &long_ago, 5, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_clock_advance(clock, 2 * SECOND), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 10), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &long_ago.decision), TIDEGATE_OK);
    CHECK_EQUAL(peeked(limiter).remaining, 0);
    CHECK_EQUAL(wait_for(limiter, &before_the_reset, 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND / 10), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_rate_limiter_reset(limiter), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 10), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &before_the_reset.decision), TIDEGATE_OK);
    CHECK_EQUAL(peeked(limiter).remaining, 0);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_keys_tokens_are_given_back_to_that_key_alone(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("10/s burst 10", 100, 0, clock);
    Wait wait;
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 10), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("bob"), 10), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait_for_key(limiter, "ann", &wait, 5, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND / 2), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_cancel(limiter, wait.ticket), TIDEGATE_TOO_LATE);
    CHECK_EQUAL(wait.decision.cost, 5);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_refund(limiter, KEY("bob"), &wait.decision), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(remaining(limiter, "ann"), 0);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_refund(limiter, KEY("ann"), &wait.decision), TIDEGATE_OK);
    CHECK_EQUAL(remaining(limiter, "ann"), 5);
    CHECK_EQUAL(remaining(limiter, "bob"), 5);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_wait_that_ends_otherwise_has_nothing_to_give_back(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("1/s", clock);
    tidegate_keyed_rate_limiter *keyed = keyed_rate_limiter("1/s", 100, 0, clock);
    Wait a, b;
    CHECK_EQUAL(wait_for(limiter, &a, 1, TIDEGATE_NEVER_NS), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait_for_key(keyed, "k", &b, 1, TIDEGATE_NEVER_NS), TIDEGATE_ALLOWED);
    CHECK(a.ticket == 0 && b.ticket == 0 && a.wake_after_ns == TIDEGATE_NEVER_NS);
    CHECK(a.status == TIDEGATE_PENDING && b.status == TIDEGATE_PENDING); /* nobody was called */
    CHECK_EQUAL(wait_for(limiter, &a, 1, SECOND - 1), TIDEGATE_TIMED_OUT);
    CHECK_EQUAL(wait_for(limiter, &a, 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(wait_for_key(keyed, "k", &b, 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_rate_limiter_cancel(limiter, a.ticket), TIDEGATE_OK);
    CHECK(a.status == TIDEGATE_CANCELLED && a.decision.cost == 0);
    tidegate_keyed_rate_limiter_free(keyed);
    CHECK(b.status == TIDEGATE_CLOSED && b.decision.cost == 0);
    CHECK_EQUAL(tidegate_rate_limiter_refund(limiter, &a.decision), TIDEGATE_ERROR_DECISION);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void wrong_input_is_told(void) {
    tidegate_rate_limiter *limiter = rate_limiter("1/s", NULL);
    tidegate_keyed_rate_limiter *keyed = keyed_rate_limiter("1/s", 100, 0, NULL);
    uint64_t out = 7;
#define BEGIN tidegate_rate_limiter_acquire_refundable_async
#define BEGIN_KEYED tidegate_keyed_rate_limiter_acquire_refundable_async
    CHECK_EQUAL(BEGIN(NULL, 1, 0, tell, NULL, &out, &out), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(BEGIN(limiter, 1, 0, NULL, NULL, &out, &out), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(BEGIN(limiter, 1, 0, tell, NULL, NULL, &out), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(BEGIN(limiter, 1, 0, tell, NULL, &out, NULL), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(BEGIN(limiter, 0, 0, tell, NULL, &out, &out), TIDEGATE_ERROR_COST);
    CHECK_EQUAL(BEGIN_KEYED(NULL, KEY("k"), 1, 0, tell, NULL, &out, &out), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(BEGIN_KEYED(keyed, NULL, 1, 1, 0, tell, NULL, &out, &out), TIDEGATE_ERROR_KEY);
    CHECK_EQUAL(BEGIN_KEYED(keyed, KEY("k"), 1, 0, NULL, NULL, &out, &out), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(BEGIN_KEYED(keyed, KEY("k"), 1, 0, tell, NULL, NULL, &out), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(BEGIN_KEYED(keyed, KEY("k"), 1, 0, tell, NULL, &out, NULL), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(BEGIN_KEYED(keyed, KEY("k"), 0, 0, tell, NULL, &out, &out), TIDEGATE_ERROR_COST);
    CHECK_EQUAL(out, 7);
    tidegate_rate_limiter_free(limiter);
    tidegate_keyed_rate_limiter_free(keyed);
}

int main(void) {
    RUN(a_cancel_that_is_too_late_gives_its_tokens_back);
    RUN(what_came_back_by_itself_or_was_reset_is_not_given_back_again);
    RUN(a_keys_tokens_are_given_back_to_that_key_alone);
    RUN(a_wait_that_ends_otherwise_has_nothing_to_give_back);
    RUN(wrong_input_is_told);
    return finish();
}
