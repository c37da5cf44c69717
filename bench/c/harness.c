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

/* What is used of the library; X has the name without its "tidegate_". */
#define EACH_FUNCTION(X) \
    X(rate_limiter_parse) \
    X(rate_limiter_try_acquire) \
    X(rate_limiter_decide) \
    X(keyed_rate_limiter_parse) \
    X(keyed_rate_limiter_try_acquire) \
    X(keyed_rate_limiter_try_acquire_many) \
    X(concurrency_limiter_new) \
    X(concurrency_limiter_try_acquire) \
    X(concurrency_limiter_acquire) \
    X(concurrency_limiter_release)

typedef struct {
    const char *name;
#define POINTER(function) __typeof__(tidegate_##function) *function;
    EACH_FUNCTION(POINTER)
} library;

static const library linked = {
    .name = "tidegate static",
#define LINKED(function) .function = tidegate_##function,
    EACH_FUNCTION(LINKED)
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
#define FIND(function) find(handle, "tidegate_" #function, &shared.function);
    EACH_FUNCTION(FIND)
    if (shared.rate_limiter_try_acquire == linked.rate_limiter_try_acquire) {
        fail(path, "is the library that is linked in");
    }
}

/* ---- the loops: each tells how many calls were admitted ---- */

enum { KEYS = 1000, KEY_SIZE = 24, ORDER = 1 << 16, BATCH = 100 };

static char texts[KEYS][KEY_SIZE];
static tidegate_key keys[KEYS];
static tidegate_key order[ORDER];

/* An address with a port each, and a pseudo-random order of them. */
static void make_keys(void) {
    for (int key = 0; key < KEYS; key++) {
        int size = snprintf(texts[key], KEY_SIZE, "203.0.%d.%d:%d", key / 256, key % 256, key);
        keys[key] = (tidegate_key){.data = texts[key], .size = (size_t)size};
    }
    uint64_t state = 12345;
    for (int call = 0; call < ORDER; call++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        order[call] = keys[(state >> 32) * KEYS >> 32];
    }
}

/* Each once for either library: inlined where the library is `linked`, its calls are direct; those of the shared one go through
 * a pointer, as through a PLT. */
#define FOR_EITHER static inline __attribute__((always_inline)) int64_t
#define EITHER(loop)                                                                                          \
    static int64_t loop##_linked(const void *limiter, int64_t calls) { return loop(&linked, limiter, calls); } \
    static int64_t loop##_shared(const void *limiter, int64_t calls) { return loop(&shared, limiter, calls); }

FOR_EITHER ask(const library *library, const void *limiter, int64_t calls) {
    int64_t admitted = 0;
    for (int64_t call = 0; call < calls; call++) {
        admitted += library->rate_limiter_try_acquire(limiter, 1) == TIDEGATE_ALLOWED;
    }
    return admitted;
}
EITHER(ask)

FOR_EITHER decide(const library *library, const void *limiter, int64_t calls) {
    int64_t admitted = 0;
    tidegate_decision decision;
    for (int64_t call = 0; call < calls; call++) {
        admitted += library->rate_limiter_decide(limiter, 1, &decision) == TIDEGATE_ALLOWED;
    }
    return admitted;
}
EITHER(decide)

FOR_EITHER ask_keyed(const library *library, const void *limiter, int64_t calls) {
    int64_t admitted = 0;
    for (int64_t call = 0; call < calls; call++) {
        tidegate_key key = order[call % ORDER];
        admitted += library->keyed_rate_limiter_try_acquire(limiter, key.data, key.size, 1) == TIDEGATE_ALLOWED;
    }
    return admitted;
}
EITHER(ask_keyed)

/* A call is BATCH keys. */
FOR_EITHER ask_many(const library *library, const void *limiter, int64_t calls) {
    int64_t admitted = 0;
    for (int64_t call = 0; call < calls; call++) {
        int32_t statuses[BATCH];
        library->keyed_rate_limiter_try_acquire_many(limiter, keys, BATCH, 1, statuses);
        int64_t allowed = 0;
        for (int key = 0; key < BATCH; key++) {
            allowed += statuses[key] == TIDEGATE_ALLOWED;
        }
        admitted += allowed == BATCH;
    }
    return admitted;
}
EITHER(ask_many)

FOR_EITHER ask_singly(const library *library, const void *limiter, int64_t calls) {
    int64_t admitted = 0;
    for (int64_t call = 0; call < calls; call++) {
        int64_t allowed = 0;
        for (int key = 0; key < BATCH; key++) {
            allowed +=
                library->keyed_rate_limiter_try_acquire(limiter, keys[key].data, keys[key].size, 1) == TIDEGATE_ALLOWED;
        }
        admitted += allowed == BATCH;
    }
    return admitted;
}
EITHER(ask_singly)

FOR_EITHER lend(const library *library, const void *limiter, int64_t calls) {
    int64_t admitted = 0;
    for (int64_t call = 0; call < calls; call++) {
        tidegate_permit permit;
        if (library->concurrency_limiter_try_acquire(limiter, 1, &permit) == TIDEGATE_ALLOWED) {
            admitted += library->concurrency_limiter_release(limiter, &permit, 1) == TIDEGATE_OK;
        }
    }
    return admitted;
}
EITHER(lend)

FOR_EITHER wait_and_lend(const library *library, const void *limiter, int64_t calls) {
    int64_t admitted = 0;
    for (int64_t call = 0; call < calls; call++) {
        tidegate_permit permit;
        if (library->concurrency_limiter_acquire(limiter, 1, TIDEGATE_NEVER_NS, &permit) == TIDEGATE_ALLOWED) {
            admitted += library->concurrency_limiter_release(limiter, &permit, 1) == TIDEGATE_OK;
        }
    }
    return admitted;
}
EITHER(wait_and_lend)

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

/* All take turns, one round to warm up and then those that count; every call must be admitted, or none. */
static void together(const char *name, bool admits, int64_t calls, subject *subjects, int count) {
    for (int round = -1; round < rounds; round++) {
        for (int index = 0; index < count; index++) {
            subject *turn = &subjects[index];
            double start = now_ns();
            int64_t admitted = turn->loop(turn->limiter, calls);
            double time_ns = (now_ns() - start) / (double)calls;
            if (admitted != (admits ? calls : 0)) {
                fail(name, "not every call had the answer that is timed");
            }
            if (round >= 0) {
                turn->times_ns[round] = time_ns;
            }
        }
    }
    for (int index = 0; index < count; index++) {
        report(name, &subjects[index]);
    }
}

/* Both ways, each into a limiter of its own. */
#define TOGETHER(title, admits, by, make, ...)                                                       \
    together(title, admits, CALLS,                                                                   \
             (subject[]){                                                                            \
                 {.name = shared.name, .loop = by##_shared, .limiter = make(&shared, __VA_ARGS__)},  \
                 {.name = linked.name, .loop = by##_linked, .limiter = make(&linked, __VA_ARGS__)}}, \
             2)

/* ---- cases ---- */

#define PLENTY "1000000000/s"

/* `used` calls are admitted before. */
static const void *rate(const library *library, const char *quota, int64_t used) {
    tidegate_rate_limiter *limiter = NULL;
    char error[TIDEGATE_ERROR_SIZE];
    if (library->rate_limiter_parse(quota, strlen(quota), NULL, &limiter, error, sizeof error) != TIDEGATE_OK) {
        fail(quota, error);
    }
    while (used-- > 0) {
        if (library->rate_limiter_try_acquire(limiter, 1) != TIDEGATE_ALLOWED) {
            fail(quota, "the first calls were refused");
        }
    }
    return limiter;
}

static const void *keyed(const library *library, const char *quota) {
    tidegate_keyed_rate_limiter *limiter = NULL;
    char error[TIDEGATE_ERROR_SIZE];
    if (library->keyed_rate_limiter_parse(quota, strlen(quota), NULL, &limiter, error, sizeof error) != TIDEGATE_OK) {
        fail(quota, error);
    }
    return limiter;
}

static const void *concurrency(const library *library, uint64_t limit) {
    tidegate_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = limit};
    tidegate_concurrency_limiter *limiter = NULL;
    char error[TIDEGATE_ERROR_SIZE];
    if (library->concurrency_limiter_new(&options, &limiter, error, sizeof error) != TIDEGATE_OK) {
        fail("concurrency limiter", error);
    }
    return limiter;
}

/* Both admit as many of the same calls, before anything is timed. */
static void same_work(void) {
    const int64_t calls = 2000, limit = 1000;
    int64_t through_shared = ask_shared(rate(&shared, "1000/h", 0), calls);
    int64_t through_linked = ask_linked(rate(&linked, "1000/h", 0), calls);
    if (through_shared != limit || through_linked != limit) {
        fail("same work", "not 1000 of 2000 calls were admitted");
    }
    through_shared = ask_keyed_shared(keyed(&shared, "1/h"), ORDER);
    through_linked = ask_keyed_linked(keyed(&linked, "1/h"), ORDER);
    if (through_shared != KEYS || through_linked != KEYS) {
        fail("same work", "not each key was admitted once");
    }
    fputs("same work: each of libtidegate.so and libtidegate.a admits 1000 of 2000 calls, and each of 1000 keys once\n",
          stderr);
}

static void batches(void) {
    subject subjects[] = {
        {.name = shared.name, .loop = ask_many_shared, .limiter = keyed(&shared, PLENTY)},
        {.name = linked.name, .loop = ask_many_linked, .limiter = keyed(&linked, PLENTY)},
        {.name = "tidegate single calls", .loop = ask_singly_shared, .limiter = keyed(&shared, PLENTY)},
        {.name = "tidegate static single calls", .loop = ask_singly_linked, .limiter = keyed(&linked, PLENTY)},
    };
    together("keyed gcra, 100 keys in one call", true, CALLS / BATCH, subjects, 4);
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
    make_keys();
    same_work();
    TOGETHER("gcra allowed", true, ask, rate, PLENTY, 0);
    TOGETHER("gcra refused", false, ask, rate, "1/h", 1);
    TOGETHER("check with figures", true, decide, rate, PLENTY, 0);
    TOGETHER("check with figures, refused", false, decide, rate, "1/h", 1);
    TOGETHER("2 quotas", true, ask, rate, PLENTY "; 1000000000/min", 0);
    TOGETHER("3 quotas", true, ask, rate, PLENTY "; 1000000000/min; 1000000000/h", 0);
    TOGETHER("keyed gcra, 1,000 keys", true, ask_keyed, keyed, PLENTY);
    batches();
    TOGETHER("concurrency try_acquire + release", true, lend, concurrency, 10);
    TOGETHER("acquire + release", true, wait_and_lend, concurrency, 10);
    return 0;
}
