/* The native methods of RateLimiter. */

#include "border.h"

#include <stdlib.h>

static const tidegate_rate_limiter *at(jlong address) {
    return (const tidegate_rate_limiter *)(intptr_t)address;
}

static jint create(JNIEnv *env, jclass self, jlongArray parts, jlong max_waiters, jlong clock, jlongArray created,
                   jbyteArray error) {
    (void)self;
    size_t count = 0;
    tidegate_quota *quotas = take_quotas(env, parts, &count);
    if (quotas == NULL) {
        return TIDEGATE_ERROR_MEMORY;
    }
    const tidegate_rate_limiter_options options = {
        .struct_size = sizeof options,
        .flags = max_waiters == 0 ? TIDEGATE_RATE_NO_WAITERS : 0,
        .clock = (const tidegate_clock *)(intptr_t)clock,
        .max_waiters = (uint64_t)max_waiters,
    };
    tidegate_rate_limiter *limiter = NULL;
    char message[ERROR_SIZE] = "";
    int32_t status = tidegate_rate_limiter_new(quotas, count, &options, &limiter, message, sizeof message);
    free(quotas);
    return hand_over_object(env, status, limiter, created, message, error);
}

static void free_limiter(JNIEnv *env, jclass self, jlong address) {
    (void)env;
    (void)self;
    tidegate_rate_limiter_free((tidegate_rate_limiter *)(intptr_t)address);
}

static jint try_acquire(JNIEnv *env, jobject self, jlong address, jlong cost) {
    (void)env;
    (void)self;
    return tidegate_rate_limiter_try_acquire(at(address), (uint64_t)cost);
}

static jint acquire(JNIEnv *env, jobject self, jlong address, jlong cost, jlong timeout_ns) {
    (void)env;
    (void)self;
    uint64_t ticket = 0;
    uint64_t wake_after_ns = 0;
    int32_t status = tidegate_rate_limiter_acquire_refundable_async(
        at(address), (uint64_t)cost, (uint64_t)timeout_ns, keep_token_event, (void *)next_wait(), &ticket,
        &wake_after_ns);
    return begun(status, ticket);
}

static jint poll(JNIEnv *env, jobject self, jlong address, jlong ticket, jlongArray wake_after_out) {
    (void)self;
    uint64_t wake_after_ns = TIDEGATE_NEVER_NS;
    int32_t status = tidegate_rate_limiter_poll(at(address), (uint64_t)ticket, &wake_after_ns);
    return hand_over_wake_after(env, status, wake_after_ns, wake_after_out);
}

static jint cancel(JNIEnv *env, jobject self, jlong address, jlong ticket) {
    (void)env;
    (void)self;
    return answer(tidegate_rate_limiter_cancel(at(address), (uint64_t)ticket));
}

static jint reserve(JNIEnv *env, jobject self, jlong address, jlong cost, jlong max_wait_ns, jlongArray figures_out) {
    (void)self;
    tidegate_reservation reservation;
    int32_t status =
        tidegate_rate_limiter_reserve(at(address), (uint64_t)cost, (uint64_t)max_wait_ns, &reservation);
    return hand_over_reservation(env, status, &reservation, figures_out);
}

static jint cancel_reservation(JNIEnv *env, jobject self, jlong address, jlongArray reserved) {
    (void)self;
    tidegate_reservation reservation = take_reservation(env, reserved);
    return answer(tidegate_rate_limiter_cancel_reservation(at(address), &reservation));
}

static jint waiting(JNIEnv *env, jobject self, jlong address, jlongArray waiting_out) {
    (void)self;
    uint64_t waiting = 0;
    int32_t status = tidegate_rate_limiter_waiting(at(address), &waiting);
    return hand_over(env, status, figure(waiting), waiting_out);
}

static jint decide(JNIEnv *env, jobject self, jlong address, jlong cost, jlongArray figures_out) {
    (void)self;
    tidegate_decision decision;
    int32_t status = tidegate_rate_limiter_decide(at(address), (uint64_t)cost, &decision);
    return hand_over_decision(env, status, &decision, figures_out);
}

static jint peek(JNIEnv *env, jobject self, jlong address, jlong cost, jlongArray figures_out) {
    (void)self;
    tidegate_decision decision;
    int32_t status = tidegate_rate_limiter_peek(at(address), (uint64_t)cost, &decision);
    return hand_over_decision(env, status, &decision, figures_out);
}

static jint refund(JNIEnv *env, jobject self, jlong address, jlong limiter_id, jlong cost, jlong granted_at_ns,
                   jlong reset_count) {
    (void)env;
    (void)self;
    tidegate_decision decision = {
        .status = TIDEGATE_ALLOWED,
        .limiter_id = (uint64_t)limiter_id,
        .cost = (uint64_t)cost,
        .granted_at_ns = (uint64_t)granted_at_ns,
        .reset_count = (uint64_t)reset_count,
    };
    return answer(tidegate_rate_limiter_refund(at(address), &decision));
}

static jint reset(JNIEnv *env, jobject self, jlong address) {
    (void)env;
    (void)self;
    return answer(tidegate_rate_limiter_reset(at(address)));
}

static jint reconfigure(JNIEnv *env, jobject self, jlong address, jlongArray parts, jbyteArray error) {
    (void)self;
    size_t count = 0;
    tidegate_quota *quotas = take_quotas(env, parts, &count);
    if (quotas == NULL) {
        return TIDEGATE_ERROR_MEMORY;
    }
    char message[ERROR_SIZE] = "";
    int32_t status = tidegate_rate_limiter_reconfigure(at(address), quotas, count, message, sizeof message);
    free(quotas);
    return answer(hand_over_error(env, status, message, error));
}

static jint quotas(JNIEnv *env, jobject self, jlong address, jlongArray quotas_out, jlongArray count_out) {
    (void)self;
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    size_t count = 0;
    int32_t status = tidegate_rate_limiter_quotas(at(address), quotas, TIDEGATE_MAX_QUOTAS, &count);
    return hand_over_quotas(env, status, quotas, count, quotas_out, count_out);
}

static jint stats(JNIEnv *env, jobject self, jlong address, jlongArray figures_out) {
    (void)self;
    tidegate_stats stats;
    int32_t status = tidegate_rate_limiter_stats(at(address), &stats);
    return hand_over_stats(env, status, &stats, figures_out);
}

static const JNINativeMethod RATE_LIMITER[] = {
    {"create0", "([JJJ[J[B)I", (void *)create},
    {"free0", "(J)V", (void *)free_limiter},
    {"tryAcquire0", "(JJ)I", (void *)try_acquire},
    {"acquire0", "(JJJ)I", (void *)acquire},
    {"poll0", "(JJ[J)I", (void *)poll},
    {"cancel0", "(JJ)I", (void *)cancel},
    {"reserve0", "(JJJ[J)I", (void *)reserve},
    {"cancelReservation0", "(J[J)I", (void *)cancel_reservation},
    {"waiting0", "(J[J)I", (void *)waiting},
    {"decide0", "(JJ[J)I", (void *)decide},
    {"peek0", "(JJ[J)I", (void *)peek},
    {"refund0", "(JJJJJ)I", (void *)refund},
    {"reset0", "(J)I", (void *)reset},
    {"reconfigure0", "(J[J[B)I", (void *)reconfigure},
    {"quotas0", "(J[J[J)I", (void *)quotas},
    {"stats0", "(J[J)I", (void *)stats},
};
const natives rate_limiter_natives = NATIVES(RATE_LIMITER);
