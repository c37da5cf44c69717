/* A program of the days of ABI 1: compiled against the header of then, which lies beside it and never changes, it runs on
 * every later library. It calls every function that there was, and relies on every promise about them. */

#include <stdio.h>
#include <string.h>

#include "tidegate.h"

static int wrong;

#define EXPECT(condition) ((condition) ? (void)0 : (void)(wrong++, printf("%d: not so: %s\n", __LINE__, #condition)))

static void count_call(void *user_data, int32_t status, const tidegate_permit *permit) {
    EXPECT(status == TIDEGATE_CANCELLED && permit == NULL);
    ++*(int *)user_data;
}

static void count_keyed_call(void *user_data, int32_t status, const tidegate_keyed_permit *permit) {
    EXPECT(status == TIDEGATE_CANCELLED && permit == NULL);
    ++*(int *)user_data;
}

int main(void) {
    char error[TIDEGATE_ERROR_SIZE];
    tidegate_clock *clock = NULL, *monotonic = NULL;
    uint64_t now_ns = 1;
    EXPECT(tidegate_abi_version() >= TIDEGATE_ABI_VERSION);
    EXPECT(strlen(tidegate_version()) >= strlen("0.1.0"));
    EXPECT(strcmp(tidegate_status_name(TIDEGATE_EXCEEDS_CAPACITY), "exceeds_capacity") == 0);
    EXPECT(tidegate_clock_monotonic_new(&monotonic) == TIDEGATE_OK);
    EXPECT(tidegate_clock_manual_new(&clock) == TIDEGATE_OK);
    EXPECT(tidegate_clock_now_ns(clock, &now_ns) == TIDEGATE_OK && now_ns == 0);

    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    size_t count = 0, length = 0;
    EXPECT(tidegate_quota_parse("3/2s fixed_window", 17, quotas, TIDEGATE_MAX_QUOTAS, &count, error, sizeof error) ==
           TIDEGATE_OK);
    EXPECT(count == 1 && quotas[0].limit == 3 && quotas[0].period_ns == 2000000000 && quotas[0].struct_size == 64);
    char text[TIDEGATE_QUOTA_TEXT_SIZE];
    EXPECT(tidegate_quota_format(&quotas[0], text, sizeof text, &length) == TIDEGATE_OK && length == 17);

    tidegate_rate_limiter_options options = {.struct_size = sizeof options, .clock = clock};
    tidegate_rate_limiter *rate = NULL, *other = NULL;
    EXPECT(tidegate_rate_limiter_new(quotas, count, &options, &rate, error, sizeof error) == TIDEGATE_OK);
    EXPECT(tidegate_rate_limiter_parse("1/h", 3, NULL, &other, error, sizeof error) == TIDEGATE_OK);
    tidegate_decision decision;
    EXPECT(tidegate_rate_limiter_try_acquire(rate, 1) == TIDEGATE_ALLOWED);
    EXPECT(tidegate_rate_limiter_decide(rate, 2, &decision) == TIDEGATE_ALLOWED && decision.remaining == 0);
    EXPECT(tidegate_rate_limiter_refund(rate, &decision) == TIDEGATE_OK && decision.cost == 0);
    EXPECT(tidegate_rate_limiter_peek(rate, 3, &decision) == TIDEGATE_DENIED && decision.retry_after_ns == 2000000000);
    EXPECT(tidegate_clock_advance(clock, 1000000000) == TIDEGATE_OK);
    EXPECT(tidegate_clock_set(clock, 2000000000) == TIDEGATE_OK);
    EXPECT(tidegate_rate_limiter_try_acquire(rate, 3) == TIDEGATE_ALLOWED);
    EXPECT(tidegate_rate_limiter_reset(rate) == TIDEGATE_OK);
    quotas[0].limit = 4;
    EXPECT(tidegate_rate_limiter_reconfigure(rate, quotas, 1, error, sizeof error) == TIDEGATE_OK);
    EXPECT(tidegate_rate_limiter_reconfigure_text(rate, "5/2s fixed_window", 17, error, sizeof error) == TIDEGATE_OK);
    EXPECT(tidegate_rate_limiter_quotas(rate, quotas, TIDEGATE_MAX_QUOTAS, &count) == TIDEGATE_OK);
    EXPECT(count == 1 && quotas[0].limit == 5 && quotas[0].algorithm == TIDEGATE_ALGORITHM_FIXED_WINDOW);
    tidegate_stats stats;
    EXPECT(tidegate_rate_limiter_stats(rate, &stats) == TIDEGATE_OK && stats.allowed == 3 && stats.denied == 0);
    uint64_t figure = 0, ticket = 0, wake_after_ns = 0;
    int calls = 0;
    EXPECT(tidegate_rate_limiter_acquire(rate, 5, TIDEGATE_NEVER_NS) == TIDEGATE_ALLOWED);
    EXPECT(tidegate_rate_limiter_acquire(rate, 1, 0) == TIDEGATE_TIMED_OUT);
    EXPECT(tidegate_rate_limiter_acquire_async(rate, 1, 3000000000, count_call, &calls, &ticket, &wake_after_ns) ==
           TIDEGATE_PENDING);
    EXPECT(ticket != 0 && wake_after_ns == 2000000000);
    EXPECT(tidegate_rate_limiter_waiting(rate, &figure) == TIDEGATE_OK && figure == 1);
    EXPECT(tidegate_rate_limiter_poll(rate, ticket, &wake_after_ns) == TIDEGATE_PENDING && wake_after_ns == 2000000000);
    EXPECT(tidegate_rate_limiter_cancel(rate, ticket) == TIDEGATE_OK && calls == 1);
    EXPECT(tidegate_rate_limiter_cancel(rate, ticket) == TIDEGATE_TOO_LATE);
    tidegate_reservation reservation;
    EXPECT(tidegate_rate_limiter_reserve(other, 1, 0, &reservation) == TIDEGATE_ALLOWED && reservation.wait_ns == 0);
    EXPECT(tidegate_rate_limiter_reserve(other, 1, TIDEGATE_NEVER_NS, &reservation) == TIDEGATE_ALLOWED);
    EXPECT(tidegate_rate_limiter_cancel_reservation(other, &reservation) == TIDEGATE_OK && reservation.cost == 0);
    EXPECT(tidegate_rate_limiter_ref(rate) == rate);
    tidegate_rate_limiter_free(rate);
    tidegate_rate_limiter_free(rate);
    tidegate_rate_limiter_free(other);

    tidegate_concurrency_limiter_options concurrency = {
        .struct_size = sizeof concurrency,
        .flags = TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME,
        .limit = 2,
        .clock = clock,
    };
    tidegate_concurrency_limiter *limiter = NULL;
    tidegate_permit permit;
    EXPECT(tidegate_concurrency_limiter_new(&concurrency, &limiter, error, sizeof error) == TIDEGATE_OK);
    EXPECT(tidegate_concurrency_limiter_try_acquire(limiter, 2, &permit) == TIDEGATE_ALLOWED && permit.permits == 2);
    EXPECT(tidegate_concurrency_limiter_set_limit(limiter, 3) == TIDEGATE_OK);
    EXPECT(tidegate_concurrency_limiter_limit(limiter, &figure) == TIDEGATE_OK && figure == 3);
    EXPECT(tidegate_concurrency_limiter_in_flight(limiter, &figure) == TIDEGATE_OK && figure == 2);
    EXPECT(tidegate_concurrency_limiter_available(limiter, &figure) == TIDEGATE_OK && figure == 1);
    EXPECT(tidegate_clock_advance(clock, 5) == TIDEGATE_OK);
    EXPECT(tidegate_concurrency_limiter_release(limiter, &permit, 1) == TIDEGATE_OK && permit.permits == 0);
    EXPECT(tidegate_concurrency_limiter_stats(limiter, &stats) == TIDEGATE_OK && stats.hold_time_max_ns == 5);
    EXPECT(tidegate_concurrency_limiter_acquire(limiter, 3, 1000, &permit) == TIDEGATE_ALLOWED && permit.permits == 3);
    tidegate_permit none;
    EXPECT(tidegate_concurrency_limiter_acquire_async(limiter, 1, TIDEGATE_NEVER_NS, count_call, &calls, &none, &ticket,
                                                      &wake_after_ns) == TIDEGATE_PENDING);
    EXPECT(none.permits == 0 && wake_after_ns == TIDEGATE_NEVER_NS);
    EXPECT(tidegate_concurrency_limiter_waiting(limiter, &figure) == TIDEGATE_OK && figure == 1);
    EXPECT(tidegate_concurrency_limiter_poll(limiter, ticket, &wake_after_ns) == TIDEGATE_PENDING);
    EXPECT(tidegate_concurrency_limiter_cancel(limiter, ticket) == TIDEGATE_OK && calls == 2);
    EXPECT(tidegate_concurrency_limiter_close(limiter) == TIDEGATE_OK);
    EXPECT(tidegate_concurrency_limiter_acquire(limiter, 1, 0, &none) == TIDEGATE_CLOSED);
    EXPECT(tidegate_concurrency_limiter_release(limiter, &permit, 1) == TIDEGATE_OK);
    EXPECT(tidegate_concurrency_limiter_ref(limiter) == limiter);
    tidegate_concurrency_limiter_free(limiter);
    tidegate_concurrency_limiter_free(limiter);

    char address[TIDEGATE_IP_KEY_SIZE], key[64];
    size_t address_size = 0, key_size = 0;
    EXPECT(tidegate_ip_key("203.0.113.7", 11, TIDEGATE_DEFAULT_PREFIX, address, &address_size, error, sizeof error) ==
           TIDEGATE_OK);
    EXPECT(address_size == 4 && memcmp(address, "\xcb\x00\x71\x07", 4) == 0);
    tidegate_key parts[] = {{address, address_size}, {"/report", 7}};
    EXPECT(tidegate_key_of(parts, 2, key, sizeof key, &key_size) == TIDEGATE_OK && key_size == 27);

    tidegate_keyed_rate_limiter_options keyed = {
        .struct_size = sizeof keyed, .max_keys = 10, .when_full = TIDEGATE_WHEN_FULL_DENY_NEW, .clock = clock};
    tidegate_keyed_rate_limiter *by_key = NULL, *by_text = NULL;
    int32_t statuses[2];
    EXPECT(tidegate_keyed_rate_limiter_new(quotas, 1, &keyed, &by_key, error, sizeof error) == TIDEGATE_OK);
    EXPECT(tidegate_keyed_rate_limiter_parse("1/h", 3, NULL, &by_text, error, sizeof error) == TIDEGATE_OK);
    EXPECT(tidegate_keyed_rate_limiter_try_acquire(by_key, key, key_size, 4) == TIDEGATE_ALLOWED);
    EXPECT(tidegate_keyed_rate_limiter_try_acquire_many(by_key, parts, 2, 5, statuses) == TIDEGATE_OK);
    EXPECT(statuses[0] == TIDEGATE_ALLOWED && statuses[1] == TIDEGATE_ALLOWED);
    EXPECT(tidegate_keyed_rate_limiter_decide(by_key, key, key_size, 1, &decision) == TIDEGATE_ALLOWED);
    EXPECT(tidegate_keyed_rate_limiter_refund(by_key, key, key_size, &decision) == TIDEGATE_OK && decision.cost == 0);
    EXPECT(tidegate_keyed_rate_limiter_peek(by_key, key, key_size, 1, &decision) == TIDEGATE_ALLOWED);
    EXPECT(decision.remaining == 1);
    EXPECT(tidegate_keyed_rate_limiter_len(by_key, &figure) == TIDEGATE_OK && figure == 3);
    EXPECT(tidegate_keyed_rate_limiter_reset(by_key, key, key_size) == TIDEGATE_OK);
    EXPECT(tidegate_keyed_rate_limiter_reconfigure(by_key, quotas, 1, error, sizeof error) == TIDEGATE_OK);
    EXPECT(tidegate_keyed_rate_limiter_reconfigure_text(by_text, "2/h", 3, error, sizeof error) == TIDEGATE_OK);
    EXPECT(tidegate_keyed_rate_limiter_quotas(by_text, quotas, TIDEGATE_MAX_QUOTAS, &count) == TIDEGATE_OK);
    EXPECT(count == 1 && quotas[0].limit == 2);
    EXPECT(tidegate_keyed_rate_limiter_capacity(by_text, &figure) == TIDEGATE_OK && figure == TIDEGATE_DEFAULT_MAX_KEYS);
    EXPECT(tidegate_keyed_rate_limiter_stats(by_key, &stats) == TIDEGATE_OK && stats.allowed == 4);
    EXPECT(stats.live_keys == 2 && stats.capacity == 10 && stats.evicted_live == 0);
    EXPECT(tidegate_keyed_rate_limiter_acquire(by_text, key, key_size, 2, TIDEGATE_NEVER_NS) == TIDEGATE_ALLOWED);
    EXPECT(tidegate_keyed_rate_limiter_acquire_async(by_text, key, key_size, 1, TIDEGATE_NEVER_NS, count_call, &calls,
                                                     &ticket, &wake_after_ns) == TIDEGATE_PENDING);
    EXPECT(tidegate_keyed_rate_limiter_waiting(by_text, key, key_size, &figure) == TIDEGATE_OK && figure == 1);
    EXPECT(tidegate_keyed_rate_limiter_poll(by_text, ticket, &wake_after_ns) == TIDEGATE_PENDING);
    EXPECT(tidegate_keyed_rate_limiter_cancel(by_text, ticket) == TIDEGATE_OK && calls == 3);
    EXPECT(tidegate_keyed_rate_limiter_ref(by_key) == by_key);
    tidegate_keyed_rate_limiter_free(by_key);
    tidegate_keyed_rate_limiter_free(by_key);
    tidegate_keyed_rate_limiter_free(by_text);

    tidegate_keyed_concurrency_limiter_options lending = {.struct_size = sizeof lending, .limit = 2, .max_keys = 10};
    tidegate_keyed_concurrency_limiter *lender = NULL;
    tidegate_keyed_permit held;
    EXPECT(tidegate_keyed_concurrency_limiter_new(&lending, &lender, error, sizeof error) == TIDEGATE_OK);
    EXPECT(tidegate_keyed_concurrency_limiter_try_acquire(lender, key, key_size, 2, &held) == TIDEGATE_ALLOWED);
    EXPECT(tidegate_keyed_concurrency_limiter_set_limit(lender, 3) == TIDEGATE_OK);
    EXPECT(tidegate_keyed_concurrency_limiter_limit(lender, &figure) == TIDEGATE_OK && figure == 3);
    EXPECT(tidegate_keyed_concurrency_limiter_in_flight(lender, key, key_size, &figure) == TIDEGATE_OK && figure == 2);
    EXPECT(tidegate_keyed_concurrency_limiter_available(lender, key, key_size, &figure) == TIDEGATE_OK && figure == 1);
    EXPECT(tidegate_keyed_concurrency_limiter_capacity(lender, &figure) == TIDEGATE_OK && figure == 10);
    EXPECT(tidegate_keyed_concurrency_limiter_release(lender, &held, 1) == TIDEGATE_OK && held.permits == 0);
    EXPECT(tidegate_keyed_concurrency_limiter_stats(lender, &stats) == TIDEGATE_OK && stats.released_ok == 1);
    tidegate_keyed_permit nothing;
    EXPECT(tidegate_keyed_concurrency_limiter_acquire(lender, key, key_size, 3, 1000, &held) == TIDEGATE_ALLOWED);
    EXPECT(tidegate_keyed_concurrency_limiter_acquire_async(lender, key, key_size, 1, TIDEGATE_NEVER_NS, count_keyed_call,
                                                            &calls, &nothing, &ticket, &wake_after_ns) ==
           TIDEGATE_PENDING);
    EXPECT(nothing.permits == 0 && wake_after_ns == TIDEGATE_NEVER_NS);
    EXPECT(tidegate_keyed_concurrency_limiter_waiting(lender, key, key_size, &figure) == TIDEGATE_OK && figure == 1);
    EXPECT(tidegate_keyed_concurrency_limiter_poll(lender, ticket, &wake_after_ns) == TIDEGATE_PENDING);
    EXPECT(tidegate_keyed_concurrency_limiter_cancel(lender, ticket) == TIDEGATE_OK && calls == 4);
    EXPECT(tidegate_keyed_concurrency_limiter_close(lender) == TIDEGATE_OK);
    EXPECT(tidegate_keyed_concurrency_limiter_release(lender, &held, 1) == TIDEGATE_OK);
    EXPECT(tidegate_keyed_concurrency_limiter_ref(lender) == lender);
    tidegate_keyed_concurrency_limiter_free(lender);
    tidegate_keyed_concurrency_limiter_free(lender);

    EXPECT(tidegate_clock_ref(clock) == clock);
    tidegate_clock_free(clock);
    tidegate_clock_free(clock);
    tidegate_clock_free(monotonic);
    printf("%d passed, %d failed\n", wrong == 0, wrong != 0);
    return wrong != 0;
}
