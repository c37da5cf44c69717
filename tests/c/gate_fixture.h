/* What tests of the gate begin with: a gate from text, requests of a path and a client, and what they are told. */

#ifndef GATE_FIXTURE_H
#define GATE_FIXTURE_H

#include "fixture.h"

/* A text and its length, as arguments. */
#define TEXT(text) (text), strlen(text)

/* A gate of these rules in TOML. If they are wrong, shows why and ends the program. */
static inline tidegate_gate *gate_of(const char *rules, const tidegate_clock *clock) {
    tidegate_gate *gate = NULL;
    char faults[TIDEGATE_FAULTS_SIZE];
    if (tidegate_gate_parse(TEXT(rules), TIDEGATE_FORMAT_TOML, clock, &gate, faults, sizeof faults) != TIDEGATE_OK) {
        printf("%s\n", faults);
        exit(1);
    }
    return gate;
}

/* A request, and what came of it. */
typedef struct {
    int32_t status;
    tidegate_entry *entry;
    tidegate_refusal *refusal;
} Request;

/* What is known of a request of this path and client. */
#define ATTRIBUTES(path, client)                                                                                       \
    ((const tidegate_attribute[]){{"path", 4, path, strlen(path)}, {"client", 6, client, strlen(client)}}), 2

static inline Request request(const tidegate_gate *gate, const char *path, const char *client, uint64_t timeout_ns) {
    Request request = {0};
    request.status = tidegate_gate_enter(gate, ATTRIBUTES(path, client), 1, timeout_ns, &request.entry, &request.refusal);
    return request;
}

/* A request that doesn't wait. */
static inline Request at_once(const tidegate_gate *gate, const char *path) {
    return request(gate, path, "ann", 0);
}

/* The end of a request, whatever came of it. */
static inline void done(Request *request) {
    tidegate_entry_release(request->entry, 1);
    tidegate_refusal_free(request->refusal);
    request->entry = NULL;
    request->refusal = NULL;
}

/* What became of a request that is ended at once. */
static inline int32_t status_of(Request request) {
    done(&request);
    return request.status;
}

/* A text of the refusal, until the next call. */
static inline const char *refusal_text(const tidegate_refusal *refusal, uint32_t which) {
    static char text[1024];
    size_t length = SIZE_MAX;
    CHECK_EQUAL(tidegate_refusal_text(refusal, which, text, sizeof text, &length), TIDEGATE_OK);
    CHECK_EQUAL(length, strlen(text));
    return text;
}

static inline const char *entry_text(const tidegate_entry *entry, uint32_t which) {
    static char text[1024];
    size_t length = SIZE_MAX;
    CHECK_EQUAL(tidegate_entry_text(entry, which, text, sizeof text, &length), TIDEGATE_OK);
    CHECK_EQUAL(length, strlen(text));
    return text;
}

static inline tidegate_refused refused(const tidegate_refusal *refusal) {
    tidegate_refused refused = {0};
    CHECK_EQUAL(tidegate_refusal_figures(refusal, &refused), TIDEGATE_OK);
    return refused;
}

/* Whether the document says this, which is taken away. */
static inline bool says(tidegate_text *text, const char *what) {
    bool said = tidegate_text_data(text) != NULL && strstr(tidegate_text_data(text), what) != NULL &&
                tidegate_text_length(text) == strlen(tidegate_text_data(text));
    if (!said) {
        printf("%s\n", tidegate_text_data(text) == NULL ? "no text" : tidegate_text_data(text));
    }
    tidegate_text_free(text);
    return said;
}

static inline tidegate_text *stats(const tidegate_gate *gate) {
    tidegate_text *stats = NULL;
    CHECK_EQUAL(tidegate_gate_stats(gate, &stats), TIDEGATE_OK);
    return stats;
}

#endif /* GATE_FIXTURE_H */
