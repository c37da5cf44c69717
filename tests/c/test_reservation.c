/* Reservations through the C ABI, on the manual clock. */

#include "keyed_fixture.h"
#include "waiting_fixture.h"

static uint64_t reserved(const tidegate_rate_limiter *limiter, tidegate_reservation *reservation) {
    memset(reservation, 0xAB, sizeof *reservation);
    CHECK_EQUAL(tidegate_rate_limiter_reserve(limiter, 1, TIDEGATE_NEVER_NS, reservation), TIDEGATE_ALLOWED);
    CHECK_EQUAL(reservation->cost, 1);
    CHECK_EQUAL(reservation->key_hash, 0);
    for (size_t i = 0; i < sizeof reservation->reserved / sizeof reservation->reserved[0]; i++) {
        CHECK_EQUAL(reservation->reserved[i], 0);
    }
    return reservation->wait_ns;
}

static void f10_a_hole_in_the_row_is_not_given_away(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("1/s burst 1", clock);
    tidegate_reservation first, second, third, fourth;
    CHECK_EQUAL(tidegate_rate_limiter_try_acquire(limiter, 1), TIDEGATE_ALLOWED);
    CHECK_EQUAL(reserved(limiter, &first), SECOND);
    CHECK_EQUAL(reserved(limiter, &second), 2 * SECOND);
    CHECK_EQUAL(reserved(limiter, &third), 3 * SECOND);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND / 2), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_rate_limiter_cancel_reservation(limiter, &first), TIDEGATE_TOO_LATE);
    CHECK_EQUAL(reserved(limiter, &fourth), 7 * SECOND / 2);
    CHECK_EQUAL(fourth.due_ns, 4 * SECOND);
    CHECK_EQUAL(tidegate_rate_limiter_cancel_reservation(limiter, &fourth), TIDEGATE_OK);
    CHECK_EQUAL(reserved(limiter, &fourth), 7 * SECOND / 2);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void a_reservation_is_cancelled_once_and_by_its_own_limiter(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("1/s", clock), *other = rate_limiter("1/s", clock);
    tidegate_reservation reservation, nothing = {0};
    reserved(limiter, &reservation);
    reserved(limiter, &reservation);
    CHECK_EQUAL(tidegate_rate_limiter_cancel_reservation(other, &reservation), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(reservation.cost, 1);
    CHECK_EQUAL(tidegate_rate_limiter_cancel_reservation(limiter, &reservation), TIDEGATE_OK);
    CHECK_EQUAL(reservation.cost, 0);
    CHECK_EQUAL(tidegate_rate_limiter_cancel_reservation(limiter, &reservation), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(tidegate_rate_limiter_cancel_reservation(limiter, &nothing), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(peeked(limiter).retry_after_ns, SECOND);
    tidegate_rate_limiter_free(limiter);
    tidegate_rate_limiter_free(other);
    tidegate_clock_free(clock);
}

static void what_is_due_after_the_longest_wait_is_refused_and_charges_nothing(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("1/s burst 2", clock);
    tidegate_reservation reservation, refused, nothing = {0};
    CHECK_EQUAL(tidegate_rate_limiter_reserve(limiter, 2, 0, &reservation), TIDEGATE_ALLOWED);
    CHECK_EQUAL(reservation.wait_ns, 0);
    memset(&refused, 0xAB, sizeof refused);
    CHECK_EQUAL(tidegate_rate_limiter_reserve(limiter, 1, SECOND - 1, &refused), TIDEGATE_TIMED_OUT);
    CHECK(memcmp(&refused, &nothing, sizeof nothing) == 0);
    CHECK_EQUAL(tidegate_rate_limiter_reserve(limiter, 3, TIDEGATE_NEVER_NS, &refused), TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(tidegate_rate_limiter_reserve(limiter, 1, SECOND, &reservation), TIDEGATE_ALLOWED);
    tidegate_stats stats = token_stats(limiter);
    CHECK_EQUAL(stats.allowed, 2);
    CHECK_EQUAL(stats.timed_out, 1);
    CHECK_EQUAL(stats.denied, 1);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void nobody_reserves_past_who_waits(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("1/s", clock);
    tidegate_reservation reservation;
    Wait wait;
    CHECK_EQUAL(tidegate_rate_limiter_acquire(limiter, 1, 0), TIDEGATE_ALLOWED);
    CHECK_EQUAL(wait_for_tokens(limiter, &wait, 'w', 1, TIDEGATE_NEVER_NS), TIDEGATE_PENDING);
    CHECK_EQUAL(tidegate_rate_limiter_reserve(limiter, 1, TIDEGATE_NEVER_NS, &reservation), TIDEGATE_TIMED_OUT);
    CHECK_EQUAL(tidegate_clock_advance(clock, SECOND), TIDEGATE_OK);
    CHECK_TOLD("w allowed");
    CHECK_EQUAL(reserved(limiter, &reservation), SECOND);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void only_one_quota_with_gcra_is_reserved_of(void) {
    const char *quotas[] = {"1/s; 10/h", "1/s fixed_window", "1/s sliding_window", "1/s sliding_log"};
    for (size_t i = 0; i < sizeof quotas / sizeof quotas[0]; i++) {
        tidegate_rate_limiter *limiter = rate_limiter(quotas[i], NULL);
        tidegate_reservation reservation = {.due_ns = 7};
        CHECK_EQUAL(tidegate_rate_limiter_reserve(limiter, 1, TIDEGATE_NEVER_NS, &reservation),
                    TIDEGATE_ERROR_UNSUPPORTED);
        CHECK_EQUAL(reservation.due_ns, 7);
        tidegate_rate_limiter_free(limiter);
    }
}

static void each_key_has_its_own_row(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("1/s burst 1", 100, 0, clock);
    tidegate_keyed_rate_limiter *other = keyed_rate_limiter("1/s burst 1", 100, 0, clock);
    tidegate_reservation a, b, c, nothing = {0};
    CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(limiter, KEY("ann"), 1), TIDEGATE_ALLOWED);
    memset(&a, 0xAB, sizeof a);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_reserve(limiter, KEY("ann"), 1, TIDEGATE_NEVER_NS, &a), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_reserve(limiter, KEY("ann"), 1, 2 * SECOND, &b), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_reserve(limiter, KEY("bob"), 1, 0, &c), TIDEGATE_ALLOWED);
    CHECK(a.cost == 1 && a.wait_ns == SECOND && b.due_ns == 2 * SECOND && c.wait_ns == 0);
    CHECK(a.key_hash == b.key_hash && a.key_hash != c.key_hash);
    CHECK(memcmp(a.reserved, nothing.reserved, sizeof a.reserved) == 0);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_cancel_reservation(other, KEY("ann"), &b), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_cancel_reservation(limiter, KEY("bob"), &b), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(b.cost, 1);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_cancel_reservation(limiter, KEY("ann"), &a), TIDEGATE_TOO_LATE);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_cancel_reservation(limiter, KEY("ann"), &b), TIDEGATE_OK);
    CHECK(a.cost == 0 && b.cost == 0);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_cancel_reservation(limiter, KEY("ann"), &b), TIDEGATE_ERROR_DECISION);
    memset(&b, 0xAB, sizeof b);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_reserve(limiter, KEY("ann"), 1, 2 * SECOND - 1, &b), TIDEGATE_TIMED_OUT);
    CHECK(memcmp(&b, &nothing, sizeof b) == 0);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_reserve(limiter, KEY("ann"), 2, 0, &b), TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(tidegate_keyed_rate_limiter_reserve(limiter, KEY("ann"), 1, 2 * SECOND, &b), TIDEGATE_ALLOWED);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_keyed_rate_limiter_free(other);
    tidegate_clock_free(clock);
}

static void wrong_input_with_keys_is_told(void) {
    tidegate_keyed_rate_limiter *limiter = keyed_rate_limiter("1/s", 100, 0, NULL);
    tidegate_keyed_rate_limiter *windows = keyed_rate_limiter("1/s fixed_window", 100, 0, NULL);
    tidegate_reservation reservation = {.due_ns = 7};
#define RESERVE tidegate_keyed_rate_limiter_reserve
#define CANCEL tidegate_keyed_rate_limiter_cancel_reservation
    CHECK_EQUAL(RESERVE(NULL, KEY("k"), 1, 0, &reservation), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(RESERVE(limiter, NULL, 1, 1, 0, &reservation), TIDEGATE_ERROR_KEY);
    CHECK_EQUAL(RESERVE(limiter, KEY("k"), 0, 0, &reservation), TIDEGATE_ERROR_COST);
    CHECK_EQUAL(RESERVE(limiter, KEY("k"), 1, 0, NULL), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(RESERVE(windows, KEY("k"), 1, 0, &reservation), TIDEGATE_ERROR_UNSUPPORTED);
    CHECK_EQUAL(CANCEL(NULL, KEY("k"), &reservation), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(CANCEL(limiter, NULL, 1, &reservation), TIDEGATE_ERROR_KEY);
    CHECK_EQUAL(CANCEL(limiter, KEY("k"), NULL), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(CANCEL(limiter, KEY("k"), &reservation), TIDEGATE_ERROR_DECISION);
    CHECK_EQUAL(reservation.due_ns, 7);
    CHECK_EQUAL(remaining(limiter, "k"), 1);
    tidegate_keyed_rate_limiter_free(limiter);
    tidegate_keyed_rate_limiter_free(windows);
}

int main(void) {
    RUN(f10_a_hole_in_the_row_is_not_given_away);
    RUN(a_reservation_is_cancelled_once_and_by_its_own_limiter);
    RUN(what_is_due_after_the_longest_wait_is_refused_and_charges_nothing);
    RUN(nobody_reserves_past_who_waits);
    RUN(only_one_quota_with_gcra_is_reserved_of);
    RUN(each_key_has_its_own_row);
    RUN(wrong_input_with_keys_is_told);
    return finish();
}
