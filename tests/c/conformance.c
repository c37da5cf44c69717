/* Runs vector files through the C ABI and prints the canonical transcript (docs/design.md, section 12, "Vectors").
 * usage: conformance_c FILE...
 */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidegate.h"

enum { MAX_WORDS = 256, MAX_KEYS = 1024 };

/* A limiter of the script; one of the four is set. */
typedef struct {
    char *name;
    tidegate_rate_limiter *rate;
    tidegate_concurrency_limiter *concurrency;
    tidegate_keyed_rate_limiter *keyed_rate;
    tidegate_keyed_concurrency_limiter *keyed_concurrency;
    bool tracks_hold_time;
} Limiter;

/* What was kept under an ID: a decision, or a permit and its limiter, keyed or not. */
typedef struct {
    char *name;
    tidegate_decision decision;
    tidegate_permit permit;
    const tidegate_concurrency_limiter *lender;
    tidegate_keyed_permit keyed_permit;
    const tidegate_keyed_concurrency_limiter *keyed_lender;
    tidegate_reservation reservation;
} Kept;

/* A wait of the script. Stays where it is, since the library calls back for it. */
typedef struct {
    char *name;
    /* What it waits for. */
    Limiter limiter;
    /* 0 if it was over at once. */
    uint64_t ticket;
    bool is_pending;
    /* What it ended as, and still is to be printed. */
    bool has_ended;
    int32_t status;
    tidegate_permit permit;
    tidegate_keyed_permit keyed_permit;
} Wait;

typedef struct {
    tidegate_clock *clock;
    Limiter *limiters;
    size_t limiter_count;
    Kept *kept;
    size_t kept_count;
    Wait **waits;
    size_t wait_count;
} Script;

static const char *file_name;
static long line_number;
static char error_text[TIDEGATE_ERROR_SIZE];

/* The script itself is wrong. */
static _Noreturn void fault(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%ld: ", file_name, line_number);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(2);
}

static void *grown(void *array, size_t count, size_t size) {
    void *larger = realloc(array, (count + 1) * size);
    if (larger == NULL) {
        fault("no memory");
    }
    memset((char *)larger + count * size, 0, size);
    return larger;
}

static char *copy_of(const char *text) {
    char *copy = strdup(text);
    if (copy == NULL) {
        fault("no memory");
    }
    return copy;
}

static void free_limiter(const Limiter *limiter) {
    tidegate_rate_limiter_free(limiter->rate);
    tidegate_concurrency_limiter_free(limiter->concurrency);
    tidegate_keyed_rate_limiter_free(limiter->keyed_rate);
    tidegate_keyed_concurrency_limiter_free(limiter->keyed_concurrency);
}

static void empty(Script *script) {
    for (size_t i = 0; i < script->limiter_count; i++) {
        free_limiter(&script->limiters[i]);
        free(script->limiters[i].name);
    }
    for (size_t i = 0; i < script->kept_count; i++) {
        free(script->kept[i].name);
    }
    for (size_t i = 0; i < script->wait_count; i++) {
        free(script->waits[i]->name);
        free(script->waits[i]);
    }
    free(script->limiters);
    free(script->kept);
    free(script->waits);
    tidegate_clock_free(script->clock);
    *script = (Script){0};
}

static Limiter *limiter_named(Script *script, const char *name) {
    for (size_t i = 0; i < script->limiter_count; i++) {
        if (strcmp(script->limiters[i].name, name) == 0) {
            return &script->limiters[i];
        }
    }
    fault("no limiter %s", name);
}

static const Limiter *rate_named(Script *script, const char *name) {
    const Limiter *limiter = limiter_named(script, name);
    if (limiter->rate == NULL && limiter->keyed_rate == NULL) {
        fault("%s is no rate limiter", name);
    }
    return limiter;
}

/* The place for a limiter, under a name that may have been another's before. */
static Limiter *new_limiter(Script *script, const char *name) {
    for (size_t i = 0; i < script->limiter_count; i++) {
        Limiter *old = &script->limiters[i];
        if (strcmp(old->name, name) == 0) {
            free_limiter(old);
            *old = (Limiter){.name = old->name};
            return old;
        }
    }
    script->limiters = grown(script->limiters, script->limiter_count, sizeof(Limiter));
    Limiter *limiter = &script->limiters[script->limiter_count++];
    limiter->name = copy_of(name);
    return limiter;
}

static Kept *kept_named(Script *script, const char *name) {
    for (size_t i = 0; i < script->kept_count; i++) {
        if (strcmp(script->kept[i].name, name) == 0) {
            return &script->kept[i];
        }
    }
    fault("nothing was kept as %s", name);
}

static Kept *new_kept(Script *script, const char *name) {
    for (size_t i = 0; i < script->kept_count; i++) {
        if (strcmp(script->kept[i].name, name) == 0) {
            return &script->kept[i];
        }
    }
    script->kept = grown(script->kept, script->kept_count, sizeof(Kept));
    Kept *kept = &script->kept[script->kept_count++];
    kept->name = copy_of(name);
    return kept;
}

static uint64_t number(const char *text) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0') {
        fault("%s is no number", text);
    }
    return value;
}

/* The value of `name=value` among the words, or NULL. */
static const char *option(char **words, int count, const char *name) {
    size_t length = strlen(name);
    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], name, length) == 0 && words[i][length] == '=') {
            return words[i] + length + 1;
        }
    }
    return NULL;
}

static uint64_t number_option(char **words, int count, const char *name, uint64_t otherwise) {
    const char *value = option(words, count, name);
    return value == NULL ? otherwise : number(value);
}

/* Decodes %XX in place and returns the length; the text may hold NULs. */
static size_t decode(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        char digits[3] = {0};
        if (*from == '%' && sscanf(from, "%%%2[0-9A-Fa-f]", digits) == 1 && digits[1] != '\0') {
            *to = (char)strtol(digits, NULL, 16);
            from += 3;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
    return (size_t)(to - text);
}

/* The key of a call: of a keyed limiter one must be given, of another none. */
static tidegate_key key_option(const Limiter *limiter, char **words, int count) {
    bool is_keyed = limiter->keyed_rate != NULL || limiter->keyed_concurrency != NULL;
    char *text = (char *)(uintptr_t)option(words, count, "key");
    if ((text != NULL) != is_keyed) {
        fault(is_keyed ? "%s wants a key" : "%s takes no key", limiter->name);
    }
    return (tidegate_key){.data = text, .size = is_keyed ? decode(text) : 0};
}

/* The keys of `name=%XX,%XX`; returns how many. */
static size_t key_list(char **words, int count, const char *name, tidegate_key *keys) {
    char *text = (char *)(uintptr_t)option(words, count, name);
    if (text == NULL) {
        fault("no %s", name);
    }
    size_t listed = 0;
    while (text != NULL) {
        char *comma = strchr(text, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (listed == MAX_KEYS) {
            fault("too many %s", name);
        }
        keys[listed++] = (tidegate_key){.data = text, .size = decode(text)};
        text = comma == NULL ? NULL : comma + 1;
    }
    return listed;
}

/* ---------------------------------------------------------------------------------------------------------- answers */

static void say_error(const char *argument) {
    printf("%ld error %s\n", line_number, argument);
}

/* Prints the argument that an error text begins with. */
static void say_told_error(void) {
    error_text[strcspn(error_text, ":")] = '\0';
    say_error(error_text);
}

/* Prints `ok`, or the argument that a status is about. */
static void say_done(int32_t status) {
    switch (status) {
    case TIDEGATE_OK:
        printf("%ld ok\n", line_number);
        break;
    case TIDEGATE_ERROR_PERMIT:
        say_error("permit");
        break;
    case TIDEGATE_ERROR_DECISION:
        say_error("decision");
        break;
    default:
        fault("unexpected status %s", tidegate_status_name(status));
    }
}

static void say_told(int32_t status) {
    if (status < 0) {
        say_told_error();
    } else {
        printf("%ld ok\n", line_number);
    }
}

static void say_try(int32_t status, const char *argument) {
    if (status == TIDEGATE_ERROR_COST) {
        say_error(argument);
    } else if (status < 0) {
        fault("unexpected status %s", tidegate_status_name(status));
    } else {
        printf("%ld %s\n", line_number, status == TIDEGATE_ALLOWED ? "allowed" : "refused");
    }
}

static void say_decision(int32_t status, const tidegate_decision *decision) {
    if (status == TIDEGATE_ERROR_COST) {
        say_error("cost");
        return;
    }
    if (status < 0 || status != decision->status) {
        fault("unexpected status %s", tidegate_status_name(status));
    }
    printf("%ld %s limit=%" PRIu64 " remaining=%" PRIu64 " retry_after=", line_number, tidegate_status_name(status),
           decision->limit, decision->remaining);
    if (decision->retry_after_ns == TIDEGATE_NEVER_NS) {
        printf("never");
    } else {
        printf("%" PRIu64, decision->retry_after_ns);
    }
    printf(" reset_after=%" PRIu64 " quota=%" PRIu32 "\n", decision->reset_after_ns, decision->quota);
}

/* ----------------------------------------------------------------------------------------------------------- quotas */

static uint32_t algorithm_named(const char *name) {
    static const char *const names[] = {"gcra", "fixed_window", "sliding_window", "sliding_log"};
    for (uint32_t i = 0; name != NULL && i < 4; i++) {
        if (strcmp(names[i], name) == 0) {
            return TIDEGATE_ALGORITHM_GCRA + i;
        }
    }
    return name == NULL ? TIDEGATE_ALGORITHM_DEFAULT : UINT32_MAX;
}

static uint32_t anchor_named(const char *name) {
    if (name == NULL) {
        return TIDEGATE_ANCHOR_DEFAULT;
    }
    return strcmp(name, "first") == 0   ? TIDEGATE_ANCHOR_FIRST
           : strcmp(name, "clock") == 0 ? TIDEGATE_ANCHOR_CLOCK
                                        : UINT32_MAX;
}

/* Reads one quota of a script. A burst of 0 can't be said in the struct, where it means the default: its text can. */
static int32_t read_quota(char **words, int count, tidegate_quota *quota) {
    *quota = (tidegate_quota){
        .struct_size = sizeof *quota,
        .limit = number_option(words, count, "limit", 0),
        .period_ns = number_option(words, count, "per", 0),
        .burst = number_option(words, count, "burst", 0),
        .algorithm = algorithm_named(option(words, count, "algorithm")),
        .anchor = anchor_named(option(words, count, "anchor")),
    };
    quota->flags = quota->limit == 0 ? TIDEGATE_QUOTA_LIMIT_ZERO : 0;
    if (option(words, count, "burst") != NULL && quota->burst == 0) {
        char text[TIDEGATE_QUOTA_TEXT_SIZE];
        size_t parsed;
        int length = snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "ns burst 0", quota->limit, quota->period_ns);
        return tidegate_quota_parse(text, (size_t)length, quota, 1, &parsed, error_text, sizeof error_text);
    }
    return TIDEGATE_OK;
}

/* Reads `QUOTA [+ QUOTA]...`; returns how many, or -1 with the error told. There may be one more than allowed. */
static int read_quotas(char **words, int count, tidegate_quota *quotas) {
    int read = 0;
    for (int start = 0; start < count && read <= TIDEGATE_MAX_QUOTAS; read++) {
        int end = start;
        while (end < count && strcmp(words[end], "+") != 0) {
            end++;
        }
        if (read_quota(words + start, end - start, &quotas[read]) < 0) {
            return -1;
        }
        start = end + 1;
    }
    return read;
}

static void parse(char **words, int count) {
    char *text = (char *)(uintptr_t)option(words, count, "text");
    if (text == NULL) {
        fault("parse wants a text");
    }
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    size_t parsed;
    size_t length = decode(text);
    if (tidegate_quota_parse(text, length, quotas, TIDEGATE_MAX_QUOTAS, &parsed, error_text, sizeof error_text) < 0) {
        say_told_error();
        return;
    }
    printf("%ld ok ", line_number);
    for (size_t i = 0; i < parsed; i++) {
        char canonical[TIDEGATE_QUOTA_TEXT_SIZE];
        size_t written;
        if (tidegate_quota_format(&quotas[i], canonical, sizeof canonical, &written) < 0) {
            fault("a quota that was read can't be written");
        }
        printf("%s%.*s", i == 0 ? "" : "; ", (int)written, canonical);
    }
    printf("\n");
}

/* --------------------------------------------------------------------------------------------------------- commands */

/* In a struct 0 is the default, which a script does not mean: another number out of range stands for it. */
static uint64_t max_keys_option(char **words, int count) {
    uint64_t max_keys = number_option(words, count, "max_keys", 0);
    return max_keys == 0 ? UINT64_MAX : max_keys;
}

static uint32_t when_full_named(const char *name) {
    if (name == NULL) {
        return TIDEGATE_WHEN_FULL_DEFAULT;
    }
    return strcmp(name, "evict") == 0      ? TIDEGATE_WHEN_FULL_EVICT
           : strcmp(name, "deny_new") == 0 ? TIDEGATE_WHEN_FULL_DENY_NEW
                                           : UINT32_MAX;
}

static void make_keyed_rate(Script *script, const char *name, char **words, int count) {
    tidegate_keyed_rate_limiter_options options = {
        .struct_size = sizeof options,
        .max_keys = max_keys_option(words, count),
        .when_full = when_full_named(option(words, count, "when_full")),
        .track_denied = (uint32_t)number_option(words, count, "track_denied", 0),
        .clock = script->clock,
        .max_waiters = number_option(words, count, "max_waiters", 0),
    };
    if (option(words, count, "max_waiters") != NULL && options.max_waiters == 0) {
        options.flags = TIDEGATE_RATE_NO_WAITERS;
    }
    tidegate_keyed_rate_limiter *limiter = NULL;
    char *text = (char *)(uintptr_t)option(words, count, "text");
    int32_t status = TIDEGATE_ERROR_OPTION;
    if (text != NULL) {
        size_t length = decode(text);
        status = tidegate_keyed_rate_limiter_parse(text, length, &options, &limiter, error_text, sizeof error_text);
    } else {
        tidegate_quota quotas[TIDEGATE_MAX_QUOTAS + 1];
        int read = read_quotas(words, count, quotas);
        if (read >= 0) {
            status = tidegate_keyed_rate_limiter_new(quotas, (size_t)read, &options, &limiter, error_text,
                                                     sizeof error_text);
        }
    }
    say_told(status);
    if (status == TIDEGATE_OK) {
        new_limiter(script, name)->keyed_rate = limiter;
    }
}

static void make_keyed_concurrency(Script *script, const char *name, char **words, int count) {
    bool tracks = number_option(words, count, "track_hold_time", 0) == 1;
    tidegate_keyed_concurrency_limiter_options options = {
        .struct_size = sizeof options,
        .flags = tracks ? TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME : 0,
        .limit = number_option(words, count, "limit", 0),
        .max_keys = max_keys_option(words, count),
        .clock = script->clock,
        .max_waiters = number_option(words, count, "max_waiters", 0),
    };
    if (options.limit == 0) {
        options.flags |= TIDEGATE_CONCURRENCY_LIMIT_ZERO;
    }
    if (option(words, count, "max_waiters") != NULL && options.max_waiters == 0) {
        options.flags |= TIDEGATE_CONCURRENCY_NO_WAITERS;
    }
    tidegate_keyed_concurrency_limiter *made = NULL;
    int32_t status = tidegate_keyed_concurrency_limiter_new(&options, &made, error_text, sizeof error_text);
    say_told(status);
    if (status == TIDEGATE_OK) {
        Limiter *limiter = new_limiter(script, name);
        limiter->keyed_concurrency = made;
        limiter->tracks_hold_time = tracks;
    }
}

static void make_rate(Script *script, const char *name, char **words, int count) {
    if (option(words, count, "max_keys") != NULL) {
        make_keyed_rate(script, name, words, count);
        return;
    }
    tidegate_rate_limiter_options options = {
        .struct_size = sizeof options,
        .clock = script->clock,
        .max_waiters = number_option(words, count, "max_waiters", 0),
    };
    if (option(words, count, "max_waiters") != NULL && options.max_waiters == 0) {
        options.flags = TIDEGATE_RATE_NO_WAITERS;
    }
    tidegate_rate_limiter *limiter = NULL;
    char *text = (char *)(uintptr_t)option(words, count, "text");
    int32_t status = TIDEGATE_ERROR_OPTION;
    if (text != NULL) {
        size_t length = decode(text);
        status = tidegate_rate_limiter_parse(text, length, &options, &limiter, error_text, sizeof error_text);
    } else {
        tidegate_quota quotas[TIDEGATE_MAX_QUOTAS + 1];
        int read = read_quotas(words, count, quotas);
        if (read >= 0) {
            status = tidegate_rate_limiter_new(quotas, (size_t)read, &options, &limiter, error_text, sizeof error_text);
        }
    }
    say_told(status);
    if (status == TIDEGATE_OK) {
        new_limiter(script, name)->rate = limiter;
    }
}

static void make_concurrency(Script *script, const char *name, char **words, int count) {
    if (option(words, count, "max_keys") != NULL) {
        make_keyed_concurrency(script, name, words, count);
        return;
    }
    bool tracks = number_option(words, count, "track_hold_time", 0) == 1;
    tidegate_concurrency_limiter_options options = {
        .struct_size = sizeof options,
        .flags = tracks ? TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME : 0,
        .limit = number_option(words, count, "limit", 0),
        .clock = script->clock,
        .max_waiters = number_option(words, count, "max_waiters", 0),
    };
    if (options.limit == 0) {
        options.flags |= TIDEGATE_CONCURRENCY_LIMIT_ZERO;
    }
    if (option(words, count, "max_waiters") != NULL && options.max_waiters == 0) {
        options.flags |= TIDEGATE_CONCURRENCY_NO_WAITERS;
    }
    tidegate_concurrency_limiter *made = NULL;
    int32_t status = tidegate_concurrency_limiter_new(&options, &made, error_text, sizeof error_text);
    say_told(status);
    if (status == TIDEGATE_OK) {
        Limiter *limiter = new_limiter(script, name);
        limiter->concurrency = made;
        limiter->tracks_hold_time = tracks;
    }
}

static void reconfigure(Script *script, const char *name, char **words, int count) {
    const Limiter *limiter = rate_named(script, name);
    char *text = (char *)(uintptr_t)option(words, count, "text");
    int32_t status = TIDEGATE_ERROR_OPTION;
    if (text != NULL) {
        size_t length = decode(text);
        status = limiter->keyed_rate != NULL
                     ? tidegate_keyed_rate_limiter_reconfigure_text(limiter->keyed_rate, text, length, error_text,
                                                                    sizeof error_text)
                     : tidegate_rate_limiter_reconfigure_text(limiter->rate, text, length, error_text,
                                                              sizeof error_text);
    } else {
        tidegate_quota quotas[TIDEGATE_MAX_QUOTAS + 1];
        int read = read_quotas(words, count, quotas);
        if (read >= 0) {
            status = limiter->keyed_rate != NULL
                         ? tidegate_keyed_rate_limiter_reconfigure(limiter->keyed_rate, quotas, (size_t)read, error_text,
                                                                   sizeof error_text)
                         : tidegate_rate_limiter_reconfigure(limiter->rate, quotas, (size_t)read, error_text,
                                                             sizeof error_text);
        }
    }
    say_told(status);
}

static void try_acquire(Script *script, const char *name, char **words, int count) {
    const Limiter *limiter = limiter_named(script, name);
    uint64_t cost = number_option(words, count, "cost", 1);
    tidegate_key key = key_option(limiter, words, count);
    if (limiter->rate != NULL) {
        say_try(tidegate_rate_limiter_try_acquire(limiter->rate, cost), "cost");
        return;
    }
    if (limiter->keyed_rate != NULL) {
        say_try(tidegate_keyed_rate_limiter_try_acquire(limiter->keyed_rate, key.data, key.size, cost), "cost");
        return;
    }
    const char *as = option(words, count, "as");
    if (limiter->keyed_concurrency != NULL) {
        tidegate_keyed_permit permit;
        int32_t status = tidegate_keyed_concurrency_limiter_try_acquire(limiter->keyed_concurrency, key.data, key.size,
                                                                        cost, &permit);
        say_try(status, "permits");
        if (as != NULL && status >= 0) {
            Kept *kept = new_kept(script, as);
            kept->keyed_permit = permit;
            kept->keyed_lender = limiter->keyed_concurrency;
            kept->lender = NULL;
        }
        return;
    }
    tidegate_permit permit;
    int32_t status = tidegate_concurrency_limiter_try_acquire(limiter->concurrency, cost, &permit);
    say_try(status, "permits");
    if (as != NULL && status >= 0) {
        Kept *kept = new_kept(script, as);
        kept->permit = permit;
        kept->lender = limiter->concurrency;
        kept->keyed_lender = NULL;
    }
}

static void decide(Script *script, const char *name, char **words, int count, bool spend) {
    const Limiter *limiter = rate_named(script, name);
    uint64_t cost = number_option(words, count, "cost", 1);
    tidegate_key key = key_option(limiter, words, count);
    tidegate_decision decision;
    int32_t status;
    if (limiter->keyed_rate != NULL) {
        status = (spend ? tidegate_keyed_rate_limiter_decide : tidegate_keyed_rate_limiter_peek)(
            limiter->keyed_rate, key.data, key.size, cost, &decision);
    } else {
        status = (spend ? tidegate_rate_limiter_decide : tidegate_rate_limiter_peek)(limiter->rate, cost, &decision);
    }
    say_decision(status, &decision);
    const char *as = option(words, count, "as");
    if (as != NULL && status >= 0) {
        new_kept(script, as)->decision = decision;
    }
}

static void refund(Script *script, const char *name, char **words, int count) {
    const Limiter *limiter = rate_named(script, name);
    tidegate_decision *decision = &kept_named(script, words[0])->decision;
    tidegate_key key = key_option(limiter, words, count);
    say_done(limiter->keyed_rate != NULL
                 ? tidegate_keyed_rate_limiter_refund(limiter->keyed_rate, key.data, key.size, decision)
                 : tidegate_rate_limiter_refund(limiter->rate, decision));
}

static void reset(Script *script, const char *name, char **words, int count) {
    const Limiter *limiter = rate_named(script, name);
    tidegate_key key = key_option(limiter, words, count);
    say_done(limiter->keyed_rate != NULL ? tidegate_keyed_rate_limiter_reset(limiter->keyed_rate, key.data, key.size)
                                         : tidegate_rate_limiter_reset(limiter->rate));
}

static void many(Script *script, const char *name, char **words, int count) {
    const Limiter *limiter = rate_named(script, name);
    tidegate_key keys[MAX_KEYS];
    int32_t statuses[MAX_KEYS];
    size_t listed = key_list(words, count, "keys", keys);
    uint64_t cost = number_option(words, count, "cost", 1);
    int32_t status = tidegate_keyed_rate_limiter_try_acquire_many(limiter->keyed_rate, keys, listed, cost, statuses);
    if (status == TIDEGATE_ERROR_COST) {
        say_error("cost");
        return;
    }
    if (status != TIDEGATE_OK) {
        fault("unexpected status %s", tidegate_status_name(status));
    }
    printf("%ld ok ", line_number);
    for (size_t i = 0; i < listed; i++) {
        printf("%s%s", i == 0 ? "" : ",", statuses[i] == TIDEGATE_ALLOWED ? "allowed" : "refused");
    }
    printf("\n");
}

/* `key=%XX`, then quotas. */
static void set_quota(Script *script, const char *name, char **words, int count) {
    const Limiter *limiter = rate_named(script, name);
    tidegate_key key = key_option(limiter, words, count);
    char *text = (char *)(uintptr_t)option(words, count, "text");
    int32_t status = TIDEGATE_ERROR_OPTION;
    if (text != NULL) {
        size_t length = decode(text);
        status = tidegate_keyed_rate_limiter_set_quota_text(limiter->keyed_rate, key.data, key.size, text, length,
                                                            error_text, sizeof error_text);
    } else {
        tidegate_quota quotas[TIDEGATE_MAX_QUOTAS + 1];
        int read = read_quotas(words + 1, count - 1, quotas);
        if (read >= 0) {
            status = tidegate_keyed_rate_limiter_set_quota(limiter->keyed_rate, key.data, key.size, quotas,
                                                           (size_t)read, error_text, sizeof error_text);
        }
    }
    say_told(status);
}

static void clear_quota(Script *script, const char *name, char **words, int count) {
    const Limiter *limiter = rate_named(script, name);
    tidegate_key key = key_option(limiter, words, count);
    say_done(tidegate_keyed_rate_limiter_clear_quota(limiter->keyed_rate, key.data, key.size));
}

static void top_denied(Script *script, const char *name, char **words, int count) {
    size_t most = (size_t)number_option(words, count, "n", 0);
    tidegate_denied_key *keys = grown(NULL, 0, (most + 1) * sizeof *keys);
    size_t told;
    if (tidegate_keyed_rate_limiter_top_denied(rate_named(script, name)->keyed_rate, keys, most, &told) < 0) {
        fault("%s tells no keys", name);
    }
    printf("%ld ok", line_number);
    for (size_t i = 0; i < told; i++) {
        printf(" ");
        for (uint64_t byte = 0; byte < keys[i].key_size; byte++) {
            printf("%02x", keys[i].key[byte]);
        }
        printf(":%" PRIu64 ":%" PRIu64, keys[i].count, keys[i].error);
    }
    printf("\n");
    free(keys);
}

static void in_flight(Script *script, const char *name, char **words, int count) {
    const Limiter *limiter = limiter_named(script, name);
    tidegate_key key = key_option(limiter, words, count);
    uint64_t out;
    if (tidegate_keyed_concurrency_limiter_in_flight(limiter->keyed_concurrency, key.data, key.size, &out) < 0) {
        fault("%s is no keyed concurrency limiter", name);
    }
    printf("%ld ok %" PRIu64 "\n", line_number, out);
}

static void say_key(const unsigned char *key, size_t size) {
    printf("%ld ok ", line_number);
    for (size_t i = 0; i < size; i++) {
        printf("%02x", key[i]);
    }
    printf("\n");
}

static void make_key(char **words, int count) {
    tidegate_key parts[MAX_KEYS];
    size_t listed = key_list(words, count, "parts", parts);
    size_t size;
    if (tidegate_key_of(parts, listed, NULL, 0, &size) != TIDEGATE_OK) {
        fault("no key");
    }
    unsigned char *key = grown(NULL, 0, size + 1);
    if (tidegate_key_of(parts, listed, key, size, &size) != TIDEGATE_OK) {
        fault("no key");
    }
    say_key(key, size);
    free(key);
}

static void make_ip_key(char **words, int count) {
    char *address = (char *)(uintptr_t)option(words, count, "address");
    if (address == NULL) {
        fault("no address");
    }
    size_t length = decode(address);
    int32_t prefix = TIDEGATE_DEFAULT_PREFIX;
    if (option(words, count, "prefix") != NULL) {
        uint64_t asked = number_option(words, count, "prefix", 0);
        prefix = asked > INT32_MAX ? INT32_MAX : (int32_t)asked;
    }
    unsigned char key[TIDEGATE_IP_KEY_SIZE];
    size_t size;
    if (tidegate_ip_key(address, length, prefix, key, &size, error_text, sizeof error_text) < 0) {
        say_told_error();
    } else {
        say_key(key, size);
    }
}

/* Ends a line of statistics. */
static void say_hold_times(const Limiter *limiter, const tidegate_stats *stats) {
    if (limiter->tracks_hold_time) {
        printf(" hold_total=%" PRIu64 " hold_max=%" PRIu64, stats->hold_time_total_ns, stats->hold_time_max_ns);
    }
    printf("\n");
}

/* Statistics of keyed limiters; false if the limiter has no keys. */
static bool keyed_stats(const Limiter *limiter) {
    tidegate_stats stats;
    if (limiter->keyed_rate != NULL) {
        if (tidegate_keyed_rate_limiter_stats(limiter->keyed_rate, &stats) != TIDEGATE_OK) {
            fault("no statistics");
        }
        printf("%ld ok allowed=%" PRIu64 " denied=%" PRIu64 " evicted_live=%" PRIu64 " capacity=%" PRIu64 "\n",
               line_number, stats.allowed, stats.denied, stats.evicted_live, stats.capacity);
        return true;
    }
    if (limiter->keyed_concurrency != NULL) {
        if (tidegate_keyed_concurrency_limiter_stats(limiter->keyed_concurrency, &stats) != TIDEGATE_OK) {
            fault("no statistics");
        }
        printf("%ld ok limit=%" PRIu64 " allowed=%" PRIu64 " denied=%" PRIu64 " released_ok=%" PRIu64
               " released_failed=%" PRIu64 " capacity=%" PRIu64,
               line_number, stats.limit, stats.allowed, stats.denied, stats.released_ok, stats.released_failed,
               stats.capacity);
        say_hold_times(limiter, &stats);
        return true;
    }
    return false;
}

static void stats(Script *script, const char *name) {
    const Limiter *limiter = limiter_named(script, name);
    if (keyed_stats(limiter)) {
        return;
    }
    tidegate_stats stats;
    if (limiter->rate != NULL) {
        if (tidegate_rate_limiter_stats(limiter->rate, &stats) != TIDEGATE_OK) {
            fault("no statistics");
        }
        printf("%ld ok allowed=%" PRIu64 " denied=%" PRIu64 "\n", line_number, stats.allowed, stats.denied);
        return;
    }
    if (tidegate_concurrency_limiter_stats(limiter->concurrency, &stats) != TIDEGATE_OK) {
        fault("no statistics");
    }
    printf("%ld ok limit=%" PRIu64 " in_flight=%" PRIu64 " available=%" PRIu64 " allowed=%" PRIu64 " denied=%" PRIu64
           " released_ok=%" PRIu64 " released_failed=%" PRIu64,
           line_number, stats.limit, stats.in_flight, stats.available, stats.allowed, stats.denied, stats.released_ok,
           stats.released_failed);
    say_hold_times(limiter, &stats);
}

static void set_limit(Script *script, const char *name, const char *limit) {
    const Limiter *limiter = limiter_named(script, name);
    int32_t status = limiter->keyed_concurrency != NULL
                         ? tidegate_keyed_concurrency_limiter_set_limit(limiter->keyed_concurrency, number(limit))
                         : tidegate_concurrency_limiter_set_limit(limiter->concurrency, number(limit));
    if (status == TIDEGATE_ERROR_OPTION) {
        say_error("limit");
    } else {
        say_done(status);
    }
}

/* ------------------------------------------------------------------------------------------------------------ waits */

static Wait *wait_named(Script *script, const char *name) {
    for (size_t i = 0; i < script->wait_count; i++) {
        if (strcmp(script->waits[i]->name, name) == 0) {
            return script->waits[i];
        }
    }
    return NULL;
}

static Wait *new_wait(Script *script, const char *name) {
    Wait *wait = wait_named(script, name);
    if (wait == NULL) {
        script->waits = grown(script->waits, script->wait_count, sizeof(Wait *));
        wait = script->waits[script->wait_count++] = grown(NULL, 0, sizeof(Wait));
        wait->name = copy_of(name);
    } else if (wait->is_pending) {
        fault("%s waits already", name);
    }
    *wait = (Wait){.name = wait->name};
    return wait;
}

static const char *wait_status_name(int32_t status) {
    return status == TIDEGATE_ALLOWED ? "granted" : tidegate_status_name(status);
}

static void end_wait_as(Wait *wait, int32_t status) {
    if (status == TIDEGATE_POLL_AGAIN) {
        /* Whatever can be had on a clock that is moved by hand was granted when it was moved. */
        return;
    }
    if (!wait->is_pending) {
        fault("%s was told twice", wait->name);
    }
    wait->is_pending = false;
    wait->has_ended = true;
    wait->status = status;
}

static void end_wait(void *user_data, int32_t status, const tidegate_permit *permit) {
    Wait *wait = user_data;
    if (permit != NULL) {
        wait->permit = *permit;
    }
    end_wait_as(wait, status);
}

static void end_keyed_wait(void *user_data, int32_t status, const tidegate_keyed_permit *permit) {
    Wait *wait = user_data;
    if (permit != NULL) {
        wait->keyed_permit = *permit;
    }
    end_wait_as(wait, status);
}

static bool is_for_permits(const Wait *wait) {
    return wait->limiter.concurrency != NULL || wait->limiter.keyed_concurrency != NULL;
}

static void keep_granted(Script *script, const Wait *wait) {
    if (is_for_permits(wait) && wait->status == TIDEGATE_ALLOWED) {
        Kept *kept = new_kept(script, wait->name);
        kept->permit = wait->permit;
        kept->lender = wait->limiter.concurrency;
        kept->keyed_permit = wait->keyed_permit;
        kept->keyed_lender = wait->limiter.keyed_concurrency;
    }
}

/* Takes, or begins to wait for, what `limiter` of the wait lends. */
static int32_t acquire_async(Wait *wait, tidegate_key key, uint64_t cost, uint64_t timeout_ns) {
    const Limiter *limiter = &wait->limiter;
    uint64_t wake_after_ns;
    if (limiter->rate != NULL) {
        return tidegate_rate_limiter_acquire_async(limiter->rate, cost, timeout_ns, end_wait, wait, &wait->ticket,
                                                   &wake_after_ns);
    }
    if (limiter->keyed_rate != NULL) {
        return tidegate_keyed_rate_limiter_acquire_async(limiter->keyed_rate, key.data, key.size, cost, timeout_ns,
                                                         end_wait, wait, &wait->ticket, &wake_after_ns);
    }
    if (limiter->concurrency != NULL) {
        return tidegate_concurrency_limiter_acquire_async(limiter->concurrency, cost, timeout_ns, end_wait, wait,
                                                          &wait->permit, &wait->ticket, &wake_after_ns);
    }
    return tidegate_keyed_concurrency_limiter_acquire_async(limiter->keyed_concurrency, key.data, key.size, cost,
                                                            timeout_ns, end_keyed_wait, wait, &wait->keyed_permit,
                                                            &wait->ticket, &wake_after_ns);
}

static int32_t cancel_ticket(const Limiter *limiter, uint64_t ticket) {
    if (limiter->rate != NULL) {
        return tidegate_rate_limiter_cancel(limiter->rate, ticket);
    }
    if (limiter->keyed_rate != NULL) {
        return tidegate_keyed_rate_limiter_cancel(limiter->keyed_rate, ticket);
    }
    return limiter->concurrency != NULL
               ? tidegate_concurrency_limiter_cancel(limiter->concurrency, ticket)
               : tidegate_keyed_concurrency_limiter_cancel(limiter->keyed_concurrency, ticket);
}

static void begin_wait(Script *script, const char *name, char **words, int count) {
    if (count < 1) {
        fault("wait wants a limiter");
    }
    const Limiter *limiter = limiter_named(script, words[0]);
    uint64_t cost = number_option(words, count, "cost", 1);
    uint64_t timeout_ns = number_option(words, count, "timeout", TIDEGATE_NEVER_NS);
    tidegate_key key = key_option(limiter, words, count);
    Wait *wait = new_wait(script, name);
    wait->limiter = *limiter;
    /* Before the call, within which it may end. */
    wait->is_pending = true;
    wait->status = acquire_async(wait, key, cost, timeout_ns);
    wait->is_pending = wait->status == TIDEGATE_PENDING;
    if (wait->status == TIDEGATE_ERROR_COST) {
        say_error(is_for_permits(wait) ? "permits" : "cost");
        return;
    }
    if (wait->status < 0) {
        fault("unexpected status %s", tidegate_status_name(wait->status));
    }
    keep_granted(script, wait);
    printf("%ld %s\n", line_number, wait_status_name(wait->status));
}

static void cancel_wait(Script *script, const char *name) {
    Wait *wait = wait_named(script, name);
    if (wait == NULL) {
        fault("%s never waited", name);
    }
    int32_t status = wait->ticket == 0 ? TIDEGATE_TOO_LATE : cancel_ticket(&wait->limiter, wait->ticket);
    if (status == TIDEGATE_OK) {
        /* Told by the answer alone. */
        wait->has_ended = false;
        status = wait->status;
    }
    if (status < 0) {
        fault("unexpected status %s", tidegate_status_name(status));
    }
    printf("%ld %s\n", line_number, tidegate_status_name(status));
}

static int by_name(const void *one, const void *other) {
    return strcmp((*(Wait *const *)one)->name, (*(Wait *const *)other)->name);
}

/* The waits that the command has ended, by name. */
static void say_ended(Script *script) {
    if (script->wait_count == 0) {
        return;
    }
    qsort(script->waits, script->wait_count, sizeof(Wait *), by_name);
    for (size_t i = 0; i < script->wait_count; i++) {
        Wait *wait = script->waits[i];
        if (wait->has_ended) {
            wait->has_ended = false;
            keep_granted(script, wait);
            printf("%ld %s %s\n", line_number, wait->name, wait_status_name(wait->status));
        }
    }
}

static void say_waiting(Script *script, const char *name) {
    const Limiter *limiter = limiter_named(script, name);
    tidegate_stats stats;
    int32_t status = limiter->rate != NULL          ? tidegate_rate_limiter_stats(limiter->rate, &stats)
                     : limiter->keyed_rate != NULL  ? tidegate_keyed_rate_limiter_stats(limiter->keyed_rate, &stats)
                     : limiter->concurrency != NULL ? tidegate_concurrency_limiter_stats(limiter->concurrency, &stats)
                                                    : tidegate_keyed_concurrency_limiter_stats(
                                                          limiter->keyed_concurrency, &stats);
    if (status != TIDEGATE_OK) {
        fault("no statistics");
    }
    printf("%ld ok waiting=%" PRIu64 " timed_out=%" PRIu64 " cancelled=%" PRIu64 "\n", line_number, stats.waiting,
           stats.timed_out, stats.cancelled);
}

static void close_limiter(Script *script, const char *name) {
    const Limiter *limiter = limiter_named(script, name);
    say_done(limiter->concurrency != NULL ? tidegate_concurrency_limiter_close(limiter->concurrency)
                                          : tidegate_keyed_concurrency_limiter_close(limiter->keyed_concurrency));
}

static void reserve(Script *script, const char *name, char **words, int count) {
    const Limiter *limiter = rate_named(script, name);
    uint64_t cost = number_option(words, count, "cost", 1);
    uint64_t max_wait_ns = number_option(words, count, "max_wait", TIDEGATE_NEVER_NS);
    tidegate_key key = key_option(limiter, words, count);
    tidegate_reservation reservation;
    int32_t status = limiter->rate != NULL
                         ? tidegate_rate_limiter_reserve(limiter->rate, cost, max_wait_ns, &reservation)
                         : tidegate_keyed_rate_limiter_reserve(limiter->keyed_rate, key.data, key.size, cost,
                                                               max_wait_ns, &reservation);
    const char *as = option(words, count, "as");
    if (status == TIDEGATE_ERROR_COST) {
        say_error("cost");
    } else if (status == TIDEGATE_ERROR_UNSUPPORTED) {
        say_error("quota");
    } else if (status < 0) {
        fault("unexpected status %s", tidegate_status_name(status));
    } else if (status == TIDEGATE_ALLOWED) {
        printf("%ld granted wait=%" PRIu64 "\n", line_number, reservation.wait_ns);
        if (as != NULL) {
            new_kept(script, as)->reservation = reservation;
        }
    } else {
        printf("%ld %s\n", line_number, tidegate_status_name(status));
    }
}

static void unreserve(Script *script, const char *name, const char *id, char **words, int count) {
    tidegate_reservation *reservation = &kept_named(script, id)->reservation;
    if (reservation->cost == 0) {
        fault("no reservation %s", id);
    }
    const Limiter *limiter = rate_named(script, name);
    tidegate_key key = key_option(limiter, words, count);
    int32_t status = limiter->rate != NULL
                         ? tidegate_rate_limiter_cancel_reservation(limiter->rate, reservation)
                         : tidegate_keyed_rate_limiter_cancel_reservation(limiter->keyed_rate, key.data, key.size,
                                                                          reservation);
    reservation->cost = 0;
    if (status == TIDEGATE_ERROR_DECISION) {
        say_error("reservation");
    } else if (status < 0) {
        fault("unexpected status %s", tidegate_status_name(status));
    } else {
        printf("%ld %s\n", line_number, status == TIDEGATE_OK ? "credited" : "not_credited");
    }
}

/* Whether the command is about waiting. */
static bool run_waiting(Script *script, char **words, int count) {
    const char *verb = words[0], *name = words[1];
    if (strcmp(verb, "wait") == 0) {
        begin_wait(script, name, words + 2, count - 2);
    } else if (strcmp(verb, "cancel") == 0) {
        cancel_wait(script, name);
    } else if (strcmp(verb, "close") == 0) {
        close_limiter(script, name);
    } else if (strcmp(verb, "waiting") == 0) {
        say_waiting(script, name);
    } else if (strcmp(verb, "reserve") == 0) {
        reserve(script, name, words + 2, count - 2);
    } else if (strcmp(verb, "unreserve") == 0 && count >= 3) {
        unreserve(script, name, words[2], words + 3, count - 3);
    } else {
        return false;
    }
    return true;
}

static void run(Script *script, char **words, int count) {
    const char *verb = words[0];
    if (count < 2) {
        fault("%s wants more", verb);
    }
    const char *name = words[1];
    char **more = words + 2;
    int more_count = count - 2;
    if (run_waiting(script, words, count)) {
        return;
    }
    if (strcmp(verb, "parse") == 0) {
        parse(words + 1, count - 1);
    } else if (strcmp(verb, "key") == 0) {
        make_key(words + 1, count - 1);
    } else if (strcmp(verb, "ip") == 0) {
        make_ip_key(words + 1, count - 1);
    } else if (strcmp(verb, "rate") == 0) {
        make_rate(script, name, more, more_count);
    } else if (strcmp(verb, "conc") == 0) {
        make_concurrency(script, name, more, more_count);
    } else if (strcmp(verb, "advance") == 0) {
        say_done(tidegate_clock_advance(script->clock, number(name)));
    } else if (strcmp(verb, "set_clock") == 0) {
        say_done(tidegate_clock_set(script->clock, number(name)));
    } else if (strcmp(verb, "try") == 0) {
        try_acquire(script, name, more, more_count);
    } else if (strcmp(verb, "decide") == 0) {
        decide(script, name, more, more_count, true);
    } else if (strcmp(verb, "peek") == 0) {
        decide(script, name, more, more_count, false);
    } else if (strcmp(verb, "refund") == 0 && count >= 3) {
        refund(script, name, more, more_count);
    } else if (strcmp(verb, "release") == 0) {
        Kept *kept = kept_named(script, name);
        int32_t ok = !(count == 3 && strcmp(more[0], "failed") == 0);
        say_done(kept->keyed_lender != NULL
                     ? tidegate_keyed_concurrency_limiter_release(kept->keyed_lender, &kept->keyed_permit, ok)
                     : tidegate_concurrency_limiter_release(kept->lender, &kept->permit, ok));
    } else if (strcmp(verb, "reset") == 0) {
        reset(script, name, more, more_count);
    } else if (strcmp(verb, "many") == 0) {
        many(script, name, more, more_count);
    } else if (strcmp(verb, "quota") == 0) {
        set_quota(script, name, more, more_count);
    } else if (strcmp(verb, "clear") == 0) {
        clear_quota(script, name, more, more_count);
    } else if (strcmp(verb, "top") == 0) {
        top_denied(script, name, more, more_count);
    } else if (strcmp(verb, "in_flight") == 0) {
        in_flight(script, name, more, more_count);
    } else if (strcmp(verb, "reconfigure") == 0) {
        reconfigure(script, name, more, more_count);
    } else if (strcmp(verb, "limit") == 0 && count == 3) {
        set_limit(script, name, more[0]);
    } else if (strcmp(verb, "stats") == 0) {
        stats(script, name);
    } else {
        fault("unknown command %s", verb);
    }
}

static void run_line(Script *script, char *line) {
    char *words[MAX_WORDS];
    int count = 0;
    for (char *word = strtok(line, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        if (count == MAX_WORDS) {
            fault("too many words");
        }
        words[count++] = word;
    }
    if (count == 0 || words[0][0] == '#') {
        return;
    }
    if (count == 2 && strcmp(words[0], "script") == 0) {
        empty(script);
        if (tidegate_clock_manual_new(&script->clock) != TIDEGATE_OK) {
            fault("no clock");
        }
        printf("script %s\n", words[1]);
    } else {
        run(script, words, count);
        say_ended(script);
    }
}

static void run_file(const char *path) {
    const char *slash = strrchr(path, '/');
    file_name = slash == NULL ? path : slash + 1;
    line_number = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fault("can't be opened");
    }
    printf("file %s\n", file_name);
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
