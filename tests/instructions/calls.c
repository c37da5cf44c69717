/*
 * Each hot call of the C ABI in a loop of its own, for callgrind to count. run.py reads what each loop took under `once`,
 * with CALLS calls, and under `twice`, with twice as many: the difference is CALLS calls and no more.
 *
 * The clock is one that stands still, so that every run takes the same path.
 */
#include <stdlib.h>

#include "../c/gate_fixture.h"
#include "../c/keyed_fixture.h"

enum { CALLS = 1000, KEYS = 1000, BATCH = 100 };

static const char *const PLENTY = "1000000/s";
static tidegate_clock *still;

/* Another answer than the one to count is a mistake. */
static void must(bool right) {
    if (!right) {
        fputs("calls: not the answer that is to be counted\n", stderr);
        exit(1);
    }
}

/* ---- limiters without keys ---- */

static void ask(const tidegate_rate_limiter *limiter, int calls, int32_t answer) {
    for (int call = 0; call < calls; call++) {
        must(tidegate_rate_limiter_try_acquire(limiter, 1) == answer);
    }
}

/* A limiter, made in the first call, which nobody counts; with `spent`, its one token is. */
static const tidegate_rate_limiter *once_made(tidegate_rate_limiter **limiter, const char *quotas, bool spent) {
    if (*limiter == NULL) {
        *limiter = rate_limiter(quotas, still);
        if (spent) {
            ask(*limiter, 1, TIDEGATE_ALLOWED);
        }
    }
    return *limiter;
}

static void gcra_allowed(int calls) {
    static tidegate_rate_limiter *limiter;
    ask(once_made(&limiter, PLENTY, false), calls, TIDEGATE_ALLOWED);
}

static void gcra_refused(int calls) {
    static tidegate_rate_limiter *limiter;
    ask(once_made(&limiter, "1/h", true), calls, TIDEGATE_DENIED);
}

static void fixed_window_allowed(int calls) {
    static tidegate_rate_limiter *limiter;
    ask(once_made(&limiter, "1000000/s fixed_window", false), calls, TIDEGATE_ALLOWED);
}

static void sliding_window_allowed(int calls) {
    static tidegate_rate_limiter *limiter;
    ask(once_made(&limiter, "1000000/s sliding_window", false), calls, TIDEGATE_ALLOWED);
}

static void two_quotas_allowed(int calls) {
    static tidegate_rate_limiter *limiter;
    ask(once_made(&limiter, "1000000/s; 2000000/h", false), calls, TIDEGATE_ALLOWED);
}

static void decide(const tidegate_rate_limiter *limiter, int calls, int32_t answer) {
    for (int call = 0; call < calls; call++) {
        tidegate_decision decision;
        must(tidegate_rate_limiter_decide(limiter, 1, &decision) == answer);
    }
}

static void decide_allowed(int calls) {
    static tidegate_rate_limiter *limiter;
    decide(once_made(&limiter, PLENTY, false), calls, TIDEGATE_ALLOWED);
}

static void decide_refused(int calls) {
    static tidegate_rate_limiter *limiter;
    decide(once_made(&limiter, "1/h", true), calls, TIDEGATE_DENIED);
}

static void acquire_without_waiting(int calls) {
    static tidegate_rate_limiter *limiter;
    once_made(&limiter, PLENTY, false);
    for (int call = 0; call < calls; call++) {
        must(tidegate_rate_limiter_acquire(limiter, 1, TIDEGATE_NEVER_NS) == TIDEGATE_ALLOWED);
    }
}

static void permit_taken_and_released(int calls) {
    static tidegate_concurrency_limiter *limiter;
    if (limiter == NULL) {
        limiter = concurrency_limiter(10, 0, still);
    }
    for (int call = 0; call < calls; call++) {
        tidegate_permit permit;
        must(tidegate_concurrency_limiter_try_acquire(limiter, 1, &permit) == TIDEGATE_ALLOWED);
        must(tidegate_concurrency_limiter_release(limiter, &permit, 1) == TIDEGATE_OK);
    }
}

/* ---- limiters with keys ---- */

static char names[KEYS][16];
static tidegate_key keys[KEYS];

static void name_the_keys(void) {
    for (int key = 0; key < KEYS; key++) {
        int size = snprintf(names[key], sizeof names[key], "client-%d", key + KEYS);
        keys[key] = (tidegate_key){names[key], (size_t)size};
    }
}

/* With room for many more: how many keys share a bucket is chance. */
static tidegate_keyed_rate_limiter *keyed(const char *quotas) {
    return keyed_rate_limiter(quotas, 64 * KEYS, TIDEGATE_WHEN_FULL_EVICT, still);
}

static void ask_keyed(const tidegate_keyed_rate_limiter *limiter, int calls, int32_t answer) {
    for (int call = 0; call < calls; call++) {
        const tidegate_key *key = &keys[call % KEYS];
        must(tidegate_keyed_rate_limiter_try_acquire(limiter, key->data, key->size, 1) == answer);
    }
}

static void keyed_allowed(int calls) {
    static tidegate_keyed_rate_limiter *limiter;
    if (limiter == NULL) {
        limiter = keyed(PLENTY);
    }
    ask_keyed(limiter, calls, TIDEGATE_ALLOWED);
}

static void keyed_refused(int calls) {
    static tidegate_keyed_rate_limiter *limiter;
    if (limiter == NULL) {
        limiter = keyed("1/h");
        ask_keyed(limiter, KEYS, TIDEGATE_ALLOWED);
    }
    ask_keyed(limiter, calls, TIDEGATE_DENIED);
}

/* A call is that for one key. */
static void keyed_in_batches(int calls) {
    static tidegate_keyed_rate_limiter *limiter;
    if (limiter == NULL) {
        limiter = keyed(PLENTY);
    }
    for (int call = 0; call < calls; call += BATCH) {
        int32_t answers[BATCH];
        must(tidegate_keyed_rate_limiter_try_acquire_many(limiter, &keys[call % KEYS], BATCH, 1, answers) == TIDEGATE_OK);
        must(answers[0] == TIDEGATE_ALLOWED);
    }
}

static void keyed_permit_taken_and_released(int calls) {
    static tidegate_keyed_concurrency_limiter *limiter;
    if (limiter == NULL) {
        limiter = keyed_concurrency_limiter(10, 64 * KEYS);
    }
    for (int call = 0; call < calls; call++) {
        const tidegate_key *key = &keys[call % KEYS];
        tidegate_keyed_permit permit;
        must(tidegate_keyed_concurrency_limiter_try_acquire(limiter, key->data, key->size, 1, &permit) == TIDEGATE_ALLOWED);
        must(tidegate_keyed_concurrency_limiter_release(limiter, &permit, 1) == TIDEGATE_OK);
    }
}

/* ---- the gate ---- */

static void enter(tidegate_gate **gate, const char *rules, int calls, int32_t answer) {
    if (*gate == NULL) {
        *gate = gate_of(rules, still);
    }
    for (int call = 0; call < calls; call++) {
        Request entered = at_once(*gate, "/search");
        must(entered.status == answer);
        tidegate_entry_release(entered.entry, 1);
    }
}

static void gate_with_a_quota(int calls) {
    static tidegate_gate *gate;
    enter(&gate, "[[rules]]\nname = \"all\"\nkey = \"client\"\nquota = \"1000000/s\"\n", calls, TIDEGATE_ALLOWED);
}

static void gate_with_permits(int calls) {
    static tidegate_gate *gate;
    enter(&gate, "[[rules]]\nname = \"all\"\nconcurrency = 10\n", calls, TIDEGATE_ALLOWED);
}

static void gate_without_a_rule(int calls) {
    static tidegate_gate *gate;
    enter(&gate, "[[rules]]\nname = \"other\"\nmatch = { path = { exact = \"/other\" } }\nquota = \"1/h\"\n", calls, TIDEGATE_NO_RULE);
}

/* ---- what callgrind sees ---- */

#define COUNTED __attribute__((noinline))

COUNTED static void once(void (*loop)(int)) {
    loop(CALLS);
}

COUNTED static void twice(void (*loop)(int)) {
    loop(2 * CALLS);
}

int main(void) {
    void (*const loops[])(int) = {
        gcra_allowed,
        gcra_refused,
        fixed_window_allowed,
        sliding_window_allowed,
        two_quotas_allowed,
        decide_allowed,
        decide_refused,
        acquire_without_waiting,
        permit_taken_and_released,
        keyed_allowed,
        keyed_refused,
        keyed_in_batches,
        keyed_permit_taken_and_released,
        gate_with_a_quota,
        gate_with_permits,
        gate_without_a_rule,
    };
    still = manual_clock();
    name_the_keys();
    for (size_t index = 0; index < sizeof loops / sizeof *loops; index++) {
        loops[index](CALLS); /* makes what it needs */
        once(loops[index]);
        twice(loops[index]);
    }
    return 0;
}
