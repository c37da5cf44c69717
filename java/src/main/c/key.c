/* Keys on their way from Java, and the native methods of Keys. */

#include "border.h"

#include <stdlib.h>

int take_key(JNIEnv *env, jbyteArray array, key *key) {
    jsize size = (*env)->GetArrayLength(env, array);
    key->size = (size_t)size;
    if (size <= KEY_ROOM) {
        (*env)->GetByteArrayRegion(env, array, 0, size, key->room);
        key->data = key->room;
    } else {
        key->data = (*env)->GetByteArrayElements(env, array, NULL);
    }
    return key->data != NULL;
}

void drop_key(JNIEnv *env, jbyteArray array, key *key) {
    if (key->data != key->room) {
        (*env)->ReleaseByteArrayElements(env, array, (jbyte *)key->data, JNI_ABORT);
    }
}

/* `key_out` is as long as the key will be. */
static jint join(JNIEnv *env, jclass self, jbyteArray joined, jintArray sizes, jbyteArray key_out) {
    (void)self;
    jsize count = (*env)->GetArrayLength(env, sizes);
    size_t size = (size_t)(*env)->GetArrayLength(env, key_out);
    tidegate_key *parts = calloc((size_t)count + 1, sizeof *parts);
    jbyte *made = malloc(size + 1);
    jint *part_sizes = (*env)->GetIntArrayElements(env, sizes, NULL);
    key all;
    int32_t status = TIDEGATE_ERROR_MEMORY;
    if (parts != NULL && made != NULL && part_sizes != NULL && take_key(env, joined, &all)) {
        const jbyte *next = all.data;
        for (jsize i = 0; i < count; next += part_sizes[i++]) {
            parts[i] = (tidegate_key){.data = next, .size = (size_t)part_sizes[i]};
        }
        status = tidegate_key_of(parts, (size_t)count, made, size, &size);
        drop_key(env, joined, &all);
        if (status == TIDEGATE_OK) {
            (*env)->SetByteArrayRegion(env, key_out, 0, (jsize)size, made);
        }
    }
    if (part_sizes != NULL) {
        (*env)->ReleaseIntArrayElements(env, sizes, part_sizes, JNI_ABORT);
    }
    free(made);
    free(parts);
    return status;
}

static jint ip(JNIEnv *env, jclass self, jbyteArray address, jint prefix, jbyteArray key_out, jlongArray size_out,
               jbyteArray error) {
    (void)self;
    key text;
    if (!take_key(env, address, &text)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    jbyte made[TIDEGATE_IP_KEY_SIZE];
    size_t size = 0;
    char message[ERROR_SIZE] = "";
    int32_t status =
        tidegate_ip_key((const char *)text.data, text.size, prefix, made, &size, message, sizeof message);
    drop_key(env, address, &text);
    (*env)->SetByteArrayRegion(env, key_out, 0, (jsize)size, made);
    hand_over(env, status, (jlong)size, size_out);
    return hand_over_error(env, status, message, error);
}

static const JNINativeMethod KEYS[] = {
    {"join0", "([B[I[B)I", (void *)join},
    {"ip0", "([BI[B[J[B)I", (void *)ip},
};
const natives keys_natives = NATIVES(KEYS);
