/* The native methods of KeyedRateLimiter. */

#include "border.h"

#include <stdlib.h>

/* The most keys of one call: JoinedKeys.MOST. */
enum { MOST_TOGETHER = 256 };

/* How many words a short key is in: PackedKey. */
enum { PACKED_WORDS = 3 };

/* The order of the numbers that a key refused often is in Java: DeniedKey.listOf. */
enum { FIGURE_COUNT, FIGURE_ERROR, FIGURE_NAME_SIZE, DENIED_KEY_FIGURES };

static const tidegate_keyed_rate_limiter *at(jlong address) {
    return (const tidegate_keyed_rate_limiter *)(intptr_t)address;
}

static jint create(JNIEnv *env, jclass self, jlongArray parts, jlong max_keys, jint when_full,
                   jint track_denied, jlong max_waiters, jlong clock, jlongArray created, jbyteArray error) {
    (void)self;
    size_t count = 0;
    tidegate_quota *quotas = take_quotas(env, parts, &count);
    if (quotas == NULL) {
        return TIDEGATE_ERROR_MEMORY;
    }
    const tidegate_keyed_rate_limiter_options options = {
        .struct_size = sizeof options,
        .flags = max_waiters == 0 ? TIDEGATE_RATE_NO_WAITERS : 0,
        .max_keys = (uint64_t)max_keys,
        .when_full = (uint32_t)when_full,
        .track_denied = (uint32_t)track_denied,
        .max_waiters = (uint64_t)max_waiters,
        .clock = (const tidegate_clock *)(intptr_t)clock,
    };
    tidegate_keyed_rate_limiter *limiter = NULL;
    char message[ERROR_SIZE] = "";
    int32_t status = tidegate_keyed_rate_limiter_new(quotas, count, &options, &limiter, message, sizeof message);
    free(quotas);
    return hand_over_object(env, status, limiter, created, message, error);
}

static void free_limiter(JNIEnv *env, jclass self, jlong address) {
    (void)env;
    (void)self;
    tidegate_keyed_rate_limiter_free((tidegate_keyed_rate_limiter *)(intptr_t)address);
}

/* A word whose least significant byte comes first in memory. */
static jlong in_order(jlong word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (jlong)__builtin_bswap64((uint64_t)word);
#else
    return word;
#endif
}

static jint try_acquire_packed(JNIEnv *env, jobject self, jlong address, jint size, jlong first, jlong second,
                               jlong third, jlong cost) {
    (void)env;
    (void)self;
    const jlong key[PACKED_WORDS] = {in_order(first), in_order(second), in_order(third)};
    return tidegate_keyed_rate_limiter_try_acquire(at(address), key, (size_t)size, (uint64_t)cost);
}

static jint try_acquire(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlong cost) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    int32_t status = tidegate_keyed_rate_limiter_try_acquire(at(address), key.data, key.size, (uint64_t)cost);
    drop_key(env, name, &key);
    return status;
}

/* `allowed_out` receives the answers from index `from` on. */
static jint try_acquire_many(JNIEnv *env, jobject self, jlong address, jbyteArray joined, jintArray sizes, jlong cost,
                             jbooleanArray allowed_out, jint from) {
    (void)self;
    jint key_sizes[MOST_TOGETHER];
    jsize count = (*env)->GetArrayLength(env, sizes);
    (*env)->GetIntArrayRegion(env, sizes, 0, count, key_sizes);
    key all;
    if (!take_key(env, joined, &all)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    tidegate_key keys[MOST_TOGETHER];
    const jbyte *next = all.data;
    for (jsize i = 0; i < count; next += key_sizes[i++]) {
        keys[i] = (tidegate_key){.data = next, .size = (size_t)key_sizes[i]};
    }
    int32_t statuses[MOST_TOGETHER];
    int32_t status =
        tidegate_keyed_rate_limiter_try_acquire_many(at(address), keys, (size_t)count, (uint64_t)cost, statuses);
    drop_key(env, joined, &all);
    if (status == TIDEGATE_OK) {
        jboolean allowed[MOST_TOGETHER];
        for (jsize i = 0; i < count; i++) {
            allowed[i] = statuses[i] == TIDEGATE_ALLOWED;
        }
        (*env)->SetBooleanArrayRegion(env, allowed_out, from, count, allowed);
    }
    return status;
}

static jint acquire(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlong cost, jlong timeout_ns) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return answer(TIDEGATE_ERROR_MEMORY);
    }
    uint64_t ticket = 0;
    uint64_t wake_after_ns = 0;
    int32_t status = tidegate_keyed_rate_limiter_acquire_refundable_async(
        at(address), key.data, key.size, (uint64_t)cost, (uint64_t)timeout_ns, keep_token_event, (void *)next_wait(),
        &ticket, &wake_after_ns);
    drop_key(env, name, &key);
    return begun(status, ticket);
}

static jint poll(JNIEnv *env, jobject self, jlong address, jlong ticket, jlongArray wake_after_out) {
    (void)self;
    uint64_t wake_after_ns = TIDEGATE_NEVER_NS;
    int32_t status = tidegate_keyed_rate_limiter_poll(at(address), (uint64_t)ticket, &wake_after_ns);
    return hand_over_wake_after(env, status, wake_after_ns, wake_after_out);
}

static jint cancel(JNIEnv *env, jobject self, jlong address, jlong ticket) {
    (void)env;
    (void)self;
    return answer(tidegate_keyed_rate_limiter_cancel(at(address), (uint64_t)ticket));
}

static jint reserve(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlong cost, jlong max_wait_ns,
                    jlongArray figures_out) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    tidegate_reservation reservation;
    int32_t status = tidegate_keyed_rate_limiter_reserve(at(address), key.data, key.size, (uint64_t)cost,
                                                         (uint64_t)max_wait_ns, &reservation);
    drop_key(env, name, &key);
    return hand_over_reservation(env, status, &reservation, figures_out);
}

static jint cancel_reservation(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlongArray reserved) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return answer(TIDEGATE_ERROR_MEMORY);
    }
    tidegate_reservation reservation = take_reservation(env, reserved);
    int32_t status = tidegate_keyed_rate_limiter_cancel_reservation(at(address), key.data, key.size, &reservation);
    drop_key(env, name, &key);
    return answer(status);
}

static jint waiting(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlongArray waiting_out) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    uint64_t waiting = 0;
    int32_t status = tidegate_keyed_rate_limiter_waiting(at(address), key.data, key.size, &waiting);
    drop_key(env, name, &key);
    return hand_over(env, status, figure(waiting), waiting_out);
}

static jint decide(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlong cost, jlongArray figures_out) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    tidegate_decision decision;
    int32_t status = tidegate_keyed_rate_limiter_decide(at(address), key.data, key.size, (uint64_t)cost, &decision);
    drop_key(env, name, &key);
    return hand_over_decision(env, status, &decision, figures_out);
}

static jint peek(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlong cost, jlongArray figures_out) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    tidegate_decision decision;
    int32_t status = tidegate_keyed_rate_limiter_peek(at(address), key.data, key.size, (uint64_t)cost, &decision);
    drop_key(env, name, &key);
    return hand_over_decision(env, status, &decision, figures_out);
}

static jint refund(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlong limiter_id, jlong cost,
                   jlong granted_at_ns, jlong reset_count, jlong key_hash) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    tidegate_decision decision = {
        .status = TIDEGATE_ALLOWED,
        .limiter_id = (uint64_t)limiter_id,
        .cost = (uint64_t)cost,
        .granted_at_ns = (uint64_t)granted_at_ns,
        .reset_count = (uint64_t)reset_count,
        .key_hash = (uint64_t)key_hash,
    };
    int32_t status = tidegate_keyed_rate_limiter_refund(at(address), key.data, key.size, &decision);
    drop_key(env, name, &key);
    return answer(status);
}

static jint reset(JNIEnv *env, jobject self, jlong address, jbyteArray name) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    int32_t status = tidegate_keyed_rate_limiter_reset(at(address), key.data, key.size);
    drop_key(env, name, &key);
    return answer(status);
}

static jint set_quota(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlongArray parts, jbyteArray error) {
    (void)self;
    size_t count = 0;
    tidegate_quota *quotas = take_quotas(env, parts, &count);
    key key;
    if (quotas == NULL || !take_key(env, name, &key)) {
        free(quotas);
        return TIDEGATE_ERROR_MEMORY;
    }
    char message[ERROR_SIZE] = "";
    int32_t status = tidegate_keyed_rate_limiter_set_quota(at(address), key.data, key.size, quotas, count, message,
                                                           sizeof message);
    drop_key(env, name, &key);
    free(quotas);
    return answer(hand_over_error(env, status, message, error));
}

static jint clear_quota(JNIEnv *env, jobject self, jlong address, jbyteArray name) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    int32_t status = tidegate_keyed_rate_limiter_clear_quota(at(address), key.data, key.size);
    drop_key(env, name, &key);
    return answer(status);
}

/* `names_out` has TIDEGATE_DENIED_KEY_SIZE bytes for each of `most` keys. */
static jint top_denied(JNIEnv *env, jobject self, jlong address, jint most, jbyteArray names_out,
                       jlongArray figures_out, jlongArray count_out) {
    (void)self;
    tidegate_denied_key *keys = calloc((size_t)most + 1, sizeof *keys);
    if (keys == NULL) {
        return TIDEGATE_ERROR_MEMORY;
    }
    size_t count = 0;
    int32_t status = tidegate_keyed_rate_limiter_top_denied(at(address), keys, (size_t)most, &count);
    for (jsize i = 0; i < (jsize)count; i++) {
        const jlong figures[DENIED_KEY_FIGURES] = {
            [FIGURE_COUNT] = figure(keys[i].count),
            [FIGURE_ERROR] = figure(keys[i].error),
            [FIGURE_NAME_SIZE] = (jlong)keys[i].key_size,
        };
        (*env)->SetLongArrayRegion(env, figures_out, i * DENIED_KEY_FIGURES, DENIED_KEY_FIGURES, figures);
        (*env)->SetByteArrayRegion(env, names_out, i * TIDEGATE_DENIED_KEY_SIZE, (jsize)keys[i].key_size,
                                   (const jbyte *)keys[i].key);
    }
    free(keys);
    return hand_over(env, status, (jlong)count, count_out);
}

static jint reconfigure(JNIEnv *env, jobject self, jlong address, jlongArray parts, jbyteArray error) {
    (void)self;
    size_t count = 0;
    tidegate_quota *quotas = take_quotas(env, parts, &count);
    if (quotas == NULL) {
        return TIDEGATE_ERROR_MEMORY;
    }
    char message[ERROR_SIZE] = "";
    int32_t status = tidegate_keyed_rate_limiter_reconfigure(at(address), quotas, count, message, sizeof message);
    free(quotas);
    return answer(hand_over_error(env, status, message, error));
}

static jint quotas(JNIEnv *env, jobject self, jlong address, jlongArray quotas_out, jlongArray count_out) {
    (void)self;
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    size_t count = 0;
    int32_t status = tidegate_keyed_rate_limiter_quotas(at(address), quotas, TIDEGATE_MAX_QUOTAS, &count);
    return hand_over_quotas(env, status, quotas, count, quotas_out, count_out);
}

static jint size(JNIEnv *env, jobject self, jlong address, jlongArray size_out) {
    (void)self;
    uint64_t size = 0;
    int32_t status = tidegate_keyed_rate_limiter_len(at(address), &size);
    return hand_over(env, status, figure(size), size_out);
}

static jint stats(JNIEnv *env, jobject self, jlong address, jlongArray figures_out) {
    (void)self;
    tidegate_stats stats;
    int32_t status = tidegate_keyed_rate_limiter_stats(at(address), &stats);
    return hand_over_stats(env, status, &stats, figures_out);
}

static const JNINativeMethod KEYED_RATE_LIMITER[] = {
    {"create0", "([JJIIJJ[J[B)I", (void *)create},
    {"free0", "(J)V", (void *)free_limiter},
    {"tryAcquirePacked0", "(JIJJJJ)I", (void *)try_acquire_packed},
    {"tryAcquire0", "(J[BJ)I", (void *)try_acquire},
    {"tryAcquireMany0", "(J[B[IJ[ZI)I", (void *)try_acquire_many},
    {"acquire0", "(J[BJJ)I", (void *)acquire},
    {"poll0", "(JJ[J)I", (void *)poll},
    {"cancel0", "(JJ)I", (void *)cancel},
    {"reserve0", "(J[BJJ[J)I", (void *)reserve},
    {"cancelReservation0", "(J[B[J)I", (void *)cancel_reservation},
    {"waiting0", "(J[B[J)I", (void *)waiting},
    {"decide0", "(J[BJ[J)I", (void *)decide},
    {"peek0", "(J[BJ[J)I", (void *)peek},
    {"refund0", "(J[BJJJJJ)I", (void *)refund},
    {"reset0", "(J[B)I", (void *)reset},
    {"setQuota0", "(J[B[J[B)I", (void *)set_quota},
    {"clearQuota0", "(J[B)I", (void *)clear_quota},
    {"topDenied0", "(JI[B[J[J)I", (void *)top_denied},
    {"reconfigure0", "(J[J[B)I", (void *)reconfigure},
    {"quotas0", "(J[J[J)I", (void *)quotas},
    {"size0", "(J[J)I", (void *)size},
    {"stats0", "(J[J)I", (void *)stats},
};
const natives keyed_rate_limiter_natives = NATIVES(KEYED_RATE_LIMITER);
