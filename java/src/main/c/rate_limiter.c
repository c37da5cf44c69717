/* The native methods of RateLimiter. */

#include "border.h"

#include <stdlib.h>

static const tidegate_rate_limiter *at(jlong address) {
    return (const tidegate_rate_limiter *)(intptr_t)address;
}

static jint create(JNIEnv *env, jclass self, jlongArray parts, jlong clock, jlongArray created, jbyteArray error) {
    (void)self;
    size_t count = 0;
    tidegate_quota *quotas = take_quotas(env, parts, &count);
    if (quotas == NULL) {
        return TIDEGATE_ERROR_MEMORY;
    }
    const tidegate_rate_limiter_options options = {
        .struct_size = sizeof options,
        .clock = (const tidegate_clock *)(intptr_t)clock,
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
    return tidegate_rate_limiter_refund(at(address), &decision);
}

static jint reset(JNIEnv *env, jobject self, jlong address) {
    (void)env;
    (void)self;
    return tidegate_rate_limiter_reset(at(address));
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
    return hand_over_error(env, status, message, error);
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
    {"create0", "([JJ[J[B)I", (void *)create},
    {"free0", "(J)V", (void *)free_limiter},
    {"tryAcquire0", "(JJ)I", (void *)try_acquire},
    {"decide0", "(JJ[J)I", (void *)decide},
    {"peek0", "(JJ[J)I", (void *)peek},
    {"refund0", "(JJJJJ)I", (void *)refund},
    {"reset0", "(J)I", (void *)reset},
    {"reconfigure0", "(J[J[B)I", (void *)reconfigure},
    {"quotas0", "(J[J[J)I", (void *)quotas},
    {"stats0", "(J[J)I", (void *)stats},
};
const natives rate_limiter_natives = NATIVES(RATE_LIMITER);
