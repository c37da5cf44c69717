/* The native methods of KeyedConcurrencyLimiter. */

#include "border.h"

static const tidegate_keyed_concurrency_limiter *at(jlong address) {
    return (const tidegate_keyed_concurrency_limiter *)(intptr_t)address;
}

static jint create(JNIEnv *env, jclass self, jlong limit, jlong max_keys, jlong max_waiters, jboolean track_hold_time,
                   jlong clock, jlongArray created, jbyteArray error) {
    (void)self;
    const tidegate_keyed_concurrency_limiter_options options = {
        .struct_size = sizeof options,
        .flags = (limit == 0 ? TIDEGATE_CONCURRENCY_LIMIT_ZERO : 0) |
                 (track_hold_time ? TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME : 0) |
                 (max_waiters == 0 ? TIDEGATE_CONCURRENCY_NO_WAITERS : 0),
        .limit = (uint64_t)limit,
        .max_keys = (uint64_t)max_keys,
        .max_waiters = (uint64_t)max_waiters,
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

static void hand_over_permit(JNIEnv *env, int32_t status, const tidegate_keyed_permit *permit,
                             jlongArray figures_out) {
    if (status == TIDEGATE_ALLOWED) {
        jlong figures[PERMIT_FIGURES];
        keyed_permit_to_figures(permit, figures);
        (*env)->SetLongArrayRegion(env, figures_out, 0, PERMIT_FIGURES, figures);
    }
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
    hand_over_permit(env, status, &permit, figures_out);
    return status;
}

static jint acquire(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlong permits, jlong timeout_ns,
                    jlongArray figures_out) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return answer(TIDEGATE_ERROR_MEMORY);
    }
    tidegate_keyed_permit permit;
    uint64_t ticket = 0;
    uint64_t wake_after_ns = 0;
    int32_t status = tidegate_keyed_concurrency_limiter_acquire_async(
        at(address), key.data, key.size, (uint64_t)permits, (uint64_t)timeout_ns, keep_keyed_event,
        (void *)next_wait(), &permit, &ticket, &wake_after_ns);
    drop_key(env, name, &key);
    hand_over_permit(env, status, &permit, figures_out);
    return begun(status, ticket);
}

static jint poll(JNIEnv *env, jobject self, jlong address, jlong ticket, jlongArray wake_after_out) {
    (void)self;
    uint64_t wake_after_ns = TIDEGATE_NEVER_NS;
    int32_t status = tidegate_keyed_concurrency_limiter_poll(at(address), (uint64_t)ticket, &wake_after_ns);
    return hand_over_wake_after(env, status, wake_after_ns, wake_after_out);
}

static jint cancel(JNIEnv *env, jobject self, jlong address, jlong ticket) {
    (void)env;
    (void)self;
    return answer(tidegate_keyed_concurrency_limiter_cancel(at(address), (uint64_t)ticket));
}

static jint close_limiter(JNIEnv *env, jobject self, jlong address) {
    (void)env;
    (void)self;
    return answer(tidegate_keyed_concurrency_limiter_close(at(address)));
}

static jint waiting(JNIEnv *env, jobject self, jlong address, jbyteArray name, jlongArray waiting_out) {
    (void)self;
    key key;
    if (!take_key(env, name, &key)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    uint64_t waiting = 0;
    int32_t status = tidegate_keyed_concurrency_limiter_waiting(at(address), key.data, key.size, &waiting);
    drop_key(env, name, &key);
    return hand_over(env, status, figure(waiting), waiting_out);
}

static jint release(JNIEnv *env, jobject self, jlong address, jlong limiter_id, jlong permits, jlong key_hash,
                    jlong key_hash_rest, jboolean ok) {
    (void)env;
    (void)self;
    tidegate_keyed_permit permit = {
        .limiter_id = (uint64_t)limiter_id,
        .permits = (uint64_t)permits,
        .key_hash = {(uint64_t)key_hash, (uint64_t)key_hash_rest},
    };
    return answer(tidegate_keyed_concurrency_limiter_release(at(address), &permit, ok));
}

static jint set_limit(JNIEnv *env, jobject self, jlong address, jlong limit) {
    (void)env;
    (void)self;
    return answer(tidegate_keyed_concurrency_limiter_set_limit(at(address), (uint64_t)limit));
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
    {"create0", "(JJJZJ[J[B)I", (void *)create},
    {"free0", "(J)V", (void *)free_limiter},
    {"tryAcquire0", "(J[BJ[J)I", (void *)try_acquire},
    {"acquire0", "(J[BJJ[J)I", (void *)acquire},
    {"poll0", "(JJ[J)I", (void *)poll},
    {"cancel0", "(JJ)I", (void *)cancel},
    {"close0", "(J)I", (void *)close_limiter},
    {"waiting0", "(J[B[J)I", (void *)waiting},
    {"release0", "(JJJJJZ)I", (void *)release},
    {"setLimit0", "(JJ)I", (void *)set_limit},
    {"limit0", "(J[J)I", (void *)limit},
    {"inFlight0", "(J[B[J)I", (void *)in_flight},
    {"available0", "(J[B[J)I", (void *)available},
    {"stats0", "(J[J)I", (void *)stats},
};
const natives keyed_concurrency_limiter_natives = NATIVES(KEYED_CONCURRENCY_LIMITER);
