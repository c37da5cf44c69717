/* What is wrong in calls of a gate: each gives its status, and no output is written. */

#include "gate_fixture.h"

/* An address that is not aligned for what it is said to hold. */
#define ASKEW(pointer) ((void *)((char *)(uintptr_t)(pointer) + 1))

/* What outputs hold before a call that must not write them. */
typedef struct {
    tidegate_gate *gate;
    tidegate_entry *entry;
    tidegate_refusal *refusal;
    tidegate_entering *entering;
    tidegate_text *text;
    tidegate_gate_events *events;
    tidegate_watch *watch;
    uint64_t wake_after_ns;
    size_t size;
    tidegate_figures figures;
    tidegate_refused refused;
    char buffer[64];
} Outputs;

static Outputs out, untouched;
static char error_text[TIDEGATE_ERROR_SIZE];
static tidegate_gate *gate;

/* The call refuses with the status, and writes no output. */
#define REFUSED(call, status)                                                                                          \
    do {                                                                                                               \
        memset(&untouched, 0xAB, sizeof untouched);                                                                    \
        memset(&out, 0xAB, sizeof out);                                                                                \
        CHECK_EQUAL(call, status);                                                                                     \
        CHECK(memcmp(&out, &untouched, sizeof out) == 0);                                                              \
    } while (0)

#define IS_NULL(call) REFUSED(call, TIDEGATE_ERROR_NULL_POINTER)
#define IS_ASKEW(call) REFUSED(call, TIDEGATE_ERROR_MEMORY)

static const char rules_text[] = "[[rules]]\nname = 'one'\nkey = 'client'\nquota = '1/h'\n";

static Request request_of(const char *client) {
    return request(gate, "/", client, 0);
}

static void unused(void *user_data) {
    (void)user_data;
}

static int32_t enter(const tidegate_attribute *attributes, size_t count, uint64_t cost) {
    return tidegate_gate_enter(gate, attributes, count, cost, 0, &out.entry, &out.refusal);
}

static int32_t enter_async(const tidegate_attribute *attributes, size_t count, uint64_t cost) {
    return tidegate_gate_enter_async(gate, attributes, count, cost, 0, unused, NULL, &out.entry, &out.refusal,
                                     &out.entering, &out.wake_after_ns);
}

static void null_where_there_must_be_something_is_an_error(void) {
    Request request = request_of("ann"), refusal = request_of("ann");
    IS_NULL(tidegate_gate_parse(TEXT(rules_text), TIDEGATE_FORMAT_TOML, NULL, NULL, NULL, 0));
    IS_NULL(tidegate_gate_parse(NULL, 1, TIDEGATE_FORMAT_TOML, NULL, &out.gate, NULL, 0));
    IS_NULL(tidegate_gate_parse(TEXT(rules_text), TIDEGATE_FORMAT_TOML, NULL, &out.gate, NULL, 1));
    IS_NULL(tidegate_gate_open(NULL, 1, NULL, &out.gate, NULL, 0));
    IS_NULL(tidegate_gate_open(TEXT("rules.toml"), NULL, NULL, NULL, 0));
    IS_NULL(tidegate_gate_enter(NULL, NULL, 0, 1, 0, &out.entry, &out.refusal));
    IS_NULL(tidegate_gate_enter(gate, NULL, 1, 1, 0, &out.entry, &out.refusal));
    IS_NULL(tidegate_gate_enter(gate, NULL, 0, 1, 0, NULL, &out.refusal));
    IS_NULL(tidegate_gate_enter_async(NULL, NULL, 0, 1, 0, unused, NULL, &out.entry, &out.refusal, &out.entering,
                                      &out.wake_after_ns));
    IS_NULL(tidegate_gate_enter_async(gate, NULL, 0, 1, 0, NULL, NULL, &out.entry, &out.refusal, &out.entering,
                                      &out.wake_after_ns));
    IS_NULL(tidegate_gate_enter_async(gate, NULL, 0, 1, 0, unused, NULL, NULL, &out.refusal, &out.entering,
                                      &out.wake_after_ns));
    IS_NULL(tidegate_gate_enter_async(gate, NULL, 0, 1, 0, unused, NULL, &out.entry, &out.refusal, NULL,
                                      &out.wake_after_ns));
    IS_NULL(tidegate_gate_enter_async(gate, NULL, 0, 1, 0, unused, NULL, &out.entry, &out.refusal, &out.entering,
                                      NULL));
    IS_NULL(tidegate_entering_poll(NULL, &out.entry, &out.refusal, &out.wake_after_ns));
    IS_NULL(tidegate_entry_figures(NULL, &out.figures, 1, &out.size));
    IS_NULL(tidegate_entry_figures(request.entry, NULL, 1, &out.size));
    IS_NULL(tidegate_entry_figures(request.entry, &out.figures, 1, NULL));
    IS_NULL(tidegate_entry_text(NULL, TIDEGATE_TEXT_RULES, out.buffer, 1, &out.size));
    IS_NULL(tidegate_entry_text(request.entry, TIDEGATE_TEXT_RULES, NULL, 1, &out.size));
    IS_NULL(tidegate_refusal_figures(NULL, &out.refused));
    IS_NULL(tidegate_refusal_figures(refusal.refusal, NULL));
    IS_NULL(tidegate_refusal_text(NULL, TIDEGATE_TEXT_RULE, out.buffer, 1, &out.size));
    IS_NULL(tidegate_refusal_text(refusal.refusal, TIDEGATE_TEXT_RULE, NULL, 1, &out.size));
    IS_NULL(tidegate_gate_reload(NULL, TEXT(rules_text), TIDEGATE_FORMAT_TOML, &out.text, NULL, 0));
    IS_NULL(tidegate_gate_reload(gate, NULL, 1, TIDEGATE_FORMAT_TOML, &out.text, NULL, 0));
    IS_NULL(tidegate_gate_reload_file(NULL, TEXT("rules.toml"), &out.text, NULL, 0));
    IS_NULL(tidegate_gate_rules(NULL, &out.text));
    IS_NULL(tidegate_gate_rules(gate, NULL));
    IS_NULL(tidegate_gate_stats(NULL, &out.text));
    IS_NULL(tidegate_gate_stats(gate, NULL));
    IS_NULL(tidegate_gate_explain(NULL, NULL, 0, 1, &out.text));
    IS_NULL(tidegate_gate_explain(gate, NULL, 1, 1, &out.text));
    IS_NULL(tidegate_gate_explain(gate, NULL, 0, 1, NULL));
    IS_NULL(tidegate_gate_watch_file(NULL, TEXT("rules.toml"), &out.watch, NULL, 0));
    IS_NULL(tidegate_gate_watch_file(gate, TEXT("rules.toml"), NULL, NULL, 0));
    IS_NULL(tidegate_gate_events_new(NULL, &out.events));
    IS_NULL(tidegate_gate_events_new(gate, NULL));
    IS_NULL(tidegate_gate_events_next(NULL, 0, &out.text));
    done(&request);
    done(&refusal);
}

static void null_may_be_freed_and_has_no_owner_and_no_text(void) {
    tidegate_gate_free(NULL);
    tidegate_entry_release(NULL, 1);
    tidegate_refusal_free(NULL);
    tidegate_entering_free(NULL);
    tidegate_gate_events_free(NULL);
    tidegate_watch_free(NULL);
    tidegate_text_free(NULL);
    CHECK(tidegate_gate_ref(NULL) == NULL);
    CHECK(tidegate_text_data(NULL) == NULL);
    CHECK_EQUAL(tidegate_text_length(NULL), 0);
}

static void a_pointer_that_is_not_aligned_is_an_error(void) {
    IS_ASKEW(tidegate_gate_parse(TEXT(rules_text), TIDEGATE_FORMAT_TOML, NULL, ASKEW(&out.gate), NULL, 0));
    IS_ASKEW(tidegate_gate_parse(TEXT(rules_text), TIDEGATE_FORMAT_TOML, ASKEW(gate), &out.gate, NULL, 0));
    IS_ASKEW(tidegate_gate_enter(ASKEW(gate), NULL, 0, 1, 0, &out.entry, &out.refusal));
    IS_ASKEW(tidegate_gate_enter(gate, ASKEW(&out), 1, 1, 0, &out.entry, &out.refusal));
    IS_ASKEW(tidegate_gate_enter(gate, NULL, 0, 1, 0, ASKEW(&out.entry), &out.refusal));
    IS_ASKEW(tidegate_gate_enter(gate, NULL, 0, 1, 0, &out.entry, ASKEW(&out.refusal)));
    IS_ASKEW(tidegate_gate_stats(gate, ASKEW(&out.text)));
    IS_ASKEW(tidegate_gate_reload(gate, TEXT(rules_text), TIDEGATE_FORMAT_TOML, ASKEW(&out.text), NULL, 0));
}

static void attributes_that_can_not_be_are_errors(void) {
    const tidegate_attribute no_value = {"path", 4, NULL, 1}, no_name = {NULL, 1, "x", 1}, no_text = {"\xFF", 1, "x", 1},
                             long_value = {"path", 4, "x", SIZE_MAX}, long_name = {"path", SIZE_MAX, "x", 1};
    const struct {
        const tidegate_attribute *attribute;
        int32_t status;
    } wrong[] = {{&no_value, TIDEGATE_ERROR_KEY},
                 {&no_name, TIDEGATE_ERROR_NULL_POINTER},
                 {&no_text, TIDEGATE_ERROR_OPTION},
                 {&long_value, TIDEGATE_ERROR_MEMORY},
                 {&long_name, TIDEGATE_ERROR_MEMORY}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        REFUSED(enter(wrong[i].attribute, 1, 1), wrong[i].status);
        REFUSED(enter_async(wrong[i].attribute, 1, 1), wrong[i].status);
        REFUSED(tidegate_gate_explain(gate, wrong[i].attribute, 1, 1, &out.text), wrong[i].status);
    }
    REFUSED(enter(&no_value, SIZE_MAX, 1), TIDEGATE_ERROR_MEMORY);
}

static void a_value_may_be_any_bytes_and_a_name_or_value_empty(void) {
    tidegate_entry *entry = NULL;
    const tidegate_attribute attributes[] = {{NULL, 0, NULL, 0}, {"client", 6, "\xFF\0\n", 3}, {"x", 1, NULL, 0}};
    CHECK_EQUAL(tidegate_gate_enter(gate, attributes, 3, 1, 0, &entry, NULL), TIDEGATE_ALLOWED);
    tidegate_entry_release(entry, 1);
    CHECK_EQUAL(tidegate_gate_enter(gate, attributes, 3, 1, 0, &entry, NULL), TIDEGATE_DENIED);
    CHECK(entry == NULL);
    CHECK_EQUAL(tidegate_gate_enter(gate, attributes, 1, 1, 0, &entry, NULL), TIDEGATE_ALLOWED);
    tidegate_entry_release(entry, 1);
}

static void more_attributes_than_most_requests_have_are_read_all(void) {
    tidegate_attribute attributes[100];
    char names[100][4], clients[2] = "a";
    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        attributes[i] = (tidegate_attribute){names[i], strlen(names[i]), names[i], 1};
    }
    attributes[99] = (tidegate_attribute){"client", 6, clients, 1};
    CHECK_EQUAL(status_of((Request){.status = enter(attributes, 100, 1), .entry = out.entry}), TIDEGATE_ALLOWED);
    CHECK_EQUAL(status_of((Request){.status = enter(attributes, 100, 1), .refusal = out.refusal}), TIDEGATE_DENIED);
    clients[0] = 'b';
    CHECK_EQUAL(status_of((Request){.status = enter(attributes, 100, 1), .entry = out.entry}), TIDEGATE_ALLOWED);
}

static void a_cost_is_1_to_its_largest(void) {
    const uint64_t wrong[] = {0, TIDEGATE_MAX_COST + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        REFUSED(enter(NULL, 0, wrong[i]), TIDEGATE_ERROR_COST);
        REFUSED(enter_async(NULL, 0, wrong[i]), TIDEGATE_ERROR_COST);
        REFUSED(tidegate_gate_explain(gate, NULL, 0, wrong[i], &out.text), TIDEGATE_ERROR_COST);
    }
    CHECK_EQUAL(status_of((Request){.status = enter(NULL, 0, TIDEGATE_MAX_COST), .refusal = out.refusal}),
                TIDEGATE_EXCEEDS_CAPACITY);
}

static void a_format_or_a_text_that_is_none_is_told_in_words(void) {
    REFUSED(tidegate_gate_parse(TEXT(rules_text), 0, NULL, &out.gate, error_text, sizeof error_text),
            TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "format: got 0; allowed: one of TIDEGATE_FORMAT_*");
    REFUSED(tidegate_gate_reload(gate, TEXT(rules_text), 4, &out.text, error_text, sizeof error_text),
            TIDEGATE_ERROR_OPTION);
    REFUSED(tidegate_gate_parse("# \xFF", 3, TIDEGATE_FORMAT_TOML, NULL, &out.gate, error_text, sizeof error_text),
            TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "text: got 3 bytes, wrong from byte 2 on; allowed: text in UTF-8");
    REFUSED(tidegate_gate_open("\xFF.toml", 6, NULL, &out.gate, error_text, sizeof error_text), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(error_text, "path: got 6 bytes, wrong from byte 0 on; allowed: text in UTF-8");
    REFUSED(tidegate_gate_watch_file(gate, TEXT("nowhere.toml"), &out.watch, error_text, sizeof error_text),
            TIDEGATE_ERROR_OPTION);
    CHECK(strstr(error_text, "nowhere.toml") != NULL);
}

static void a_text_that_there_is_none_of_is_an_error(void) {
    Request request = request_of("bob"), refusal = request_of("bob");
    const uint32_t not_of_entries[] = {0, TIDEGATE_TEXT_MESSAGE, TIDEGATE_TEXT_RULE, UINT32_MAX};
    const uint32_t not_of_refusals[] = {0, TIDEGATE_TEXT_RULES, 10, UINT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        REFUSED(tidegate_entry_text(request.entry, not_of_entries[i], out.buffer, 9, &out.size), TIDEGATE_ERROR_OPTION);
        REFUSED(tidegate_refusal_text(refusal.refusal, not_of_refusals[i], out.buffer, 9, &out.size),
                TIDEGATE_ERROR_OPTION);
    }
    done(&request);
    done(&refusal);
}

int main(void) {
    gate = gate_of(rules_text, NULL);
    RUN(null_where_there_must_be_something_is_an_error);
    RUN(null_may_be_freed_and_has_no_owner_and_no_text);
    RUN(a_pointer_that_is_not_aligned_is_an_error);
    RUN(attributes_that_can_not_be_are_errors);
    RUN(a_value_may_be_any_bytes_and_a_name_or_value_empty);
    RUN(more_attributes_than_most_requests_have_are_read_all);
    RUN(a_cost_is_1_to_its_largest);
    RUN(a_format_or_a_text_that_is_none_is_told_in_words);
    RUN(a_text_that_there_is_none_of_is_an_error);
    tidegate_gate_free(gate);
    return finish();
}
