/*
 * The C ABI through the shared library, beside the same calls into the static one, interleaved in one process.
 * Prints JSON lines; bench/run.py reads them.
 *
 * usage: harness LIBTIDEGATE_SO     (the static library is linked in)
 */
#define _POSIX_C_SOURCE 200809L

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tidegate.h>

enum { MAX_ROUNDS = 41, CALLS = 200000 };

static int rounds = MAX_ROUNDS;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "harness: %s: %s\n", what, why);
    exit(1);
}

/* ---- the two ways into the library ---- */

/* What is used of one library, by the names of the header. */
typedef struct {
    const char *name;
    int32_t (*parse)(const char *, size_t, const tidegate_rate_limiter_options *, tidegate_rate_limiter **, char *,
                     size_t);
    int32_t (*try_acquire)(const tidegate_rate_limiter *, uint64_t);
    int32_t (*concurrency_new)(const tidegate_concurrency_limiter_options *, tidegate_concurrency_limiter **, char *,
                               size_t);
    int32_t (*permit_try_acquire)(const tidegate_concurrency_limiter *, uint64_t, tidegate_permit *);
    int32_t (*permit_release)(const tidegate_concurrency_limiter *, tidegate_permit *, int32_t);
} library;

static const library linked = {
    .name = "tidegate static",
    .parse = tidegate_rate_limiter_parse,
    .try_acquire = tidegate_rate_limiter_try_acquire,
    .concurrency_new = tidegate_concurrency_limiter_new,
    .permit_try_acquire = tidegate_concurrency_limiter_try_acquire,
    .permit_release = tidegate_concurrency_limiter_release,
};

static library shared = {.name = "tidegate"};

/* ISO C has no cast from an object's to a function's pointer; POSIX says that their bytes are the same. */
static void find(void *handle, const char *symbol, void *function) {
    void *address = dlsym(handle, symbol);
    if (address == NULL) {
        fail(symbol, dlerror());
    }
    memcpy(function, &address, sizeof address);
}

static void load(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        fail("dlopen", dlerror());
    }
    find(handle, "tidegate_rate_limiter_parse", &shared.parse);
    find(handle, "tidegate_rate_limiter_try_acquire", &shared.try_acquire);
    find(handle, "tidegate_concurrency_limiter_new", &shared.concurrency_new);
    find(handle, "tidegate_concurrency_limiter_try_acquire", &shared.permit_try_acquire);
    find(handle, "tidegate_concurrency_limiter_release", &shared.permit_release);
    if (shared.try_acquire == linked.try_acquire) {
        fail(path, "is the library that is linked in");
    }
}

/* ---- the loops: each tells how many calls were admitted ---- */

/* One function a way, so that the static call is direct; the shared one goes through a pointer, as through a PLT. */
static int64_t ask_linked(const void *limiter, int64_t calls) {
    int64_t admitted = 0;
    for (int64_t call = 0; call < calls; call++) {
        admitted += tidegate_rate_limiter_try_acquire(limiter, 1) == TIDEGATE_ALLOWED;
    }
    return admitted;
}

static int64_t ask_shared(const void *limiter, int64_t calls) {
    int64_t admitted = 0;
    for (int64_t call = 0; call < calls; call++) {
        admitted += shared.try_acquire(limiter, 1) == TIDEGATE_ALLOWED;
    }
    return admitted;
}

static int64_t lend_linked(const void *limiter, int64_t calls) {
    int64_t admitted = 0;
    for (int64_t call = 0; call < calls; call++) {
        tidegate_permit permit;
        if (tidegate_concurrency_limiter_try_acquire(limiter, 1, &permit) == TIDEGATE_ALLOWED) {
            admitted += tidegate_concurrency_limiter_release(limiter, &permit, 1) == TIDEGATE_OK;
        }
    }
    return admitted;
}

static int64_t lend_shared(const void *limiter, int64_t calls) {
    int64_t admitted = 0;
    for (int64_t call = 0; call < calls; call++) {
        tidegate_permit permit;
        if (shared.permit_try_acquire(limiter, 1, &permit) == TIDEGATE_ALLOWED) {
            admitted += shared.permit_release(limiter, &permit, 1) == TIDEGATE_OK;
        }
    }
    return admitted;
}

/* ---- rounds ---- */

typedef struct {
    const char *name;
    int64_t (*loop)(const void *limiter, int64_t calls);
    const void *limiter;
    double times_ns[MAX_ROUNDS];
} subject;

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Prints the median and the tenth and ninetieth percentile. */
static void report(const char *name, subject *subject) {
    double *times = subject->times_ns;
    qsort(times, (size_t)rounds, sizeof *times, by_size);
    int last = rounds - 1;
    printf("{\"language\": \"c\", \"case\": \"%s\", \"subject\": \"%s\", \"ns_per_op\": %.2f, "
           "\"spread\": [%.2f, %.2f], \"rounds\": %d, \"version\": \"%s\"}\n",
           name, subject->name, times[last / 2], times[last / 10], times[last * 9 / 10], rounds, tidegate_version());
}

/* Both take turns, one round to warm up and then those that count; every call must be admitted, or none. */
static void together(const char *name, bool admits, subject *subjects) {
    for (int round = -1; round < rounds; round++) {
        for (int index = 0; index < 2; index++) {
            subject *turn = &subjects[index];
            double start = now_ns();
            int64_t admitted = turn->loop(turn->limiter, CALLS);
            double time_ns = (now_ns() - start) / CALLS;
            if (admitted != (admits ? CALLS : 0)) {
                fail(name, "not every call had the answer that is timed");
            }
            if (round >= 0) {
                turn->times_ns[round] = time_ns;
            }
        }
    }
    for (int index = 0; index < 2; index++) {
        report(name, &subjects[index]);
    }
}

/* ---- cases ---- */

static tidegate_rate_limiter *rate(const library *library, const char *quota) {
    tidegate_rate_limiter *limiter = NULL;
    char error[TIDEGATE_ERROR_SIZE];
    if (library->parse(quota, strlen(quota), NULL, &limiter, error, sizeof error) != TIDEGATE_OK) {
        fail(quota, error);
    }
    return limiter;
}

static tidegate_concurrency_limiter *concurrency(const library *library) {
    tidegate_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = 10};
    tidegate_concurrency_limiter *limiter = NULL;
    char error[TIDEGATE_ERROR_SIZE];
    if (library->concurrency_new(&options, &limiter, error, sizeof error) != TIDEGATE_OK) {
        fail("concurrency limiter", error);
    }
    return limiter;
}

static void together_rate(const char *name, bool admits, const char *quota, int64_t used) {
    subject subjects[] = {
        {.name = shared.name, .loop = ask_shared, .limiter = rate(&shared, quota)},
        {.name = linked.name, .loop = ask_linked, .limiter = rate(&linked, quota)},
    };
    for (int index = 0; index < 2; index++) {
        if (subjects[index].loop(subjects[index].limiter, used) != used) {
            fail(name, "the first calls were refused");
        }
    }
    together(name, admits, subjects);
}

/* Both admit as many of the same calls, before anything is timed. */
static void same_work(void) {
    const int64_t calls = 2000, limit = 1000;
    int64_t through_shared = ask_shared(rate(&shared, "1000/h"), calls);
    int64_t through_linked = ask_linked(rate(&linked, "1000/h"), calls);
    if (through_shared != limit || through_linked != limit) {
        fail("same work", "not 1000 of 2000 calls were admitted");
    }
    fputs("same work: each of libtidegate.so and libtidegate.a admits 1000 of 2000 calls\n", stderr);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fail("usage", "harness LIBTIDEGATE_SO");
    }
    const char *quick = getenv("QUICK");
    if (quick != NULL && *quick != '\0') {
        rounds = 9;
    }
    load(argv[1]);
    same_work();
    together_rate("gcra allowed", true, "1000000000/s", 0);
    together_rate("gcra refused", false, "1/h", 1);
    subject lenders[] = {
        {.name = shared.name, .loop = lend_shared, .limiter = concurrency(&shared)},
        {.name = linked.name, .loop = lend_linked, .limiter = concurrency(&linked)},
    };
    together("concurrency try_acquire + release", true, lenders);
    return 0;
}
