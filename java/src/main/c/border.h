/*
 * What the native methods of all classes share.
 *
 * A native method does as little as can be: it turns Java's longs and arrays into the structs of tidegate.h, calls one
 * function, and returns its status. Java makes exceptions of statuses. `address` is a pointer that Java keeps; `error` is
 * an array that Java reads as UTF-8 up to the first zero.
 */

#ifndef TIDEGATE_JNI_BORDER_H
#define TIDEGATE_JNI_BORDER_H

#include <jni.h>
#include <stdint.h>
#include <tidegate.h>

/* The native methods of one class. */
typedef struct natives {
    const JNINativeMethod *methods;
    jint count;
} natives;

#define NATIVES(table) {table, (jint)(sizeof(table) / sizeof((table)[0]))}

extern const natives clock_natives;
extern const natives manual_clock_natives;
extern const natives quota_natives;
extern const natives rate_limiter_natives;
extern const natives concurrency_limiter_natives;
extern const natives keys_natives;
extern const natives keyed_rate_limiter_natives;
extern const natives keyed_concurrency_limiter_natives;
extern const natives waits_natives;
extern const natives gate_natives;
extern const natives gate_waiting_natives;
extern const natives entering_natives;
extern const natives gate_refused_natives;
extern const natives gate_listener_natives;
extern const natives entry_natives;

/* The length of Java's arrays for error texts. */
enum { ERROR_SIZE = 4096 };

/* A key up to that long is copied to the stack. */
enum { KEY_ROOM = 256 };

/* The bytes of a key while a native method uses them. */
typedef struct key {
    const jbyte *data;
    size_t size;
    jbyte room[KEY_ROOM];
} key;

/* Reads a key from Java. Returns 0 if there is no memory for it: an exception is pending then. */
int take_key(JNIEnv *env, jbyteArray array, key *key);

/* Gives back what take_key() took; `array` is the same as there. */
void drop_key(JNIEnv *env, jbyteArray array, key *key);

/* The order of the numbers that a quota is in Java: Quota.toParts. */
enum { PART_LIMIT, PART_PERIOD_NS, PART_BURST, PART_ALGORITHM, PART_ANCHOR, QUOTA_PARTS };

/* A figure for Java, whose longs have a sign. What is beyond them is a time, or never. */
static inline jlong figure(uint64_t value) {
    return value > INT64_MAX ? INT64_MAX : (jlong)value;
}

/* Hands one number to Java if the call was a success; returns the call's status. */
static inline jint hand_over(JNIEnv *env, int32_t status, jlong value, jlongArray value_out) {
    if (status == TIDEGATE_OK) {
        (*env)->SetLongArrayRegion(env, value_out, 0, 1, &value);
    }
    return status;
}

/* Hands a new object or the text of why there is none to Java; returns the call's status. */
jint hand_over_object(JNIEnv *env, int32_t status, const void *object, jlongArray object_out, const char *text,
                      jbyteArray error);

/* Hands an error text to Java if the call was none of success; returns the call's status. */
jint hand_over_error(JNIEnv *env, int32_t status, const char *text, jbyteArray error);

/* Hands quotas to Java if the call was a success; returns the call's status. */
jint hand_over_quotas(JNIEnv *env, int32_t status, const tidegate_quota *quotas, size_t count, jlongArray quotas_out,
                      jlongArray count_out);

/* Reads quotas from Java. Whoever gets them frees them; NULL if there is no memory. */
tidegate_quota *take_quotas(JNIEnv *env, jlongArray parts, size_t *count_out);

/* Hands a decision to Java, in the order of Decision's constructor, if the call was none of a mistake; returns its status. */
jint hand_over_decision(JNIEnv *env, int32_t status, const tidegate_decision *decision, jlongArray figures_out);

/* Hands a reservation to Java, in the order of Reservation, if the call gave one; returns its status. */
jint hand_over_reservation(JNIEnv *env, int32_t status, const tidegate_reservation *reservation,
                           jlongArray figures_out);

/* Reads a reservation from Java. */
tidegate_reservation take_reservation(JNIEnv *env, jlongArray reserved);

/* The order of the numbers that a permit is in Java: ConcurrencyLimiter. */
enum { PERMIT_LIMITER_ID, PERMIT_COUNT, PERMIT_ACQUIRED_AT_NS, PERMIT_PROCESS, PERMIT_FIGURES };

/* The order of the numbers that a permit of a key is in Java; how many it holds is where it is in every permit. */
enum { KEYED_PERMIT_LIMITER_ID, KEYED_PERMIT_COUNT, KEYED_PERMIT_KEY, KEYED_PERMIT_KEY_REST };

void permit_to_figures(const tidegate_permit *permit, jlong figures[PERMIT_FIGURES]);

void keyed_permit_to_figures(const tidegate_keyed_permit *permit, jlong figures[PERMIT_FIGURES]);

/* A number for the wait that this thread may be about to begin, which no other has: the user data of its callback. */
uintptr_t next_wait(void);

/* The callbacks of all waits: they keep what they are told until Java fetches it. */
void keep_event(void *wait, int32_t status, const tidegate_permit *permit);
void keep_keyed_event(void *wait, int32_t status, const tidegate_keyed_permit *permit);
void keep_token_event(void *wait, int32_t status, const tidegate_decision *decision);

/* Keeps that a wait is over for which there is no callback: at most as many numbers as tokens are. */
void keep_figures(void *wait, int32_t status, const jlong *figures, size_t count);

/* Hands to Java after how long to poll again; returns the call's status as answer() does. */
jint hand_over_wake_after(JNIEnv *env, int32_t status, uint64_t wake_after_ns, jlongArray wake_after_out);

/* Takes note of the wait if the call began one, for Waits.begun; returns the call's status as answer() does. */
jint begun(int32_t status, uint64_t ticket);

/*
 * The status of a call that may have told waits, marked if there is something for Java to fetch: Waits.after. All such
 * native methods return by it.
 */
jint answer(int32_t status);

/* Hands statistics to Java, in the order of the record Stats, if the call was a success; returns the call's status. */
jint hand_over_stats(JNIEnv *env, int32_t status, const tidegate_stats *stats, jlongArray figures_out);

#endif
