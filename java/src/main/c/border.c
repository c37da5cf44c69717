#include "border.h"

#include <stdlib.h>
#include <string.h>

jint hand_over_error(JNIEnv *env, int32_t status, const char *text, jbyteArray error) {
    if (status < 0) {
        (*env)->SetByteArrayRegion(env, error, 0, (jsize)strlen(text), (const jbyte *)text);
    }
    return status;
}

jint hand_over_object(JNIEnv *env, int32_t status, const void *object, jlongArray object_out, const char *text,
                      jbyteArray error) {
    hand_over(env, status, (jlong)(intptr_t)object, object_out);
    return hand_over_error(env, status, text, error);
}

jint hand_over_quotas(JNIEnv *env, int32_t status, const tidegate_quota *quotas, size_t count, jlongArray quotas_out,
                      jlongArray count_out) {
    if (status != TIDEGATE_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        const jlong parts[QUOTA_PARTS] = {
            [PART_LIMIT] = (jlong)quotas[i].limit,         [PART_PERIOD_NS] = (jlong)quotas[i].period_ns,
            [PART_BURST] = (jlong)quotas[i].burst,         [PART_ALGORITHM] = (jlong)quotas[i].algorithm,
            [PART_ANCHOR] = (jlong)quotas[i].anchor,
        };
        (*env)->SetLongArrayRegion(env, quotas_out, (jsize)i * QUOTA_PARTS, QUOTA_PARTS, parts);
    }
    return hand_over(env, status, (jlong)count, count_out);
}

tidegate_quota *take_quotas(JNIEnv *env, jlongArray parts, size_t *count_out) {
    jsize count = (*env)->GetArrayLength(env, parts) / QUOTA_PARTS;
    tidegate_quota *quotas = calloc((size_t)count + 1, sizeof *quotas);
    if (quotas == NULL) {
        return NULL;
    }
    for (jsize i = 0; i < count; i++) {
        jlong numbers[QUOTA_PARTS];
        (*env)->GetLongArrayRegion(env, parts, i * QUOTA_PARTS, QUOTA_PARTS, numbers);
        quotas[i] = (tidegate_quota){
            .struct_size = sizeof *quotas,
            .flags = numbers[PART_LIMIT] == 0 ? TIDEGATE_QUOTA_LIMIT_ZERO : 0,
            .limit = (uint64_t)numbers[PART_LIMIT],
            .period_ns = (uint64_t)numbers[PART_PERIOD_NS],
            .burst = (uint64_t)numbers[PART_BURST],
            .algorithm = (uint32_t)numbers[PART_ALGORITHM],
            .anchor = (uint32_t)numbers[PART_ANCHOR],
        };
    }
    *count_out = (size_t)count;
    return quotas;
}

jint hand_over_stats(JNIEnv *env, int32_t status, const tidegate_stats *stats, jlongArray figures_out) {
    if (status == TIDEGATE_OK) {
        const jlong figures[] = {
            figure(stats->allowed),         figure(stats->denied),
            figure(stats->timed_out),       figure(stats->cancelled),
            figure(stats->limit),           figure(stats->in_flight),
            figure(stats->available),       figure(stats->waiting),
            figure(stats->evicted_live),    figure(stats->released_ok),
            figure(stats->released_failed), figure(stats->hold_time_total_ns),
            figure(stats->hold_time_max_ns), figure(stats->live_keys),
            figure(stats->capacity),
        };
        (*env)->SetLongArrayRegion(env, figures_out, 0, sizeof figures / sizeof figures[0], figures);
    }
    return status;
}
