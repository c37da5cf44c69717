/* A fault inside the library, forced through a door that only its test-panic build has, becomes a status; the library
 * works on. Linked with build/test-panic/lib. */

#include "keyed_fixture.h"

#define PANIC_COST UINT64_C(666666666)
static const char panic_text[] = "test-panic";
static char error_text[TIDEGATE_ERROR_SIZE];

static void a_panic_of_a_call_becomes_a_status_and_writes_no_output(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *rate = rate_limiter("5/h", clock);
    tidegate_concurrency_limiter *concurrency = concurrency_limiter(1, 0, NULL);
    tidegate_decision decision, untouched_decision;
    tidegate_permit permit, untouched_permit;
    memset(&decision, 0xAB, sizeof decision);
    memset(&permit, 0xAB, sizeof permit);
    untouched_decision = decision;
    untouched_permit = permit;
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(tidegate_rate_limiter_try_acquire(rate, PANIC_COST), TIDEGATE_ERROR_PANIC);
        CHECK_EQUAL(tidegate_rate_limiter_decide(rate, PANIC_COST, &decision), TIDEGATE_ERROR_PANIC);
        CHECK_EQUAL(tidegate_rate_limiter_peek(rate, PANIC_COST, &decision), TIDEGATE_ERROR_PANIC);
        CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(concurrency, PANIC_COST, &permit), TIDEGATE_ERROR_PANIC);
    }
    CHECK(memcmp(&decision, &untouched_decision, sizeof decision) == 0);
    CHECK(memcmp(&permit, &untouched_permit, sizeof permit) == 0);

    CHECK_EQUAL(admitted(rate, 6), 5);
    CHECK_EQUAL(tidegate_concurrency_limiter_try_acquire(concurrency, 1, &permit), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_concurrency_limiter_release(concurrency, &permit, 1), TIDEGATE_OK);
    tidegate_concurrency_limiter_free(concurrency);
    tidegate_rate_limiter_free(rate);
    tidegate_clock_free(clock);
}

static void a_panic_of_a_keyed_call_becomes_a_status_too(void) {
    tidegate_keyed_rate_limiter *rate = keyed_rate_limiter("5/h", 10, 0, NULL);
    tidegate_keyed_concurrency_limiter *concurrency = keyed_concurrency_limiter(1, 10);
    tidegate_keyed_rate_limiter *none = NULL;
    tidegate_decision decision = {.limit = 77};
    tidegate_keyed_permit permit = {.limiter_id = 77};
    tidegate_key key = {"ann", 3};
    int32_t statuses[] = {77};
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire(rate, KEY("ann"), PANIC_COST), TIDEGATE_ERROR_PANIC);
        CHECK_EQUAL(tidegate_keyed_rate_limiter_try_acquire_many(rate, &key, 1, PANIC_COST, statuses),
                    TIDEGATE_ERROR_PANIC);
        CHECK_EQUAL(tidegate_keyed_rate_limiter_decide(rate, KEY("ann"), PANIC_COST, &decision), TIDEGATE_ERROR_PANIC);
        CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(concurrency, KEY("ann"), PANIC_COST, &permit),
                    TIDEGATE_ERROR_PANIC);
        CHECK_EQUAL(tidegate_keyed_rate_limiter_parse(panic_text, strlen(panic_text), NULL, &none, NULL, 0),
                    TIDEGATE_ERROR_PANIC);
    }
    CHECK(none == NULL);
    CHECK_EQUAL(decision.limit, 77);
    CHECK_EQUAL(permit.limiter_id, 77);
    CHECK_EQUAL(statuses[0], 77);
    CHECK_EQUAL(remaining(rate, "ann"), 5);
    CHECK_EQUAL(tidegate_keyed_concurrency_limiter_try_acquire(concurrency, KEY("ann"), 1, &permit), TIDEGATE_ALLOWED);
    tidegate_keyed_concurrency_limiter_free(concurrency);
    tidegate_keyed_rate_limiter_free(rate);
}

static void a_panic_of_a_gate_becomes_a_status_and_the_gate_works_on(void) {
    static const char rules[] = "[[rules]]\nname = 'all'\nquota = '5/h'\n", wrong[] = "rules: [{name: all, quota: test-panic}]";
    tidegate_gate *gate = NULL, *none = NULL;
    tidegate_entry *entry = NULL;
    tidegate_text *text = NULL;
    CHECK_EQUAL(tidegate_gate_parse(rules, strlen(rules), TIDEGATE_FORMAT_TOML, NULL, &gate, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_gate_enter(gate, NULL, 0, PANIC_COST, 0, &entry, NULL), TIDEGATE_ERROR_PANIC);
    CHECK_EQUAL(tidegate_gate_explain(gate, NULL, 0, PANIC_COST, &text), TIDEGATE_ERROR_PANIC);
    CHECK_EQUAL(tidegate_gate_parse(wrong, strlen(wrong), TIDEGATE_FORMAT_YAML, NULL, &none, NULL, 0),
                TIDEGATE_ERROR_PANIC);
    CHECK_EQUAL(tidegate_gate_reload(gate, wrong, strlen(wrong), TIDEGATE_FORMAT_YAML, &text, error_text,
                                     sizeof error_text),
                TIDEGATE_ERROR_PANIC);
    CHECK(entry == NULL && text == NULL && none == NULL);
    CHECK(strncmp(error_text, "fault inside the library: ", strlen("fault inside the library: ")) == 0);
    CHECK_EQUAL(tidegate_gate_enter(gate, NULL, 0, 5, 0, &entry, NULL), TIDEGATE_ALLOWED);
    tidegate_entry_release(entry, 1);
    CHECK_EQUAL(tidegate_gate_enter(gate, NULL, 0, 1, 0, &entry, NULL), TIDEGATE_DENIED);
    CHECK_EQUAL(tidegate_gate_reload(gate, rules, strlen(rules), TIDEGATE_FORMAT_TOML, NULL, NULL, 0), TIDEGATE_OK);
    tidegate_gate_free(gate);
}

static void a_panic_while_a_text_is_read_is_told_in_words(void) {
    tidegate_rate_limiter *limiter = NULL;
    CHECK_EQUAL(
        tidegate_rate_limiter_parse(panic_text, strlen(panic_text), NULL, &limiter, error_text, sizeof error_text),
        TIDEGATE_ERROR_PANIC);
    CHECK(limiter == NULL);
    CHECK(strncmp(error_text, "fault inside the library: ", strlen("fault inside the library: ")) == 0);
    CHECK(strstr(error_text, "a panic that was asked for") != NULL);

    tidegate_quota quota;
    size_t count = 77;
    CHECK_EQUAL(tidegate_quota_parse(panic_text, strlen(panic_text), &quota, 1, &count, NULL, 0), TIDEGATE_ERROR_PANIC);
    CHECK_EQUAL(count, 77);
    CHECK_EQUAL(tidegate_quota_parse("7/s", 3, &quota, 1, &count, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(quota.limit, 7);
}

static void a_panic_while_a_limiter_is_reconfigured_leaves_it_as_it_was(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("5/h", clock);
    CHECK_EQUAL(admitted(limiter, 2), 2);
    CHECK_EQUAL(
        tidegate_rate_limiter_reconfigure_text(limiter, panic_text, strlen(panic_text), error_text, sizeof error_text),
        TIDEGATE_ERROR_PANIC);
    CHECK_EQUAL(peeked(limiter).limit, 5);
    CHECK_EQUAL(peeked(limiter).remaining, 3);
    CHECK_EQUAL(tidegate_rate_limiter_reconfigure_text(limiter, "6/h", 3, error_text, sizeof error_text), TIDEGATE_OK);
    CHECK_EQUAL(peeked(limiter).remaining, 4);
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

int main(void) {
    RUN(a_panic_of_a_call_becomes_a_status_and_writes_no_output);
    RUN(a_panic_of_a_keyed_call_becomes_a_status_too);
    RUN(a_panic_of_a_gate_becomes_a_status_and_the_gate_works_on);
    RUN(a_panic_while_a_text_is_read_is_told_in_words);
    RUN(a_panic_while_a_limiter_is_reconfigured_leaves_it_as_it_was);
    return finish();
}
