/* Small macros for tests: a test is a function whose name says what must hold. */

#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int failures_in_test;
static int tests_passed;
static int tests_failed;

/* The condition holds. */
#define CHECK(condition)                                                                                               \
    ((condition) ? (void)0 : (void)(failures_in_test++, printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition)))

/* Two whole numbers are equal; both are shown if not. Statuses, figures and counts. */
#define CHECK_EQUAL(got, wanted)                                                                                       \
    check_equal((long long)(got), (long long)(wanted), #got " == " #wanted, __FILE__, __LINE__)

/* Two texts are equal. */
#define CHECK_TEXT(got, wanted) check_text(got, wanted, #got, __FILE__, __LINE__)

#define RUN(test) run_test(#test, test)

static inline void check_equal(long long got, long long wanted, const char *what, const char *file, int line) {
    if (got != wanted) {
        failures_in_test++;
        printf("%s:%d: not so: %s: got %lld, wanted %lld\n", file, line, what, got, wanted);
    }
}

static inline void check_text(const char *got, const char *wanted, const char *what, const char *file, int line) {
    if (strcmp(got, wanted) != 0) {
        failures_in_test++;
        printf("%s:%d: %s: got \"%s\", wanted \"%s\"\n", file, line, what, got, wanted);
    }
}

static inline void run_test(const char *name, void (*test)(void)) {
    failures_in_test = 0;
    test();
    if (failures_in_test == 0) {
        tests_passed++;
    } else {
        tests_failed++;
        printf("FAILED %s\n", name);
    }
}

/* The last line of a test program, and its exit code. */
static inline int finish(void) {
    printf("%d passed, %d failed\n", tests_passed, tests_failed);
    return tests_failed == 0 ? 0 : 1;
}

#endif /* CHECK_H */
