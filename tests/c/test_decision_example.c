/* The example of the chapter "Decisions", as pasted, refuses whatever is not allowed. run.sh writes it to
 * decision_example.h. */

#include "fixture.h"

static char said[256];

/* Runs the example and keeps what it says. */
#define printf(...) snprintf(said, sizeof said, __VA_ARGS__)
static void answer(const tidegate_rate_limiter *limiter) {
#include "decision_example.h"
}

/* The same with a cost that is larger than any limit. */
#define tidegate_rate_limiter_decide(limiter, cost, decision) tidegate_rate_limiter_decide(limiter, 9, decision)
static void answer_a_cost_of_9(const tidegate_rate_limiter *limiter) {
#include "decision_example.h"
}
#undef tidegate_rate_limiter_decide
#undef printf

static void what_is_allowed_goes_ahead(void) {
    tidegate_rate_limiter *limiter = rate_limiter("2/h", NULL);
    answer(limiter);
    CHECK_TEXT(said, "go ahead, 1 left");
    tidegate_rate_limiter_free(limiter);
}

static void f3_a_refusal_names_whole_seconds_rounded_up(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_rate_limiter *limiter = rate_limiter("1/10s", clock);
    answer(limiter);
    answer(limiter);
    CHECK_TEXT(said, "429, Retry-After: 10");
    tidegate_clock_advance(clock, 1);
    answer(limiter);
    CHECK_TEXT(said, "429, Retry-After: 10");
    tidegate_clock_set(clock, UINT64_C(9999999999));
    answer(limiter);
    CHECK_TEXT(said, "429, Retry-After: 1");
    tidegate_rate_limiter_free(limiter);
    tidegate_clock_free(clock);
}

static void what_is_never_allowed_is_refused_for_ever(void) {
    tidegate_rate_limiter *closed = rate_limiter("0/s", NULL);
    answer(closed);
    CHECK_TEXT(said, "429, for ever");
    tidegate_rate_limiter *small = rate_limiter("5/s", NULL);
    answer_a_cost_of_9(small);
    CHECK_TEXT(said, "429, for ever");
    tidegate_rate_limiter_free(small);
    tidegate_rate_limiter_free(closed);
}

static void a_mistake_is_refused_by_its_name(void) {
    answer(NULL);
    CHECK_TEXT(said, "500: null_pointer");
}

int main(void) {
    RUN(what_is_allowed_goes_ahead);
    RUN(f3_a_refusal_names_whole_seconds_rounded_up);
    RUN(what_is_never_allowed_is_refused_for_ever);
    RUN(a_mistake_is_refused_by_its_name);
    return finish();
}
