/* The native methods of Clock and ManualClock. */

#include "border.h"

static const tidegate_clock *at(jlong address) {
    return (const tidegate_clock *)(intptr_t)address;
}

static jint create(JNIEnv *env, jclass self, jboolean manual, jlongArray created) {
    (void)self;
    tidegate_clock *clock = NULL;
    int32_t status = manual ? tidegate_clock_manual_new(&clock) : tidegate_clock_monotonic_new(&clock);
    return hand_over(env, status, (jlong)(intptr_t)clock, created);
}

static void free_clock(JNIEnv *env, jclass self, jlong address) {
    (void)env;
    (void)self;
    tidegate_clock_free((tidegate_clock *)(intptr_t)address);
}

static jint now(JNIEnv *env, jobject self, jlong address, jlongArray now_out) {
    (void)self;
    uint64_t now_ns = 0;
    int32_t status = tidegate_clock_now_ns(at(address), &now_ns);
    return hand_over(env, status, figure(now_ns), now_out);
}

static jint advance(JNIEnv *env, jobject self, jlong address, jlong by_ns) {
    (void)env;
    (void)self;
    return answer(tidegate_clock_advance(at(address), (uint64_t)by_ns));
}

static jint set(JNIEnv *env, jobject self, jlong address, jlong to_ns) {
    (void)env;
    (void)self;
    return answer(tidegate_clock_set(at(address), (uint64_t)to_ns));
}

static const JNINativeMethod CLOCK[] = {
    {"create0", "(Z[J)I", (void *)create},
    {"free0", "(J)V", (void *)free_clock},
    {"now0", "(J[J)I", (void *)now},
};
const natives clock_natives = NATIVES(CLOCK);

static const JNINativeMethod MANUAL_CLOCK[] = {
    {"advance0", "(JJ)I", (void *)advance},
    {"set0", "(JJ)I", (void *)set},
};
const natives manual_clock_natives = NATIVES(MANUAL_CLOCK);
