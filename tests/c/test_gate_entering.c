/* Requests that wait without a thread, and what the callback promises; and those that wait on their thread. */

#include "gate_fixture.h"

/* How long a chain of callbacks is. Less under a memory checker. */
static int deep = 100000;

static const char rules_text[] = "[[rules]]\n"
                                 "name = 'one'\n"
                                 "match = { path = { prefix = '/one' } }\n"
                                 "concurrency = 1\n"
                                 "timeout = '1s'\n"
                                 "[[rules]]\n"
                                 "name = 'paced'\n"
                                 "match = { path = { exact = ['/paced', '/one/paced'] } }\n"
                                 "quota = '1/s'\n"
                                 "timeout = '10s'\n"
                                 "[[rules]]\n"
                                 "name = 'call'\n"
                                 "match = { path = { exact = '/call' } }\n"
                                 "concurrency = 1\n"
                                 "timeout = 'call'\n";

/* A request that waits without a thread, and how often it was called back. */
typedef struct {
    Request request;
    tidegate_entering *entering;
    uint64_t wake_after_ns;
    int calls;
} Waiting;

static void count(void *user_data) {
    ((Waiting *)user_data)->calls++;
}

static Waiting *begin_with(tidegate_wake_callback callback, const tidegate_gate *gate, const char *path,
                           uint64_t timeout_ns) {
    Waiting *waiting = calloc(1, sizeof *waiting);
    Request *request = &waiting->request;
    request->status = tidegate_gate_enter_async(gate, ATTRIBUTES(path, "ann"), 1, timeout_ns, callback, waiting,
                                                &request->entry, &request->refusal, &waiting->entering,
                                                &waiting->wake_after_ns);
    CHECK_EQUAL(waiting->entering != NULL, request->status == TIDEGATE_PENDING);
    return waiting;
}

static Waiting *begin(const tidegate_gate *gate, const char *path, uint64_t timeout_ns) {
    return begin_with(count, gate, path, timeout_ns);
}

static int32_t poll_again(Waiting *waiting) {
    Request *request = &waiting->request;
    request->status = tidegate_entering_poll(waiting->entering, &request->entry, &request->refusal,
                                             &waiting->wake_after_ns);
    return request->status;
}

/* Ends it, whatever has become of it. */
static void end(Waiting *waiting) {
    tidegate_entering_free(waiting->entering);
    done(&waiting->request);
    free(waiting);
}

static void what_need_not_wait_is_over_at_once_and_nobody_is_called_back(void) {
    tidegate_gate *gate = gate_of(rules_text, NULL);
    Waiting *entered = begin(gate, "/one", TIDEGATE_NEVER_NS);
    CHECK_EQUAL(entered->request.status, TIDEGATE_ALLOWED);
    CHECK(entered->request.entry != NULL && entered->request.refusal == NULL);
    CHECK_EQUAL(entered->wake_after_ns, TIDEGATE_NEVER_NS);
    Waiting *unmatched = begin(gate, "/else", 0);
    CHECK_EQUAL(unmatched->request.status, TIDEGATE_NO_RULE);
    Waiting *refused = begin(gate, "/one", 0);
    CHECK_EQUAL(refused->request.status, TIDEGATE_DENIED);
    CHECK(refused->request.entry == NULL && refused->request.refusal != NULL);
    CHECK_EQUAL(entered->calls + unmatched->calls + refused->calls, 0);
    end(refused);
    end(unmatched);
    end(entered);
    tidegate_gate_free(gate);
}

static void a_release_calls_back_once_and_the_poll_has_the_entry(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_gate *gate = gate_of(rules_text, clock);
    Request held = at_once(gate, "/one");
    Waiting *waiting = begin(gate, "/one", TIDEGATE_NEVER_NS);
    CHECK_EQUAL(waiting->request.status, TIDEGATE_PENDING);
    CHECK_EQUAL(waiting->wake_after_ns, SECOND); /* the rule's own timeout */
    CHECK(waiting->request.entry == NULL && waiting->request.refusal == NULL);
    CHECK_EQUAL(poll_again(waiting), TIDEGATE_PENDING);
    CHECK_EQUAL(waiting->calls, 0);
    tidegate_gate_free(gate); /* a request that waits needs no gate */
    done(&held);
    CHECK_EQUAL(waiting->calls, 1);
    CHECK_EQUAL(poll_again(waiting), TIDEGATE_ALLOWED);
    CHECK(waiting->request.entry != NULL && waiting->request.refusal == NULL);
    CHECK_EQUAL(waiting->wake_after_ns, TIDEGATE_NEVER_NS);
    done(&waiting->request);
    CHECK_EQUAL(poll_again(waiting), TIDEGATE_TOO_LATE);
    CHECK(waiting->request.entry == NULL && waiting->request.refusal == NULL);
    CHECK_EQUAL(waiting->calls, 1);
    end(waiting);
    tidegate_clock_free(clock);
}

static void a_clock_that_moves_calls_back_and_a_wait_that_is_too_long_is_refused(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_gate *gate = gate_of(rules_text, clock);
    Request held = at_once(gate, "/one");
    Waiting *late = begin(gate, "/one", SECOND / 2);
    tidegate_clock_advance(clock, SECOND / 2 - 1);
    CHECK_EQUAL(late->calls, 0);
    tidegate_clock_advance(clock, 1);
    CHECK_EQUAL(late->calls, 1);
    tidegate_clock_advance(clock, SECOND);
    CHECK_EQUAL(late->calls, 1); /* nothing more to say until it is polled */
    CHECK_EQUAL(poll_again(late), TIDEGATE_TIMED_OUT);
    CHECK_TEXT(refusal_text(late->request.refusal, TIDEGATE_TEXT_RULE), "one");
    CHECK_EQUAL(refused(late->request.refusal).timeout_ns, SECOND / 2);
    CHECK(refused(late->request.refusal).elapsed_ns >= SECOND / 2);
    end(late);
    done(&held);

    CHECK_EQUAL(status_of(at_once(gate, "/paced")), TIDEGATE_ALLOWED);
    Waiting *paced = begin(gate, "/paced", TIDEGATE_NEVER_NS);
    CHECK_EQUAL(paced->request.status, TIDEGATE_PENDING);
    tidegate_clock_advance(clock, SECOND);
    CHECK_EQUAL(paced->calls, 1);
    CHECK_EQUAL(poll_again(paced), TIDEGATE_ALLOWED);
    end(paced);
    tidegate_gate_free(gate);
    tidegate_clock_free(clock);
}

static void what_a_poll_itself_brings_about_calls_nobody_back(void) {
    tidegate_gate *gate = gate_of("[[rules]]\nname = 'paced'\nquota = '1000/s burst 1'\ntimeout = '1h'\n", NULL);
    for (int i = 0; i < 5; i++) {
        Waiting *waiting = begin(gate, "/", TIDEGATE_NEVER_NS);
        CHECK(waiting->request.status == TIDEGATE_ALLOWED || waiting->wake_after_ns <= MS);
        while (waiting->request.status == TIDEGATE_PENDING) {
            poll_again(waiting);
        }
        CHECK_EQUAL(waiting->request.status, TIDEGATE_ALLOWED);
        CHECK_EQUAL(waiting->calls, 0);
        end(waiting);
    }
    tidegate_gate_free(gate);
}

static void the_timeout_of_a_call_is_that_of_all_its_rules_or_none(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_gate *gate = gate_of(rules_text, clock);
    Request one = at_once(gate, "/one"), call = at_once(gate, "/call");
    CHECK_EQUAL(status_of(at_once(gate, "/one")), TIDEGATE_DENIED);
    Waiting *of_the_rule = begin(gate, "/one", 5 * SECOND);
    CHECK_EQUAL(of_the_rule->wake_after_ns, SECOND); /* the shorter of the two */
    Waiting *none = begin(gate, "/call", TIDEGATE_NEVER_NS);
    CHECK_EQUAL(none->request.status, TIDEGATE_DENIED);
    CHECK_EQUAL(refused(none->request.refusal).timeout_ns, TIDEGATE_NEVER_NS);
    Waiting *of_the_call = begin(gate, "/call", 5 * SECOND);
    CHECK_EQUAL(of_the_call->wake_after_ns, 5 * SECOND);
    end(of_the_rule);
    end(none);
    end(of_the_call);
    done(&one);
    done(&call);
    tidegate_gate_free(gate);
    tidegate_clock_free(clock);
}

static void who_is_freed_gives_back_what_it_had_got_and_is_not_called(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_gate *gate = gate_of(rules_text, clock);
    CHECK_EQUAL(status_of(at_once(gate, "/paced")), TIDEGATE_ALLOWED);
    Waiting *holds_the_permit = begin(gate, "/one/paced", TIDEGATE_NEVER_NS);
    CHECK_EQUAL(holds_the_permit->request.status, TIDEGATE_PENDING);
    CHECK_EQUAL(status_of(at_once(gate, "/one")), TIDEGATE_DENIED);
    end(holds_the_permit);
    CHECK_EQUAL(status_of(at_once(gate, "/one")), TIDEGATE_ALLOWED);

    /* Granted, and not fetched. */
    Request held = at_once(gate, "/one");
    Waiting *granted = begin(gate, "/one", TIDEGATE_NEVER_NS);
    done(&held);
    CHECK_EQUAL(granted->calls, 1);
    CHECK_EQUAL(status_of(at_once(gate, "/one")), TIDEGATE_DENIED);
    end(granted);
    CHECK_EQUAL(status_of(at_once(gate, "/one")), TIDEGATE_ALLOWED);

    /* Nobody is called any more, whatever happens. */
    held = at_once(gate, "/one");
    Waiting *gone = begin(gate, "/one", TIDEGATE_NEVER_NS);
    tidegate_entering_free(gone->entering);
    gone->entering = NULL;
    done(&held);
    tidegate_clock_advance(clock, 60 * SECOND);
    CHECK_EQUAL(gone->calls, 0);
    end(gone);
    CHECK(says(stats(gate), "\"waiting\":0"));
    tidegate_gate_free(gate);
    tidegate_clock_free(clock);
}

/* Which waits there are, and how deep the stack was in the callbacks. */
static Waiting **chain;
static int chain_next;
static char *lowest, *highest;

static void poll_and_release(void *user_data) {
    Waiting *waiting = user_data;
    char here;
    lowest = lowest == NULL || &here < lowest ? &here : lowest;
    highest = highest == NULL || &here > highest ? &here : highest;
    waiting->calls++;
    if (waiting == chain[chain_next] && poll_again(waiting) == TIDEGATE_ALLOWED) {
        chain_next++;
        tidegate_entering_free(waiting->entering); /* from within its own callback */
        waiting->entering = NULL;
        done(&waiting->request); /* which calls the next one back */
    }
}

static void callbacks_that_poll_release_and_free_go_in_order_and_need_no_more_stack_than_one(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_gate *gate = gate_of(rules_text, clock);
    Request held = at_once(gate, "/one");
    chain = calloc((size_t)deep, sizeof *chain);
    chain_next = 0;
    lowest = highest = NULL;
    for (int i = 0; i < deep; i++) {
        chain[i] = begin_with(poll_and_release, gate, "/one", TIDEGATE_NEVER_NS);
    }
    done(&held);
    CHECK_EQUAL(chain_next, deep);
    CHECK(highest - lowest < 4096);
    int wrong = 0;
    for (int i = 0; i < deep; i++) {
        wrong += chain[i]->calls != 1 || chain[i]->entering != NULL;
        free(chain[i]);
    }
    CHECK_EQUAL(wrong, 0);
    free(chain);
    CHECK_EQUAL(status_of(at_once(gate, "/one")), TIDEGATE_ALLOWED);
    tidegate_gate_free(gate);
    tidegate_clock_free(clock);
}

static void rules_that_change_let_those_finish_who_wait(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_gate *gate = gate_of(rules_text, clock);
    Request held = at_once(gate, "/one");
    Waiting *waiting = begin(gate, "/one", TIDEGATE_NEVER_NS);
    static const char none[] = "{\"rules\": []}";
    CHECK_EQUAL(tidegate_gate_reload(gate, TEXT(none), TIDEGATE_FORMAT_JSON, NULL, NULL, 0), TIDEGATE_OK);
    CHECK_EQUAL(status_of(at_once(gate, "/one")), TIDEGATE_NO_RULE);
    done(&held);
    CHECK_EQUAL(waiting->calls, 1);
    CHECK_EQUAL(poll_again(waiting), TIDEGATE_ALLOWED);
    end(waiting);
    tidegate_gate_free(gate);
    tidegate_clock_free(clock);
}

static void a_thread_may_wait_too_and_is_told_how_long(void) {
    tidegate_gate *gate = gate_of(rules_text, NULL);
    Request held = at_once(gate, "/one");
    Request late = request(gate, "/one", "ann", 5 * MS);
    CHECK_EQUAL(late.status, TIDEGATE_TIMED_OUT);
    CHECK(refused(late.refusal).elapsed_ns >= 5 * MS);
    CHECK_EQUAL(refused(late.refusal).timeout_ns, 5 * MS);
    done(&late);
    done(&held);
    CHECK_EQUAL(status_of(request(gate, "/one", "ann", 5 * MS)), TIDEGATE_ALLOWED);
    tidegate_gate_free(gate);
}

int main(int count_of_arguments, char **arguments) {
    deep = count_of_arguments > 1 ? atoi(arguments[1]) : deep;
    RUN(what_need_not_wait_is_over_at_once_and_nobody_is_called_back);
    RUN(a_release_calls_back_once_and_the_poll_has_the_entry);
    RUN(a_clock_that_moves_calls_back_and_a_wait_that_is_too_long_is_refused);
    RUN(what_a_poll_itself_brings_about_calls_nobody_back);
    RUN(the_timeout_of_a_call_is_that_of_all_its_rules_or_none);
    RUN(who_is_freed_gives_back_what_it_had_got_and_is_not_called);
    RUN(callbacks_that_poll_release_and_free_go_in_order_and_need_no_more_stack_than_one);
    RUN(rules_that_change_let_those_finish_who_wait);
    RUN(a_thread_may_wait_too_and_is_told_how_long);
    return finish();
}
