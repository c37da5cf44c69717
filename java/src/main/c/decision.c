/* Decisions, which rate limiters with and without keys make. */

#include "border.h"

/* The order of the numbers that a decision is in Java: Decision's constructor. */
enum {
    FIGURE_QUOTA,
    FIGURE_LIMIT,
    FIGURE_REMAINING,
    FIGURE_RETRY_AFTER_NS,
    FIGURE_RESET_AFTER_NS,
    FIGURE_LIMITER_ID,
    FIGURE_COST,
    FIGURE_GRANTED_AT_NS,
    FIGURE_RESET_COUNT,
    FIGURE_KEY_HASH,
    DECISION_FIGURES
};

jint hand_over_decision(JNIEnv *env, int32_t status, const tidegate_decision *decision, jlongArray figures_out) {
    if (status >= 0) {
        const jlong figures[DECISION_FIGURES] = {
            [FIGURE_QUOTA] = (jlong)decision->quota,
            [FIGURE_LIMIT] = figure(decision->limit),
            [FIGURE_REMAINING] = figure(decision->remaining),
            [FIGURE_RETRY_AFTER_NS] = figure(decision->retry_after_ns),
            [FIGURE_RESET_AFTER_NS] = figure(decision->reset_after_ns),
            /* What follows only travels through Java, all 64 bits of it. */
            [FIGURE_LIMITER_ID] = (jlong)decision->limiter_id,
            [FIGURE_COST] = (jlong)decision->cost,
            [FIGURE_GRANTED_AT_NS] = (jlong)decision->granted_at_ns,
            [FIGURE_RESET_COUNT] = (jlong)decision->reset_count,
            [FIGURE_KEY_HASH] = (jlong)decision->key_hash,
        };
        (*env)->SetLongArrayRegion(env, figures_out, 0, DECISION_FIGURES, figures);
    }
    return status;
}
