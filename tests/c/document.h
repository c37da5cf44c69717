/* Reads what a gate tells: its documents, which are JSON without blanks, and the lines of faults. C and C++.
 *
 * A value of a document is where it begins.
 */

#ifndef DOCUMENT_H
#define DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Behind a value, or behind the name of a field. */
static inline const char *document_end(const char *at) {
    int depth = 0;
    do {
        if (*at == '"') {
            for (at++; *at != '"' && *at != '\0'; at++) {
                at += *at == '\\';
            }
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at += *at != '\0';
    } while (*at != '\0' && (depth > 0 || strchr(",:}]", *at) == NULL));
    return at;
}

/* The first element of an array, or the name of an object's first field; NULL if there is none. */
static inline const char *document_first(const char *value) {
    return value[1] == ']' || value[1] == '}' ? NULL : value + 1;
}

/* What comes after a value in its array or object; NULL if it is the last. */
static inline const char *document_next(const char *value) {
    const char *end = document_end(value);
    return *end == ',' ? end + 1 : NULL;
}

/* A field's value; NULL if the object has no such field. */
static inline const char *document_field(const char *object, const char *name) {
    const size_t length = strlen(name);
    for (const char *field = document_first(object); field != NULL;) {
        const char *end = document_end(field);
        if (length + 2 == (size_t)(end - field) && strncmp(field + 1, name, length) == 0) {
            return end + 1;
        }
        field = document_next(end + 1);
    }
    return NULL;
}

/* The characters of a number, or of a text without its quotes; texts are not unescaped. */
static inline const char *document_text(const char *value, size_t *length_out) {
    const size_t quotes = *value == '"';
    *length_out = (size_t)(document_end(value) - value) - 2 * quotes;
    return value + quotes;
}

/* `PATH[:LINE]: [rule NAME: ]ARGUMENT: got VALUE; allowed: WHAT` as `LINE:NAME:ARGUMENT`, with `-` for what is not there; false
 * if that isn't the form of the fault. */
static inline bool document_fault(const char *fault, const char *path, char *place, size_t size) {
    const char *line = "-", *rule = "-", *at = fault + strlen(path);
    int line_length = 1, rule_length = 1;
    if (strncmp(fault, path, strlen(path)) != 0) {
        return false;
    }
    if (at[0] == ':' && at[1] != ' ') {
        line = at + 1;
        line_length = (int)strcspn(line, ":");
        at = line + line_length;
    }
    if (strncmp(at, ": rule ", 7) == 0) {
        rule = at + 7;
        rule_length = (int)strcspn(rule, ":");
        at = rule + rule_length;
    }
    if (strncmp(at, ": ", 2) != 0) {
        return false;
    }
    const char *argument = at + 2;
    const int length = (int)strcspn(argument, ":");
    const int written =
        snprintf(place, size, "%.*s:%.*s:%.*s", line_length, line, rule_length, rule, length, argument);
    return strncmp(argument + length, ": got ", 6) == 0 && written < (int)size;
}

#endif /* DOCUMENT_H */
