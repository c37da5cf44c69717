/* Runs the vectors of the gate (tests/vectors/gate) through the C ABI and prints its answers.
 * usage: gate_conformance_c FILE...
 */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "tidegate.h"

enum { MAX_WORDS = 16, MAX_NAMES = 16, TEXT_SIZE = 512 };

/* What a script calls by this name. */
typedef struct {
    char *name;
    tidegate_gate *gate;
    tidegate_entry *entry;
} Named;

typedef struct {
    tidegate_clock *clock;
    Named named[MAX_NAMES];
    int named_count;
} Script;

static const char *file_path;
static long line_number;

/* The script itself is wrong. */
static _Noreturn void fault(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%ld: ", file_path, line_number);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(2);
}

/* For calls that a script can't make fail. */
static void done(int32_t status) {
    if (status != TIDEGATE_OK) {
        fault("%s", tidegate_status_name(status));
    }
}

static void empty(Script *script) {
    for (int i = 0; i < script->named_count; i++) {
        tidegate_entry_release(script->named[i].entry, 1);
        tidegate_gate_free(script->named[i].gate);
        free(script->named[i].name);
    }
    tidegate_clock_free(script->clock);
    *script = (Script){0};
}

static Named *named(Script *script, const char *name) {
    for (int i = 0; i < script->named_count; i++) {
        if (strcmp(script->named[i].name, name) == 0) {
            return &script->named[i];
        }
    }
    if (script->named_count == MAX_NAMES) {
        fault("too many names");
    }
    Named *named = &script->named[script->named_count++];
    named->name = strdup(name);
    return named;
}

static const tidegate_gate *gate_named(Script *script, const char *name) {
    const tidegate_gate *gate = named(script, name)->gate;
    if (gate == NULL) {
        fault("no gate %s", name);
    }
    return gate;
}

static uint64_t number(const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end != '\0') {
        fault("%s is no number", text);
    }
    return value;
}

/* ----------------------------------------------------------------------------------------------------------- documents */

/* The value of a field that must be there. */
static const char *field(const char *object, const char *name) {
    const char *value = document_field(object, name);
    if (value == NULL) {
        fault("no %s in %s", name, object);
    }
    return value;
}

static void say_value(const char *value) {
    size_t length;
    const char *text = document_text(value, &length);
    printf("%.*s", (int)length, text);
}

static void say_field(const char *before, const char *object, const char *name) {
    printf("%s", before);
    say_value(field(object, name));
}

static bool is(const char *object, const char *name, const char *text) {
    size_t length;
    const char *value = document_text(field(object, name), &length);
    return length == strlen(text) && strncmp(value, text, length) == 0;
}

/* ---------------------------------------------------------------------------------------------------------------- rules */

/* The path of a file that is next to the script. */
static const char *beside(const char *name) {
    static char path[4096];
    const char *slash = strrchr(file_path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - file_path) + 1;
    if (snprintf(path, sizeof path, "%.*s%s", folder, file_path, name) >= (int)sizeof path) {
        fault("too long a path");
    }
    return path;
}

static void say_faults(char *faults, const char *path) {
    printf("faults");
    for (char *line = strtok(faults, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char place[TEXT_SIZE];
        if (!document_fault(line, path, place, sizeof place)) {
            fault("not the form of a fault: %s", line);
        }
        printf(" %s", place);
    }
}

static void open_gate(Script *script, const char *name, const char *file) {
    char faults[TIDEGATE_FAULTS_SIZE];
    const char *path = beside(file);
    tidegate_gate *gate = NULL;
    if (tidegate_gate_open(path, strlen(path), script->clock, &gate, faults, sizeof faults) != TIDEGATE_OK) {
        say_faults(faults, path);
        return;
    }
    Named *place = named(script, name);
    tidegate_gate_free(place->gate);
    place->gate = gate;
    printf("ok");
}

static void reload(const tidegate_gate *gate, const char *file) {
    static const char *const kinds[] = {"changed", "restarted", "added", "removed", "unchanged"};
    char faults[TIDEGATE_FAULTS_SIZE];
    const char *path = beside(file);
    tidegate_text *reloaded = NULL;
    if (tidegate_gate_reload_file(gate, path, strlen(path), &reloaded, faults, sizeof faults) != TIDEGATE_OK) {
        say_faults(faults, path);
        return;
    }
    printf("ok");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *rule = document_first(field(tidegate_text_data(reloaded), kinds[i]));
        if (rule != NULL) {
            printf(" %s=", kinds[i]);
            say_value(rule);
            while ((rule = document_next(rule)) != NULL) {
                printf(",");
                say_value(rule);
            }
        }
    }
    tidegate_text_free(reloaded);
}

/* ------------------------------------------------------------------------------------------------------------- requests */

/* What the words of a request say. */
typedef struct {
    tidegate_attribute attributes[MAX_WORDS];
    size_t count;
    uint64_t cost;
    /* What the entry is kept as; NULL if it is not. */
    const char *kept_as;
} Request;

static Request request_of(char **words, int count) {
    Request request = {.cost = 1};
    for (int i = 0; i < count; i++) {
        char *value = strchr(words[i], '=');
        if (value == NULL) {
            fault("%s has no value", words[i]);
        }
        *value++ = '\0';
        if (strcmp(words[i], "cost") == 0) {
            request.cost = number(value);
        } else if (strcmp(words[i], "as") == 0) {
            request.kept_as = value;
        } else {
            request.attributes[request.count++] =
                (tidegate_attribute){words[i], strlen(words[i]), value, strlen(value)};
        }
    }
    return request;
}

static int by_text(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

static void say_rules(const tidegate_entry *entry) {
    char text[TEXT_SIZE], *rules[MAX_NAMES];
    size_t count = 0, length;
    done(tidegate_entry_text(entry, TIDEGATE_TEXT_RULES, text, sizeof text, NULL));
    for (const char *rule = document_first(text); rule != NULL && count < MAX_NAMES; rule = document_next(rule)) {
        const char *name = document_text(rule, &length);
        rules[count++] = strndup(name, length);
    }
    qsort(rules, count, sizeof *rules, by_text);
    printf("allowed rules=");
    for (size_t i = 0; i < count; i++) {
        printf("%s%s", i == 0 ? "" : ",", rules[i]);
        free(rules[i]);
    }
}

static const char *refusal_text(const tidegate_refusal *refusal, uint32_t which) {
    static char text[TEXT_SIZE];
    done(tidegate_refusal_text(refusal, which, text, sizeof text, NULL));
    return text;
}

static void say_refusal(const tidegate_refusal *refusal) {
    tidegate_refused refused;
    done(tidegate_refusal_figures(refusal, &refused));
    printf("%s rule=%s", tidegate_status_name(refused.status), refusal_text(refusal, TIDEGATE_TEXT_RULE));
    printf(" limit=%" PRIu64 " remaining=%" PRIu64 " retry_after=", refused.limit, refused.remaining);
    if (refused.retry_after_ns == TIDEGATE_NEVER_NS) {
        printf("never");
    } else if (refused.retry_after_ns == TIDEGATE_UNKNOWN_NS) {
        printf("others");
    } else {
        printf("%" PRIu64, refused.retry_after_ns);
    }
    if ((refused.flags & TIDEGATE_REFUSED_KEYED) != 0) {
        printf(" key=%s", refusal_text(refusal, TIDEGATE_TEXT_KEY));
    }
}

static void enter(Script *script, const tidegate_gate *gate, const Request *request) {
    tidegate_entry *entry;
    tidegate_refusal *refusal;
    const int32_t status =
        tidegate_gate_enter(gate, request->attributes, request->count, request->cost, 0, &entry, &refusal);
    if (refusal != NULL) {
        say_refusal(refusal);
        tidegate_refusal_free(refusal);
        return;
    }
    if (status == TIDEGATE_ALLOWED) {
        say_rules(entry);
    } else if (status == TIDEGATE_NO_RULE) {
        printf("no_rule");
    } else {
        fault("%s", tidegate_status_name(status));
    }
    if (request->kept_as == NULL) {
        tidegate_entry_release(entry, 1);
    } else {
        Named *place = named(script, request->kept_as);
        tidegate_entry_release(place->entry, 1);
        place->entry = entry;
    }
}

static void leave(Script *script, const char *name, bool ok) {
    Named *place = named(script, name);
    if (place->entry == NULL) {
        fault("no entry %s", name);
    }
    tidegate_entry_release(place->entry, ok);
    place->entry = NULL;
    printf("ok");
}

static void explain(const tidegate_gate *gate, const Request *request) {
    tidegate_text *text = NULL;
    done(tidegate_gate_explain(gate, request->attributes, request->count, request->cost, &text));
    const char *explained = tidegate_text_data(text);
    say_field("", explained, "status");
    for (const char *rule = document_first(field(explained, "rules")); rule != NULL; rule = document_next(rule)) {
        say_field(" ", rule, "rule");
        if (is(rule, "mode", "off")) {
            printf("=off");
        } else if (is(rule, "matched", "false")) {
            printf("=unmatched");
        } else {
            say_field("=", rule, "status");
            say_field(":", rule, "remaining");
        }
    }
    tidegate_text_free(text);
}

static void stats(const tidegate_gate *gate) {
    tidegate_text *text = NULL;
    done(tidegate_gate_stats(gate, &text));
    const char *stats = tidegate_text_data(text);
    say_field("ok admitted=", stats, "admitted");
    say_field(" refused=", stats, "refused");
    say_field(" unmatched=", stats, "unmatched");
    say_field(" ok=", stats, "released_ok");
    say_field(" failed=", stats, "released_failed");
    for (const char *rule = document_first(field(stats, "rules")); rule != NULL; rule = document_next(rule)) {
        say_field(" ", rule, "name");
        say_field("=", rule, "admitted");
        say_field(":", rule, "refused");
        say_field(":", field(rule, "limiter"), "in_flight");
    }
    tidegate_text_free(text);
}

/* ---------------------------------------------------------------------------------------------------------- the scripts */

static void run(Script *script, char **words, int count) {
    if (count < 2) {
        fault("%s wants more", words[0]);
    }
    const char *verb = words[0], *name = words[1];
    if (strcmp(verb, "gate") == 0 && count == 3) {
        open_gate(script, name, words[2]);
    } else if (strcmp(verb, "reload") == 0 && count == 3) {
        reload(gate_named(script, name), words[2]);
    } else if (strcmp(verb, "enter") == 0) {
        const Request request = request_of(words + 2, count - 2);
        enter(script, gate_named(script, name), &request);
    } else if (strcmp(verb, "leave") == 0) {
        leave(script, name, !(count == 3 && strcmp(words[2], "failed") == 0));
    } else if (strcmp(verb, "explain") == 0) {
        const Request request = request_of(words + 2, count - 2);
        explain(gate_named(script, name), &request);
    } else if (strcmp(verb, "stats") == 0) {
        stats(gate_named(script, name));
    } else if (strcmp(verb, "advance") == 0) {
        done(tidegate_clock_advance(script->clock, number(name)));
        printf("ok");
    } else {
        fault("unknown command %s", verb);
    }
}

static void run_line(Script *script, char *line) {
    if (line[0] == '#' || line[0] == '=') {
        return;
    }
    char *words[MAX_WORDS];
    int count = 0;
    for (char *word = strtok(line, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        if (count == MAX_WORDS) {
            fault("too many words");
        }
        words[count++] = word;
    }
    if (count == 0) {
        return;
    }
    if (count == 2 && strcmp(words[0], "script") == 0) {
        empty(script);
        done(tidegate_clock_manual_new(&script->clock));
        printf("script %s\n", words[1]);
    } else {
        printf("%ld ", line_number);
        run(script, words, count);
        printf("\n");
    }
}

static void run_file(const char *path) {
    const char *slash = strrchr(path, '/');
    file_path = path;
    line_number = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fault("can't be opened");
    }
    printf("file %s\n", slash == NULL ? path : slash + 1);
    Script script = {0};
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) != -1) {
        line_number++;
        run_line(&script, line);
    }
    free(line);
    empty(&script);
    fclose(file);
}

int main(int count, char **paths) {
    for (int i = 1; i < count; i++) {
        run_file(paths[i]);
    }
    return 0;
}
