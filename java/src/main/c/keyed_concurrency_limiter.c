/* The native methods of KeyedConcurrencyLimiter. */

#include "border.h"

/* The order of the numbers that a permit is in Java; how many permits it holds is where it is in every permit. */
enum { FIGURE_LIMITER_ID, FIGURE_PERMITS, FIGURE_KEY_HASH, FIGURE_KEY_HASH_REST, KEYED_PERMIT_FIGURES };

static const tidegate_keyed_concurrency_limiter *at(jlong address) {
    return (const tidegate_keyed_concurrency_limiter *)(intptr_t)address;
}

static jint create(JNIEnv *env, jclass self, jlong limit, jlong max_keys, jboolean track_hold_time, jlong clock,
                   jlongArray created, jbyteArray error) {
    (void)self;
    const tidegate_keyed_concurrency_limiter_options options = {
        .struct_size = sizeof options,
        .flags = (limit == 0 ? TIDEGATE_CONCURRENCY_LIMIT_ZERO : 0) |
                 (track_hold_time ? TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME : 0),
        .limit = (uint64_t)limit,
        .max_keys = (uint64_t)max_keys,
        .clock = (const tidegate_clock *)(intptr_t)clock,
    };
    tidegate_keyed_concurrency_limiter *limiter = NULL;
    char message[ERROR_SIZE] = "";
    int32_t status = tidegate_keyed_concurrency_limiter_new(&options, &limiter, message, sizeof message);
    return hand_over_object(env, status, limiter, created, message, error);
}

static void free_limiter(JNIEnv *env, jclass self, jlong address) {
    (void)env;
    (void)self;
    tidegate_keyed_concurrency_limiter_free((tidegate_keyed_concurrency_limiter *)(intptr_t)address);
}

static jint try_acquire(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlong permits,
                        jlongArray figures_out) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    tidegate_keyed_permit permit;
    int32_t status = tidegate_keyed_concurrency_limiter_try_acquire(at(address), key.data, key.size, (uint64_t)permits,
                                                                    &permit);
    drop_key(env, name, &key);
    if (status == TIDEGATE_ALLOWED) {
        const jlong figures[KEYED_PERMIT_FIGURES] = {
            [FIGURE_LIMITER_ID] = (jlong)permit.limiter_id,
            [FIGURE_PERMITS] = (jlong)permit.permits,
            [FIGURE_KEY_HASH] = (jlong)permit.key_hash[0],
            [FIGURE_KEY_HASH_REST] = (jlong)permit.key_hash[1],
        };
        (*env)->SetLongArrayRegion(env, figures_out, 0, KEYED_PERMIT_FIGURES, figures);
    }
    return status;
}

static jint release(JNIEnv *env, jobject self, jlong address, jlongArray held, jboolean ok) {
    (void)self;
    jlong figures[KEYED_PERMIT_FIGURES];
    (*env)->GetLongArrayRegion(env, held, 0, KEYED_PERMIT_FIGURES, figures);
    tidegate_keyed_permit permit = {
        .limiter_id = (uint64_t)figures[FIGURE_LIMITER_ID],
        .permits = (uint64_t)figures[FIGURE_PERMITS],
        .key_hash = {(uint64_t)figures[FIGURE_KEY_HASH], (uint64_t)figures[FIGURE_KEY_HASH_REST]},
    };
    return tidegate_keyed_concurrency_limiter_release(at(address), &permit, ok);
}

static jint set_limit(JNIEnv *env, jobject self, jlong address, jlong limit) {
    (void)env;
    (void)self;
    return tidegate_keyed_concurrency_limiter_set_limit(at(address), (uint64_t)limit);
}

static jint limit(JNIEnv *env, jobject self, jlong address, jlongArray limit_out) {
    (void)self;
    uint64_t limit = 0;
    int32_t status = tidegate_keyed_concurrency_limiter_limit(at(address), &limit);
    return hand_over(env, status, figure(limit), limit_out);
}

static jint in_flight(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlongArray in_flight_out) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    uint64_t in_flight = 0;
    int32_t status = tidegate_keyed_concurrency_limiter_in_flight(at(address), key.data, key.size, &in_flight);
    drop_key(env, name, &key);
    return hand_over(env, status, figure(in_flight), in_flight_out);
}

static jint available(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlongArray available_out) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    uint64_t available = 0;
    int32_t status = tidegate_keyed_concurrency_limiter_available(at(address), key.data, key.size, &available);
    drop_key(env, name, &key);
    return hand_over(env, status, figure(available), available_out);
}

static jint stats(JNIEnv *env, jobject self, jlong address, jlongArray figures_out) {
    (void)self;
    tidegate_stats stats;
    int32_t status = tidegate_keyed_concurrency_limiter_stats(at(address), &stats);
    return hand_over_stats(env, status, &stats, figures_out);
}

static const JNINativeMethod KEYED_CONCURRENCY_LIMITER[] = {
    {"create0", "(JJZJ[J[B)I", (void *)create},
    {"free0", "(J)V", (void *)free_limiter},
    {"tryAcquire0", "(J[BJ[J)I", (void *)try_acquire},
    {"release0", "(J[JZ)I", (void *)release},
    {"setLimit0", "(JJ)I", (void *)set_limit},
    {"limit0", "(J[J)I", (void *)limit},
    {"inFlight0", "(J[B[J)I", (void *)in_flight},
    {"available0", "(J[B[J)I", (void *)available},
    {"stats0", "(J[J)I", (void *)stats},
};
const natives keyed_concurrency_limiter_natives = NATIVES(KEYED_CONCURRENCY_LIMITER);
