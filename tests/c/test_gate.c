/* A gate: what requests are told, what entries hold, and what a change of the rules does. */

#include "gate_fixture.h"

/* Beside it lie the files that it writes. */
static const char *program = "test_gate";

static const char rules_text[] = "show_keys = true\n"
                                 "[[rules]]\n"
                                 "name = 'permits'\n"
                                 "match = { path = { prefix = '/limit' } }\n"
                                 "concurrency = 4\n"
                                 "[[rules]]\n"
                                 "name = 'each'\n"
                                 "match = { path = { exact = '/limit/rate' } }\n"
                                 "key = 'client'\n"
                                 "quota = '2/min'\n";

static void of_ten_requests_for_four_permits_six_are_refused_and_told_why(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_gate *gate = gate_of(rules_text, clock);
    Request requests[10];
    int admitted = 0;
    for (int i = 0; i < 10; i++) {
        requests[i] = at_once(gate, "/limit");
        CHECK_EQUAL(requests[i].entry != NULL, requests[i].status == TIDEGATE_ALLOWED);
        CHECK_EQUAL(requests[i].refusal != NULL, requests[i].status == TIDEGATE_DENIED);
        admitted += requests[i].entry != NULL;
    }
    CHECK_EQUAL(admitted, 4);
    CHECK_TEXT(refusal_text(requests[9].refusal, TIDEGATE_TEXT_MESSAGE),
               "denied by rule permits: 4 permits, 0 available");
    tidegate_refused told = refused(requests[9].refusal);
    CHECK_EQUAL(told.status, TIDEGATE_DENIED);
    CHECK_EQUAL(told.flags, 0);
    CHECK_EQUAL(told.limit, 4);
    CHECK_EQUAL(told.in_flight, 4);
    CHECK_EQUAL(told.retry_after_ns, TIDEGATE_UNKNOWN_NS);
    CHECK_EQUAL(told.period_ns, 0);
    CHECK_EQUAL(told.timeout_ns, 0);
    CHECK_TEXT(refusal_text(requests[9].refusal, TIDEGATE_TEXT_RETRY_AFTER), "");
    for (int i = 0; i < 10; i++) {
        done(&requests[i]);
    }
    CHECK_EQUAL(status_of(at_once(gate, "/limit")), TIDEGATE_ALLOWED);
    tidegate_gate_free(gate);
    tidegate_clock_free(clock);
}

static void a_request_that_no_rule_is_about_is_told_apart_and_gets_an_entry(void) {
    tidegate_gate *gate = gate_of(rules_text, NULL);
    Request request = at_once(gate, "/nolimit");
    CHECK_EQUAL(request.status, TIDEGATE_NO_RULE);
    CHECK(request.entry != NULL && request.refusal == NULL);
    CHECK_TEXT(entry_text(request.entry, TIDEGATE_TEXT_RULES), "[]");
    CHECK_TEXT(entry_text(request.entry, TIDEGATE_TEXT_RATE_LIMIT), "");
    done(&request);
    CHECK_EQUAL(tidegate_gate_enter(gate, NULL, 0, 1, 0, &request.entry, NULL), TIDEGATE_NO_RULE);
    done(&request);
    CHECK(says(stats(gate), "\"unmatched\":2"));
    tidegate_gate_free(gate);
}

static void a_rule_that_refuses_leaves_the_permit_and_the_tokens_of_the_others(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_gate *gate = gate_of(rules_text, clock);
    CHECK_EQUAL(status_of(at_once(gate, "/limit/rate")), TIDEGATE_ALLOWED);
    CHECK_EQUAL(status_of(at_once(gate, "/limit/rate")), TIDEGATE_ALLOWED);
    Request refusal = at_once(gate, "/limit/rate");
    CHECK_EQUAL(refusal.status, TIDEGATE_DENIED);
    CHECK_TEXT(refusal_text(refusal.refusal, TIDEGATE_TEXT_RULE), "each");
    CHECK_TEXT(refusal_text(refusal.refusal, TIDEGATE_TEXT_KEY), "ann");
    CHECK_TEXT(refusal_text(refusal.refusal, TIDEGATE_TEXT_QUOTA), "2/min");
    CHECK_TEXT(refusal_text(refusal.refusal, TIDEGATE_TEXT_RETRY_AFTER), "30");
    CHECK_TEXT(refusal_text(refusal.refusal, TIDEGATE_TEXT_RATE_LIMIT_POLICY), "\"each\";q=2;w=60");
    CHECK_TEXT(refusal_text(refusal.refusal, TIDEGATE_TEXT_RATE_LIMIT), "\"each\";r=0;t=30");
    CHECK(strstr(refusal_text(refusal.refusal, TIDEGATE_TEXT_PROBLEM), "\"rule\":\"each\"") != NULL);
    tidegate_refused told = refused(refusal.refusal);
    CHECK_EQUAL(told.flags, TIDEGATE_REFUSED_KEYED | TIDEGATE_REFUSED_QUOTA);
    CHECK_EQUAL(told.limit, 2);
    CHECK_EQUAL(told.remaining, 0);
    CHECK_EQUAL(told.period_ns, 60 * SECOND);
    CHECK_EQUAL(told.quotas, 1);
    CHECK_EQUAL(told.retry_after_ns, 30 * SECOND);
    tidegate_gate_free(gate); /* a refusal needs no gate */
    CHECK_TEXT(refusal_text(refusal.refusal, TIDEGATE_TEXT_RULE), "each");
    done(&refusal);

    gate = gate_of(rules_text, clock);
    Request holders[4];
    for (int i = 0; i < 4; i++) {
        holders[i] = at_once(gate, "/limit");
    }
    CHECK_EQUAL(status_of(at_once(gate, "/limit/rate")), TIDEGATE_DENIED);
    for (int i = 0; i < 4; i++) {
        done(&holders[i]);
    }
    CHECK_EQUAL(status_of(at_once(gate, "/limit/rate")), TIDEGATE_ALLOWED);
    CHECK_EQUAL(status_of(at_once(gate, "/limit/rate")), TIDEGATE_ALLOWED);
    tidegate_gate_free(gate);
    tidegate_clock_free(clock);
}

static void an_entry_tells_how_the_quotas_stand(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_gate *gate = gate_of("[[rules]]\n"
                                  "name = 'one'\n"
                                  "quota = '10/s'\n"
                                  "[[rules]]\n"
                                  "name = 'two'\n"
                                  "quota = ['5/s', '3/min']\n",
                                  clock);
    Request request = at_once(gate, "/");
    tidegate_gate_free(gate); /* an entry needs no gate */
    tidegate_figures figures[3];
    size_t count = 0;
    memset(figures, 0xAB, sizeof figures);
    CHECK_EQUAL(tidegate_entry_figures(request.entry, figures, 3, &count), TIDEGATE_OK);
    CHECK_EQUAL(count, 2);
    const tidegate_figures *two = strncmp(figures[0].rule, "two", 3) == 0 ? &figures[0] : &figures[1];
    const tidegate_figures *one = two == &figures[0] ? &figures[1] : &figures[0];
    CHECK_EQUAL(one->rule_length, 3);
    CHECK(memcmp(one->rule, "one", 3) == 0);
    CHECK_EQUAL(one->limit, 10);
    CHECK_EQUAL(one->remaining, 9);
    CHECK_EQUAL(one->reset_after_ns, SECOND / 10);
    CHECK_EQUAL(two->limit, 3);
    CHECK_EQUAL(two->burst, 3);
    CHECK_EQUAL(two->period_ns, 60 * SECOND);
    CHECK_EQUAL(two->remaining, 2);
    CHECK_EQUAL(two->quota, 1);
    CHECK_EQUAL(two->quotas, 2);
    CHECK_EQUAL(tidegate_entry_figures(request.entry, NULL, 0, &count), TIDEGATE_OK);
    CHECK_EQUAL(count, 2);
    memset(figures, 0xAB, sizeof figures);
    CHECK_EQUAL(tidegate_entry_figures(request.entry, figures, 1, &count), TIDEGATE_OK);
    CHECK_EQUAL(count, 2);
    CHECK_EQUAL(figures[1].limit, UINT64_C(0xABABABABABABABAB));
    CHECK(strstr(entry_text(request.entry, TIDEGATE_TEXT_RATE_LIMIT_POLICY), "\"one\";q=10;w=1") != NULL);
    CHECK(strstr(entry_text(request.entry, TIDEGATE_TEXT_RULES), "\"two\"") != NULL);
    done(&request);
    tidegate_clock_free(clock);
}

static void a_text_that_does_not_fit_is_cut_and_its_length_told(void) {
    tidegate_gate *gate = gate_of("show_keys = true\n"
                                  "[[rules]]\n"
                                  "name = 'none'\n"
                                  "key = 'client'\n"
                                  "quota = '0/s'\n",
                                  NULL);
    Request refusal = request(gate, "/", "grün", 0);
    char text[8] = "xxxxxxx";
    size_t length = 0;
    CHECK_EQUAL(tidegate_refusal_text(refusal.refusal, TIDEGATE_TEXT_KEY, text, 4, &length), TIDEGATE_OK);
    CHECK_EQUAL(length, 5);
    CHECK_TEXT(text, "gr"); /* and not half of an ü */
    CHECK_EQUAL(text[4], 'x');
    CHECK_EQUAL(tidegate_refusal_text(refusal.refusal, TIDEGATE_TEXT_KEY, NULL, 0, &length), TIDEGATE_OK);
    CHECK_EQUAL(length, 5);
    CHECK_EQUAL(tidegate_refusal_text(refusal.refusal, TIDEGATE_TEXT_KEY, text, sizeof text, NULL), TIDEGATE_OK);
    CHECK_TEXT(text, "grün");
    CHECK_EQUAL(refused(refusal.refusal).retry_after_ns, TIDEGATE_NEVER_NS);
    done(&refusal);
    tidegate_gate_free(gate);
}

static void all_that_is_wrong_with_rules_is_told_by_line_and_nothing_changes(void) {
    static const char wrong[] = "[[rules]]\n"
                                "name = 'each'\n"
                                "quota = 'often'\n"
                                "[[rules]]\n"
                                "name = 'other'\n"
                                "concurrency = -1\n";
    tidegate_gate *gate = gate_of(rules_text, NULL), *none = NULL;
    tidegate_text *text = NULL;
    char faults[TIDEGATE_FAULTS_SIZE];
    CHECK_EQUAL(tidegate_gate_reload(gate, TEXT(wrong), TIDEGATE_FORMAT_TOML, &text, faults, sizeof faults),
                TIDEGATE_ERROR_OPTION);
    CHECK(text == NULL);
    CHECK(strncmp(faults, "line 3: rule each: quota: got \"often\"; allowed: ", 48) == 0);
    CHECK(strstr(faults, "\nline 6: rule other: concurrency: got -1; allowed: ") != NULL);
    CHECK_EQUAL(tidegate_gate_parse(TEXT(wrong), TIDEGATE_FORMAT_TOML, NULL, &none, faults, 7), TIDEGATE_ERROR_OPTION);
    CHECK(none == NULL);
    CHECK_TEXT(faults, "line 3");
    CHECK_EQUAL(tidegate_gate_rules(gate, &text), TIDEGATE_OK);
    CHECK(says(text, "\"2/min\""));
    tidegate_gate_free(gate);
}

static void a_reload_keeps_what_is_used_and_tells_what_changed(void) {
    tidegate_clock *clock = manual_clock();
    tidegate_gate *gate = gate_of(rules_text, clock);
    tidegate_text *text = NULL;
    CHECK_EQUAL(status_of(at_once(gate, "/limit/rate")), TIDEGATE_ALLOWED);
    CHECK_EQUAL(status_of(at_once(gate, "/limit/rate")), TIDEGATE_ALLOWED);
    Request held = at_once(gate, "/limit");
    CHECK_EQUAL(tidegate_gate_reload(gate, TEXT(rules_text), TIDEGATE_FORMAT_TOML, &text, NULL, 0), TIDEGATE_OK);
    CHECK(says(text, "\"unchanged\":[\"permits\",\"each\"]"));
    CHECK_EQUAL(status_of(at_once(gate, "/limit/rate")), TIDEGATE_DENIED);

    /* A limit that is raised holds for the next request; a rule that is gone lets its entries out finish. */
    static const char raised[] = "rules:\n"
                                 "  - name: each\n"
                                 "    match: { path: { exact: /limit/rate } }\n"
                                 "    key: client\n"
                                 "    quota: 3/min\n"
                                 "  - { name: new, concurrency: 9 }\n";
    CHECK_EQUAL(tidegate_gate_reload(gate, TEXT(raised), TIDEGATE_FORMAT_YAML, &text, NULL, 0), TIDEGATE_OK);
    CHECK(strstr(tidegate_text_data(text), "\"added\":[\"new\"]") != NULL);
    CHECK(strstr(tidegate_text_data(text), "\"removed\":[\"permits\"]") != NULL);
    CHECK(says(text, "\"changed\":[\"each\"]"));
    CHECK_EQUAL(status_of(at_once(gate, "/limit/rate")), TIDEGATE_ALLOWED);
    CHECK_EQUAL(status_of(at_once(gate, "/limit/rate")), TIDEGATE_DENIED);
    tidegate_entry_release(held.entry, 0);

    /* What the gate says of its rules is what it reads. */
    CHECK_EQUAL(tidegate_gate_rules(gate, &text), TIDEGATE_OK);
    tidegate_text *again = NULL;
    CHECK_EQUAL(tidegate_gate_reload(gate, tidegate_text_data(text), tidegate_text_length(text), TIDEGATE_FORMAT_JSON,
                                     &again, NULL, 0),
                TIDEGATE_OK);
    CHECK(says(again, "\"unchanged\":[\"each\",\"new\"]"));
    tidegate_text_free(text);
    CHECK(says(stats(gate), "\"released_failed\":1"));
    tidegate_gate_free(gate);
    tidegate_clock_free(clock);
}

static void rules_come_from_a_file_and_a_file_that_is_not_there_is_told(void) {
    char path[512];
    snprintf(path, sizeof path, "%s.json", program);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs("{\"rules\": [{\"name\": \"all\", \"concurrency\": 1}]}", file) >= 0);
    CHECK_EQUAL(fclose(file), 0);
    tidegate_clock *clock = manual_clock();
    tidegate_gate *gate = NULL;
    tidegate_text *text = NULL;
    char faults[TIDEGATE_FAULTS_SIZE];
    CHECK_EQUAL(tidegate_gate_open(TEXT(path), clock, &gate, faults, sizeof faults), TIDEGATE_OK);
    CHECK_EQUAL(status_of(at_once(gate, "/")), TIDEGATE_ALLOWED);
    CHECK_EQUAL(tidegate_gate_reload_file(gate, TEXT(path), &text, faults, sizeof faults), TIDEGATE_OK);
    CHECK(says(text, "\"unchanged\":[\"all\"]"));
    CHECK_EQUAL(remove(path), 0);
    CHECK_EQUAL(tidegate_gate_reload_file(gate, TEXT(path), NULL, faults, sizeof faults), TIDEGATE_ERROR_OPTION);
    CHECK(strncmp(faults, path, strlen(path)) == 0 && strstr(faults, ": file: got ") != NULL);
    CHECK_EQUAL(tidegate_gate_open(TEXT("rules.txt"), NULL, &gate, faults, sizeof faults), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(faults, "file: got rules.txt; allowed: a name that ends in .toml, .json, .yaml or .yml");
    tidegate_gate_free(gate);
    tidegate_clock_free(clock);
}

static void a_trace_tells_which_rule_matches_and_why_not_and_spends_nothing(void) {
    tidegate_gate *gate = gate_of("[[rules]]\n"
                                  "name = 'sign'\n"
                                  "match = { path = { glob = 'ass*' } }\n"
                                  "quota = '1/h'\n",
                                  NULL);
    for (int i = 0; i < 3; i++) {
        tidegate_text *text = NULL;
        CHECK_EQUAL(tidegate_gate_explain(gate, ATTRIBUTES("/assign/sso/user", "ann"), 1, &text), TIDEGATE_OK);
        CHECK(strstr(tidegate_text_data(text), "\"mode\":\"glob\"") != NULL);
        CHECK(strstr(tidegate_text_data(text), "\"matched\":false") != NULL);
        CHECK(says(text, "{\"status\":\"no_rule\""));
        CHECK_EQUAL(tidegate_gate_explain(gate, ATTRIBUTES("assign", "ann"), 1, &text), TIDEGATE_OK);
        CHECK(says(text, "{\"status\":\"allowed\""));
    }
    CHECK_EQUAL(status_of(at_once(gate, "assign")), TIDEGATE_ALLOWED);
    CHECK_EQUAL(status_of(at_once(gate, "assign")), TIDEGATE_DENIED);
    tidegate_gate_free(gate);
}

static void events_are_fetched_in_order_and_nobody_who_decides_waits_for_that(void) {
    tidegate_gate *gate = gate_of("[[rules]]\nname = 'none'\nquota = '0/s'\n", NULL);
    tidegate_gate_events *events = NULL, *others = NULL;
    tidegate_text *event = NULL;
    CHECK_EQUAL(tidegate_gate_events_new(gate, &events), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_gate_events_next(events, 0, &event), TIDEGATE_TIMED_OUT);
    CHECK_EQUAL(tidegate_gate_events_next(events, MS, &event), TIDEGATE_TIMED_OUT);
    CHECK(event == NULL);
    for (int i = 0; i < 3000; i++) { /* more than there is room for: refused all the same */
        CHECK_EQUAL(status_of(at_once(gate, "/")), TIDEGATE_DENIED);
    }
    CHECK_EQUAL(tidegate_gate_reload(gate, TEXT("x"), TIDEGATE_FORMAT_JSON, NULL, NULL, 0), TIDEGATE_ERROR_OPTION);
    int fetched = 0;
    while (tidegate_gate_events_next(events, 0, &event) == TIDEGATE_OK) {
        CHECK(strstr(tidegate_text_data(event), "\"dropped\":1977,\"event\":\"refused\"") != NULL);
        CHECK(strstr(tidegate_text_data(event), "\"message\":\"denied by rule none: ") != NULL);
        CHECK(says(event, "\"never\":true"));
        fetched++;
    }
    CHECK_EQUAL(fetched, 1024);
    CHECK_EQUAL(tidegate_gate_reload(gate, TEXT("x"), TIDEGATE_FORMAT_JSON, NULL, NULL, 0), TIDEGATE_ERROR_OPTION);
    CHECK_EQUAL(tidegate_gate_events_next(events, 0, &event), TIDEGATE_OK);
    CHECK(strstr(tidegate_text_data(event), "\"event\":\"reload_failed\"") != NULL);
    CHECK(says(event, "\"line\":1"));
    CHECK_EQUAL(tidegate_gate_reload(gate, TEXT("rules: []"), TIDEGATE_FORMAT_YAML, NULL, NULL, 0), TIDEGATE_OK);

    /* Who listens last is told; the other gets what is there, and is told that there will be no more. */
    CHECK_EQUAL(tidegate_gate_events_new(gate, &others), TIDEGATE_OK);
    CHECK_EQUAL(tidegate_gate_events_next(events, TIDEGATE_NEVER_NS, &event), TIDEGATE_OK);
    CHECK(says(event, "\"removed\":[\"none\"]"));
    CHECK_EQUAL(tidegate_gate_events_next(events, 0, &event), TIDEGATE_CLOSED);
    CHECK_EQUAL(tidegate_gate_events_next(others, 0, &event), TIDEGATE_TIMED_OUT);
    tidegate_gate_free(gate);
    CHECK_EQUAL(tidegate_gate_events_next(others, TIDEGATE_NEVER_NS, &event), TIDEGATE_CLOSED);
    tidegate_gate_events_free(events);
    tidegate_gate_events_free(others);
}

static void a_gate_goes_with_its_last_owner(void) {
    tidegate_gate *gate = gate_of(rules_text, NULL);
    CHECK(tidegate_gate_ref(gate) == gate);
    tidegate_gate_free(gate);
    CHECK_EQUAL(status_of(at_once(gate, "/limit")), TIDEGATE_ALLOWED);
    tidegate_gate_free(gate);
}

int main(int count, char **arguments) {
    program = count > 0 ? arguments[0] : program;
    RUN(of_ten_requests_for_four_permits_six_are_refused_and_told_why);
    RUN(a_request_that_no_rule_is_about_is_told_apart_and_gets_an_entry);
    RUN(a_rule_that_refuses_leaves_the_permit_and_the_tokens_of_the_others);
    RUN(an_entry_tells_how_the_quotas_stand);
    RUN(a_text_that_does_not_fit_is_cut_and_its_length_told);
    RUN(all_that_is_wrong_with_rules_is_told_by_line_and_nothing_changes);
    RUN(a_reload_keeps_what_is_used_and_tells_what_changed);
    RUN(rules_come_from_a_file_and_a_file_that_is_not_there_is_told);
    RUN(a_trace_tells_which_rule_matches_and_why_not_and_spends_nothing);
    RUN(events_are_fetched_in_order_and_nobody_who_decides_waits_for_that);
    RUN(a_gate_goes_with_its_last_owner);
    return finish();
}
