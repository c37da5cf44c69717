/*
 * Binds the native methods when Java loads the library. Nothing else is exported (exports.map): native methods are found
 * by this table alone, so that two copies of the library in one process keep apart.
 */

#include "border.h"

/* In the order of NativeLibrary.BOUND. */
static const natives *const BOUND[] = {
    &clock_natives,
    &manual_clock_natives,
    &quota_natives,
    &keys_natives,
    &rate_limiter_natives,
    &concurrency_limiter_natives,
    &keyed_rate_limiter_natives,
    &keyed_concurrency_limiter_natives,
    &waits_natives,
    &gate_natives,
    &gate_waiting_natives,
    &entering_natives,
    &gate_refused_natives,
    &gate_listener_natives,
    &entry_natives,
};
enum { BOUND_COUNT = sizeof BOUND / sizeof BOUND[0] };

/* Returns whether all classes were bound; if not, an exception is pending that says why. */
static int bind_all(JNIEnv *env) {
    /* Being initialized by this thread: it is what loads the library. */
    jclass library = (*env)->FindClass(env, "io/github/tidegate/NativeLibrary");
    if (library == NULL) {
        return 0;
    }
    jfieldID list = (*env)->GetStaticFieldID(env, library, "BOUND", "[Ljava/lang/Class;");
    if (list == NULL) {
        return 0;
    }
    jobjectArray classes = (*env)->GetStaticObjectField(env, library, list);
    for (jsize i = 0; i < BOUND_COUNT; i++) {
        jclass bound = (*env)->GetObjectArrayElement(env, classes, i);
        if (bound == NULL || (*env)->RegisterNatives(env, bound, BOUND[i]->methods, BOUND[i]->count) != 0) {
            return 0;
        }
        (*env)->DeleteLocalRef(env, bound);
    }
    return 1;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
    (void)reserved;
    void *env = NULL;
    if ((*vm)->GetEnv(vm, &env, JNI_VERSION_10) != JNI_OK || !bind_all(env)) {
        return JNI_ERR;
    }
    return JNI_VERSION_10;
}
