/* The native methods of Gate: its rules, and what it tells of itself; and those of GateListener. */

#include "gate.h"

#include <stdlib.h>

/* A text that Java gave, and room for all that is wrong with it: as much as Java has. */
typedef struct reading {
    jbyte *text;
    size_t length;
    char *error;
    size_t error_size;
} reading;

/* Returns 0 if there is no memory. */
static int take_reading(JNIEnv *env, jbyteArray text, jbyteArray error, reading *reading) {
    reading->error_size = (size_t)(*env)->GetArrayLength(env, error);
    reading->error = calloc(1, reading->error_size);
    reading->length = (size_t)(*env)->GetArrayLength(env, text);
    reading->text = reading->error == NULL ? NULL : (*env)->GetByteArrayElements(env, text, NULL);
    if (reading->text == NULL) {
        free(reading->error);
    }
    return reading->text != NULL;
}

static jint drop_reading(JNIEnv *env, int32_t status, jbyteArray text, jbyteArray error, reading *reading) {
    (*env)->ReleaseByteArrayElements(env, text, reading->text, JNI_ABORT);
    hand_over_error(env, status, reading->error, error);
    free(reading->error);
    return status;
}

/* A gate from a text, or with `format` 0 from the file that the text names. */
static jint create(JNIEnv *env, jclass self, jbyteArray text, jint format, jlong clock, jlongArray created,
                   jbyteArray error) {
    (void)self;
    reading read;
    if (!take_reading(env, text, error, &read)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    const tidegate_clock *by = (const tidegate_clock *)(intptr_t)clock;
    tidegate_gate *gate = NULL;
    int32_t status = format == 0 ? tidegate_gate_open((const char *)read.text, read.length, by, &gate, read.error,
                                                      read.error_size)
                                 : tidegate_gate_parse((const char *)read.text, read.length, (uint32_t)format, by,
                                                       &gate, read.error, read.error_size);
    hand_over(env, status, (jlong)(intptr_t)gate, created);
    return drop_reading(env, status, text, error, &read);
}

static void free_gate(JNIEnv *env, jclass self, jlong address) {
    (void)env;
    (void)self;
    tidegate_gate_free((tidegate_gate *)(intptr_t)address);
}

/* Other rules from a text, or with `format` 0 from the file that the text names. */
static jint reload(JNIEnv *env, jobject self, jlong address, jbyteArray text, jint format, jobjectArray reloaded_out,
                   jbyteArray error) {
    (void)self;
    reading read;
    if (!take_reading(env, text, error, &read)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    tidegate_text *reloaded = NULL;
    int32_t status = format == 0 ? tidegate_gate_reload_file(gate_at(address), (const char *)read.text, read.length,
                                                             &reloaded, read.error, read.error_size)
                                 : tidegate_gate_reload(gate_at(address), (const char *)read.text, read.length,
                                                        (uint32_t)format, &reloaded, read.error, read.error_size);
    drop_reading(env, status, text, error, &read);
    return hand_over_document(env, status, reloaded, reloaded_out);
}

static jint rules(JNIEnv *env, jobject self, jlong address, jobjectArray text_out) {
    (void)self;
    tidegate_text *text = NULL;
    int32_t status = tidegate_gate_rules(gate_at(address), &text);
    return hand_over_document(env, status, text, text_out);
}

static jint stats(JNIEnv *env, jobject self, jlong address, jobjectArray text_out) {
    (void)self;
    tidegate_text *text = NULL;
    int32_t status = tidegate_gate_stats(gate_at(address), &text);
    return hand_over_document(env, status, text, text_out);
}

static jint explain(JNIEnv *env, jobject self, jlong address, jbyteArray packed, jlong cost, jobjectArray text_out) {
    (void)self;
    request request;
    if (!take_request(env, packed, &request)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    tidegate_text *text = NULL;
    int32_t status = tidegate_gate_explain(gate_at(address), request.attributes, request.count, (uint64_t)cost, &text);
    drop_request(env, packed, &request);
    return hand_over_document(env, status, text, text_out);
}

static jint listen(JNIEnv *env, jobject self, jlong address, jlongArray events_out) {
    (void)self;
    tidegate_gate_events *events = NULL;
    int32_t status = tidegate_gate_events_new(gate_at(address), &events);
    return hand_over(env, status, (jlong)(intptr_t)events, events_out);
}

static jint next_event(JNIEnv *env, jobject self, jlong events, jlong timeout_ns, jobjectArray event_out) {
    (void)self;
    tidegate_text *event = NULL;
    int32_t status = tidegate_gate_events_next((const tidegate_gate_events *)(intptr_t)events, (uint64_t)timeout_ns,
                                               &event);
    return hand_over_document(env, status, event, event_out);
}

static void free_events(JNIEnv *env, jclass self, jlong events) {
    (void)env;
    (void)self;
    tidegate_gate_events_free((tidegate_gate_events *)(intptr_t)events);
}

static const JNINativeMethod GATE[] = {
    {"create0", "([BIJ[J[B)I", (void *)create},
    {"free0", "(J)V", (void *)free_gate},
    {"reload0", "(J[BI[[B[B)I", (void *)reload},
    {"rules0", "(J[[B)I", (void *)rules},
    {"stats0", "(J[[B)I", (void *)stats},
    {"explain0", "(J[BJ[[B)I", (void *)explain},
    {"listen0", "(J[J)I", (void *)listen},
};
const natives gate_natives = NATIVES(GATE);

static const JNINativeMethod GATE_LISTENER[] = {
    {"next0", "(JJ[[B)I", (void *)next_event},
    {"free0", "(J)V", (void *)free_events},
};
const natives gate_listener_natives = NATIVES(GATE_LISTENER);
