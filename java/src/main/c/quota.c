/* The native method of Quota. */

#include "border.h"

static jint parse(JNIEnv *env, jclass self, jbyteArray text, jlongArray parsed, jlongArray count_out, jbyteArray error) {
    (void)self;
    jbyte *bytes = (*env)->GetByteArrayElements(env, text, NULL);
    if (bytes == NULL) {
        return TIDEGATE_ERROR_MEMORY;
    }
    tidegate_quota quotas[TIDEGATE_MAX_QUOTAS];
    size_t count = 0;
    char message[ERROR_SIZE] = "";
    int32_t status = tidegate_quota_parse((const char *)bytes, (size_t)(*env)->GetArrayLength(env, text), quotas,
                                          TIDEGATE_MAX_QUOTAS, &count, message, sizeof message);
    (*env)->ReleaseByteArrayElements(env, text, bytes, JNI_ABORT);
    hand_over_quotas(env, status, quotas, count, parsed, count_out);
    return hand_over_error(env, status, message, error);
}

static const JNINativeMethod QUOTA[] = {
    {"parse0", "([B[J[J[B)I", (void *)parse},
};
const natives quota_natives = NATIVES(QUOTA);
