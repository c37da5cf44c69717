/* Every public macro has the value that is pinned for ever, in the preprocessor as in expressions. run.sh checks that
 * each macro of the header is here. */

#include <assert.h>

#include "check.h"
#include "tidegate.h"

/* Each value once as a constant expression... */
#define PINNED(macro, value) static_assert((macro) == (value), #macro)

/* ... and once where only the preprocessor sees it. */
#if TIDEGATE_ABI_VERSION != 1 || TIDEGATE_ERROR_PANIC != -12 || TIDEGATE_MAX_COST != 9007199254740991 ||               \
    TIDEGATE_NEVER_NS != 0xFFFFFFFFFFFFFFFF
#error "a macro that the preprocessor can't use"
#endif

PINNED(TIDEGATE_ABI_VERSION, 1);
PINNED(TIDEGATE_OK, 0);
PINNED(TIDEGATE_ALLOWED, 0);
PINNED(TIDEGATE_DENIED, 1);
PINNED(TIDEGATE_EXCEEDS_CAPACITY, 2);
PINNED(TIDEGATE_TIMED_OUT, 3);
PINNED(TIDEGATE_CLOSED, 4);
PINNED(TIDEGATE_QUEUE_FULL, 5);
PINNED(TIDEGATE_KEYS_FULL, 6);
PINNED(TIDEGATE_CANCELLED, 7);
PINNED(TIDEGATE_PENDING, 8);
PINNED(TIDEGATE_TOO_LATE, 9);
PINNED(TIDEGATE_POLL_AGAIN, 10);
PINNED(TIDEGATE_NO_RULE, 11);
PINNED(TIDEGATE_ERROR_NULL_POINTER, -1);
PINNED(TIDEGATE_ERROR_STRUCT_SIZE, -2);
PINNED(TIDEGATE_ERROR_OPTION, -3);
PINNED(TIDEGATE_ERROR_KEY, -4);
PINNED(TIDEGATE_ERROR_COST, -5);
PINNED(TIDEGATE_ERROR_PERMIT, -6);
PINNED(TIDEGATE_ERROR_DECISION, -7);
PINNED(TIDEGATE_ERROR_TICKET, -8);
PINNED(TIDEGATE_ERROR_MEMORY, -9);
PINNED(TIDEGATE_ERROR_UNSUPPORTED, -10);
PINNED(TIDEGATE_ERROR_FORKED, -11);
PINNED(TIDEGATE_ERROR_PANIC, -12);
PINNED(TIDEGATE_MAX_COST, UINT64_C(9007199254740991));
PINNED(TIDEGATE_NEVER_NS, UINT64_MAX);
PINNED(TIDEGATE_ERROR_SIZE, 512);
PINNED(TIDEGATE_ALGORITHM_DEFAULT, 0);
PINNED(TIDEGATE_ALGORITHM_GCRA, 1);
PINNED(TIDEGATE_ALGORITHM_FIXED_WINDOW, 2);
PINNED(TIDEGATE_ALGORITHM_SLIDING_WINDOW, 3);
PINNED(TIDEGATE_ALGORITHM_SLIDING_LOG, 4);
PINNED(TIDEGATE_ANCHOR_DEFAULT, 0);
PINNED(TIDEGATE_ANCHOR_FIRST, 1);
PINNED(TIDEGATE_ANCHOR_CLOCK, 2);
PINNED(TIDEGATE_QUOTA_LIMIT_ZERO, 1);
PINNED(TIDEGATE_MAX_QUOTAS, 16);
PINNED(TIDEGATE_QUOTA_TEXT_SIZE, 128);
PINNED(TIDEGATE_CONCURRENCY_LIMIT_ZERO, 1);
PINNED(TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME, 2);
PINNED(TIDEGATE_CONCURRENCY_NO_WAITERS, 4);
PINNED(TIDEGATE_RATE_NO_WAITERS, 1);
PINNED(TIDEGATE_MAX_WAITERS, UINT64_C(4294967294));
PINNED(TIDEGATE_DEFAULT_MAX_KEYS, 100000);
PINNED(TIDEGATE_MAX_KEYS, UINT64_C(4294967296));
PINNED(TIDEGATE_MAX_KEY_QUOTAS, 65536);
PINNED(TIDEGATE_DENIED_KEY_SIZE, 128);
PINNED(TIDEGATE_MAX_TRACK_DENIED, 65536);
PINNED(TIDEGATE_IP_KEY_SIZE, 16);
PINNED(TIDEGATE_DEFAULT_PREFIX, -1);
PINNED(TIDEGATE_WHEN_FULL_DEFAULT, 0);
PINNED(TIDEGATE_WHEN_FULL_EVICT, 1);
PINNED(TIDEGATE_WHEN_FULL_DENY_NEW, 2);
PINNED(TIDEGATE_FORMAT_TOML, 1);
PINNED(TIDEGATE_FORMAT_JSON, 2);
PINNED(TIDEGATE_FORMAT_YAML, 3);
PINNED(TIDEGATE_FAULTS_SIZE, 8192);
PINNED(TIDEGATE_TEXT_RATE_LIMIT_POLICY, 1);
PINNED(TIDEGATE_TEXT_RATE_LIMIT, 2);
PINNED(TIDEGATE_TEXT_RULES, 3);
PINNED(TIDEGATE_TEXT_MESSAGE, 4);
PINNED(TIDEGATE_TEXT_RULE, 5);
PINNED(TIDEGATE_TEXT_KEY, 6);
PINNED(TIDEGATE_TEXT_QUOTA, 7);
PINNED(TIDEGATE_TEXT_PROBLEM, 8);
PINNED(TIDEGATE_TEXT_RETRY_AFTER, 9);
PINNED(TIDEGATE_UNKNOWN_NS, UINT64_MAX - 1);
PINNED(TIDEGATE_REFUSED_KEYED, 1);
PINNED(TIDEGATE_REFUSED_QUOTA, 2);

static void each_status_has_its_name(void) {
    static const char *const outcomes[] = {"allowed", "denied",     "exceeds_capacity", "timed_out",
                                           "closed",  "queue_full", "keys_full",        "cancelled",
                                           "pending", "too_late",   "poll_again",       "no_rule", "unknown"};
    static const char *const mistakes[] = {"null_pointer",   "struct_size",    "invalid_option",   "invalid_key",
                                           "invalid_cost",   "invalid_permit", "invalid_decision", "invalid_ticket",
                                           "invalid_memory", "unsupported",    "forked",           "panic",
                                           "unknown"};
    for (int32_t status = 0; status < (int32_t)(sizeof outcomes / sizeof outcomes[0]); status++) {
        CHECK_TEXT(tidegate_status_name(status), outcomes[status]);
    }
    for (int32_t status = -1; status >= -(int32_t)(sizeof mistakes / sizeof mistakes[0]); status--) {
        CHECK_TEXT(tidegate_status_name(status), mistakes[-1 - status]);
    }
    CHECK_TEXT(tidegate_status_name(INT32_MAX), "unknown");
    CHECK_TEXT(tidegate_status_name(INT32_MIN), "unknown");
}

static void the_library_tells_its_abi_and_its_release(void) {
    int major = -1, minor = -1, patch = -1;
    CHECK_EQUAL(tidegate_abi_version(), TIDEGATE_ABI_VERSION);
    CHECK_EQUAL(sscanf(tidegate_version(), "%d.%d.%d", &major, &minor, &patch), 3);
    CHECK(major >= 0 && minor >= 0 && patch >= 0);
}

int main(void) {
    RUN(each_status_has_its_name);
    RUN(the_library_tells_its_abi_and_its_release);
    return finish();
}
