/* What the native methods of the gate share. */

#ifndef TIDEGATE_JNI_GATE_H
#define TIDEGATE_JNI_GATE_H

#include "border.h"

/* So many attributes are described on the stack. */
enum { REQUEST_ROOM = 8 };

/* A request while a native method uses it. */
typedef struct request {
    key packed;
    size_t count;
    tidegate_attribute *attributes;
    tidegate_attribute room[REQUEST_ROOM];
} request;

const tidegate_gate *gate_at(jlong address);

/* Reads a request as Attributes packs it. Returns 0 if there is no memory for it. */
int take_request(JNIEnv *env, jbyteArray packed, request *request);

/* Gives back what take_request() took. */
void drop_request(JNIEnv *env, jbyteArray packed, request *request);

/* Hands a document to Java as bytes, if there is one, and takes it away; returns the call's status as answer() does. */
jint hand_over_document(JNIEnv *env, int32_t status, tidegate_text *document, jobjectArray text_out);

#endif
