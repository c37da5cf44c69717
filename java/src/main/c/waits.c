/*
 * What callbacks told of waits, kept until the native method that they ran in has returned: Java then fetches it, on the same
 * thread. So no callback calls into the JVM.
 */

#include "border.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Added to a status to say that there is something to fetch: Waits.TOLD. */
enum { TOLD = 256 };

/* The order of the numbers that an event is in Java: Waits.tell. */
enum { EVENT_WAIT, EVENT_STATUS, EVENT_GRANT };

/* The order of the numbers that tokens which may be given back are in Java: QuotaLimiter. A permit has fewer. */
enum { TOKENS_LIMITER_ID, TOKENS_COST, TOKENS_GRANTED_AT_NS, TOKENS_RESET_COUNT, TOKENS_KEY_HASH, TOKENS_FIGURES };

enum { EVENT_FIGURES = EVENT_GRANT + TOKENS_FIGURES };

typedef struct event {
    struct event *next;
    jlong figures[EVENT_FIGURES];
} event;

/* The events of this thread, the oldest first. */
static _Thread_local struct {
    event *first;
    event *last;
} told;

/* How many events all threads keep. While there are none, no thread need look for its own, which takes longer. */
static atomic_size_t kept_by_all;

jint answer(int32_t status) {
    /* Relaxed: a thread's own events are in it, since it has counted them itself. */
    if (atomic_load_explicit(&kept_by_all, memory_order_relaxed) == 0 || told.first == NULL) {
        return status;
    }
    return status + TOLD;
}

/* Where threads take the numbers of waits from, many at a time so that they don't meet here. */
static atomic_uintptr_t numbers_taken;
enum { NUMBERS_AT_ONCE = 1 << 16 };

static _Thread_local struct {
    uintptr_t next;
    uintptr_t end;
    /* The last wait of this thread: its number is the one before the next. */
    uint64_t last_ticket;
} numbers;

uintptr_t next_wait(void) {
    if (numbers.next == numbers.end) {
        /* Relaxed: they need only differ. */
        numbers.next = atomic_fetch_add_explicit(&numbers_taken, NUMBERS_AT_ONCE, memory_order_relaxed);
        numbers.end = numbers.next + NUMBERS_AT_ONCE;
    }
    return numbers.next;
}

jint begun(int32_t status, uint64_t ticket) {
    if (status == TIDEGATE_PENDING) {
        numbers.next++;
        numbers.last_ticket = ticket;
    }
    return answer(status);
}

jint hand_over_wake_after(JNIEnv *env, int32_t status, uint64_t wake_after_ns, jlongArray wake_after_out) {
    const jlong wake_after = figure(wake_after_ns);
    (*env)->SetLongArrayRegion(env, wake_after_out, 0, 1, &wake_after);
    return answer(status);
}

void permit_to_figures(const tidegate_permit *permit, jlong figures[PERMIT_FIGURES]) {
    figures[PERMIT_LIMITER_ID] = (jlong)permit->limiter_id;
    figures[PERMIT_COUNT] = (jlong)permit->permits;
    figures[PERMIT_ACQUIRED_AT_NS] = (jlong)permit->acquired_at_ns;
    figures[PERMIT_PROCESS] = (jlong)permit->process;
}

void keyed_permit_to_figures(const tidegate_keyed_permit *permit, jlong figures[PERMIT_FIGURES]) {
    figures[KEYED_PERMIT_LIMITER_ID] = (jlong)permit->limiter_id;
    figures[KEYED_PERMIT_COUNT] = (jlong)permit->permits;
    figures[KEYED_PERMIT_KEY] = (jlong)permit->key_hash[0];
    figures[KEYED_PERMIT_KEY_REST] = (jlong)permit->key_hash[1];
}

/* Adds an event to those of this thread; returns where what was granted goes. */
static jlong *keep(void *wait, int32_t status) {
    event *kept = calloc(1, sizeof *kept);
    if (kept == NULL) {
        /* As the library does where it has no memory to go on: whoever waits would never hear of it. */
        abort();
    }
    kept->figures[EVENT_WAIT] = (jlong)(uintptr_t)wait;
    kept->figures[EVENT_STATUS] = status;
    if (told.first == NULL) {
        told.first = kept;
    } else {
        told.last->next = kept;
    }
    told.last = kept;
    atomic_fetch_add_explicit(&kept_by_all, 1, memory_order_relaxed);
    return kept->figures + EVENT_GRANT;
}

void keep_event(void *wait, int32_t status, const tidegate_permit *permit) {
    jlong *granted = keep(wait, status);
    if (permit != NULL) {
        permit_to_figures(permit, granted);
    }
}

void keep_keyed_event(void *wait, int32_t status, const tidegate_keyed_permit *permit) {
    jlong *granted = keep(wait, status);
    if (permit != NULL) {
        keyed_permit_to_figures(permit, granted);
    }
}

void keep_token_event(void *wait, int32_t status, const tidegate_decision *decision) {
    jlong *granted = keep(wait, status);
    if (decision != NULL) {
        granted[TOKENS_LIMITER_ID] = (jlong)decision->limiter_id;
        granted[TOKENS_COST] = (jlong)decision->cost;
        granted[TOKENS_GRANTED_AT_NS] = (jlong)decision->granted_at_ns;
        granted[TOKENS_RESET_COUNT] = (jlong)decision->reset_count;
        granted[TOKENS_KEY_HASH] = (jlong)decision->key_hash;
    }
}

void keep_figures(void *wait, int32_t status, const jlong *figures, size_t count) {
    memcpy(keep(wait, status), figures, count * sizeof *figures);
}

/* Fetches as many events as there is room for; returns how many. */
static jint fetch(JNIEnv *env, jclass self, jlongArray events_out) {
    (void)self;
    jsize room = (*env)->GetArrayLength(env, events_out) / EVENT_FIGURES;
    jsize count = 0;
    while (told.first != NULL && count < room) {
        event *first = told.first;
        (*env)->SetLongArrayRegion(env, events_out, count++ * EVENT_FIGURES, EVENT_FIGURES, first->figures);
        told.first = first->next;
        free(first);
    }
    atomic_fetch_sub_explicit(&kept_by_all, (size_t)count, memory_order_relaxed);
    return count;
}

/* The number and the ticket of the wait that this thread was the last to begin. */
static void hand_over_begun(JNIEnv *env, jclass self, jlongArray begun_out) {
    (void)self;
    const jlong figures[] = {(jlong)(numbers.next - 1), (jlong)numbers.last_ticket};
    (*env)->SetLongArrayRegion(env, begun_out, 0, sizeof figures / sizeof figures[0], figures);
}

static const JNINativeMethod WAITS[] = {
    {"begun0", "([J)V", (void *)hand_over_begun},
    {"fetch0", "([J)I", (void *)fetch},
};
const natives waits_natives = NATIVES(WAITS);
