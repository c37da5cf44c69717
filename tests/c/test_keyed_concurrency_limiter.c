/* Keyed concurrency limiters through the C ABI. */

#include "keyed_fixture.h"

static void each_key_has_permits_of_its_own(void) {
    tidegate_keyed_concurrency_limiter *limiter = keyed_concurrency_limiter(2, 0);
    tidegate_keyed_permit ann, bob, none;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 2, &ann), TIDEGATE_ALLOWED);
    CHECK_EQUAL(ann.permits, 2);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 1, &none), TIDEGATE_DENIED);
    CHECK_EQUAL(none.permits, 0);
    CHECK_EQUAL(none.limiter_id, 0);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 3, &none),
                TIDEGATE_EXCEEDS_CAPACITY);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, NULL, 0, 1, &bob), TIDEGATE_ALLOWED);
    CHECK_EQUAL(out_of(limiter, "ann"), 2);
    CHECK_EQUAL(out_of(limiter, ""), 1);
    CHECK_EQUAL(out_of(limiter, "carl"), 0);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, &ann, 1), TIDEGATE_OK);
    CHECK_EQUAL(out_of(limiter, "ann"), 0);
    CHECK_EQUAL(out_of(limiter, ""), 1);
    tidegate_keyed_concurrency_limiter_free(limiter);
}

static void a_permit_is_released_once_and_by_its_own_limiter(void) {
    tidegate_keyed_concurrency_limiter *limiter = keyed_concurrency_limiter(2, 10);
    tidegate_keyed_concurrency_limiter *other = keyed_concurrency_limiter(2, 10);
    tidegate_keyed_permit permit, copy, none = {0};
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 1, &permit), TIDEGATE_ALLOWED);
    copy = permit;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(other, &permit, 1), TIDEGATE_ERROR_PERMIT);
    CHECK_EQUAL(permit.permits, 1);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, &none, 1), TIDEGATE_ERROR_PERMIT);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, &permit, 1), TIDEGATE_OK);
    CHECK_EQUAL(permit.permits, 0);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, &permit, 1), TIDEGATE_ERROR_PERMIT);
    /* More of its key would come back than are out: the copy stays as it is. */
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, &copy, 1), TIDEGATE_ERROR_PERMIT);
    CHECK_EQUAL(copy.permits, 1);
    CHECK_EQUAL(out_of(limiter, "ann"), 0);
    tidegate_keyed_concurrency_limiter_free(other);
    tidegate_keyed_concurrency_limiter_free(limiter);
}

static void a_lowered_limit_is_that_of_all_keys_and_takes_no_permit_back(void) {
    tidegate_keyed_concurrency_limiter *limiter = keyed_concurrency_limiter(3, 10);
    tidegate_keyed_permit permit, second;
    uint64_t figure = 77;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 3, &permit), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_set_limit(limiter, 1), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_limit(limiter, &figure), TIDEGATE_OK);
    CHECK_EQUAL(figure, 1);
    CHECK_EQUAL(out_of(limiter, "ann"), 3);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_available(limiter, KEY("ann"), &figure), TIDEGATE_OK);
    CHECK_EQUAL(figure, 0);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_available(limiter, KEY("bob"), &figure), TIDEGATE_OK);
    CHECK_EQUAL(figure, 1);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_set_limit(limiter, UINT64_C(2147483648)), TIDEGATE_ERROR_OPTION);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_set_limit(limiter, 0), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("bob"), 1, &second), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, &permit, 0), TIDEGATE_OK);
    tidegate_keyed_concurrency_limiter_free(limiter);
}

static void a_key_with_permits_out_keeps_its_place(void) {
    /* A table for one key has eight slots, which every key may use. */
    tidegate_keyed_concurrency_limiter *limiter = keyed_concurrency_limiter(1, 1);
    tidegate_keyed_permit permits[8], ninth;
    for (uint64_t i = 0; i < 8; i++) {
        CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, &i, sizeof i, 1, &permits[i]),
                    TIDEGATE_ALLOWED);
    }
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 1, &ninth), TIDEGATE_KEYS_FULL);
    CHECK_EQUAL(ninth.permits, 0);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, &permits[3], 1), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 1, &ninth), TIDEGATE_ALLOWED);
    tidegate_keyed_concurrency_limiter_free(limiter);
}

static void statistics_are_those_of_all_keys(void) {
    tidegate_keyed_concurrency_limiter *limiter = keyed_concurrency_limiter(2, 100);
    tidegate_keyed_permit ann, bob, none;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 2, &ann), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("bob"), 1, &bob), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(limiter, KEY("ann"), 1, &none), TIDEGATE_DENIED);
    tidegate_stats stats;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.live_keys, 2);
    CHECK_EQUAL(stats.in_flight, 3);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, &ann, 1), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_release(limiter, &bob, 0), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_stats(limiter, &stats), TIDEGATE_OK);
    CHECK_EQUAL(stats.allowed, 2);
    CHECK_EQUAL(stats.denied, 1);
    CHECK_EQUAL(stats.released_ok, 1);
    CHECK_EQUAL(stats.released_failed, 1);
    CHECK_EQUAL(stats.limit, 2);
    CHECK_EQUAL(stats.live_keys, 0);
    CHECK_EQUAL(stats.in_flight, 0);
    CHECK_EQUAL(stats.capacity, 100);
    uint64_t capacity = 0;
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_capacity(limiter, &capacity), TIDEGATE_OK);
    CHECK_EQUAL(capacity, 100);
    CHECK(tidegate_keyed_concurrency_limiter_ref(limiter) == limiter);
    tidegate_keyed_concurrency_limiter_free(limiter);
    tidegate_keyed_concurrency_limiter_free(limiter);
}

int main(void) {
    RUN(each_key_has_permits_of_its_own);
    RUN(a_permit_is_released_once_and_by_its_own_limiter);
    RUN(a_lowered_limit_is_that_of_all_keys_and_takes_no_permit_back);
    RUN(a_key_with_permits_out_keeps_its_place);
    RUN(statistics_are_those_of_all_keys);
    return finish();
}
