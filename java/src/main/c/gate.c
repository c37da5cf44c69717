/* The native methods of Gate and Entry: requests, what they hold, and why they were refused. */

#include "gate.h"

#include <stdlib.h>
#include <string.h>

/* The order of the numbers that come of a request in Java: GateWaiting. */
enum { ADMITTED_ENTRY, ADMITTED_REFUSAL, ADMITTED_STATUS, ADMITTED_FIGURES };

/* A request that waits, as Java knows it: its ticket. */
typedef struct waiting {
    tidegate_entering *entering;
    uintptr_t number;
} waiting;

const tidegate_gate *gate_at(jlong address) {
    return (const tidegate_gate *)(intptr_t)address;
}

static size_t next_size(const jbyte **next) {
    uint32_t size;
    memcpy(&size, *next, sizeof size);
    *next += sizeof size;
    return size;
}

int take_request(JNIEnv *env, jbyteArray packed, request *request) {
    if (!take_key(env, packed, &request->packed)) {
        return 0;
    }
    request->attributes = request->room;
    const jbyte *next = request->packed.data;
    request->count = request->packed.size == 0 ? 0 : next_size(&next);
    if (request->count > REQUEST_ROOM) {
        request->attributes = malloc(request->count * sizeof *request->attributes);
        if (request->attributes == NULL) {
            drop_key(env, packed, &request->packed);
            return 0;
        }
    }
    for (size_t i = 0; i < request->count; i++) {
        tidegate_attribute *attribute = &request->attributes[i];
        attribute->name_length = next_size(&next);
        attribute->name = (const char *)next;
        next += attribute->name_length;
        attribute->value_size = next_size(&next);
        attribute->value = next;
        next += attribute->value_size;
    }
    return 1;
}

void drop_request(JNIEnv *env, jbyteArray packed, request *request) {
    if (request->attributes != request->room) {
        free(request->attributes);
    }
    drop_key(env, packed, &request->packed);
}

static void keep_poll_again(void *wait) {
    keep_event(wait, TIDEGATE_POLL_AGAIN, NULL);
}

/* Returns the entry's address if a rule admits the request and that is all; addresses are far above the codes of answer(). */
static jlong enter(JNIEnv *env, jobject self, jlong address, jbyteArray packed, jlong cost, jlong timeout_ns,
                   jboolean tell_why, jlongArray admitted_out) {
    (void)self;
    request request;
    if (!take_request(env, packed, &request)) {
        return TIDEGATE_ERROR_MEMORY;
    }
    uintptr_t number = next_wait();
    tidegate_entry *entry = NULL;
    tidegate_refusal *refusal = NULL;
    tidegate_entering *entering = NULL;
    uint64_t wake_after_ns = 0;
    int32_t status = tidegate_gate_enter_async(gate_at(address), request.attributes, request.count, (uint64_t)cost,
                                               (uint64_t)timeout_ns, keep_poll_again, (void *)number, &entry,
                                               tell_why ? &refusal : NULL, &entering, &wake_after_ns);
    drop_request(env, packed, &request);
    if (status == TIDEGATE_PENDING) {
        waiting *ticket = malloc(sizeof *ticket);
        if (ticket == NULL) {
            tidegate_entering_free(entering);
            return answer(TIDEGATE_ERROR_MEMORY);
        }
        *ticket = (waiting){.entering = entering, .number = number};
        return begun(status, (uint64_t)(uintptr_t)ticket);
    }
    jint code = answer(status);
    if (code == TIDEGATE_ALLOWED) {
        return (jlong)(intptr_t)entry;
    }
    if (entry != NULL || refusal != NULL) {
        const jlong admitted[] = {(jlong)(intptr_t)entry, (jlong)(intptr_t)refusal};
        (*env)->SetLongArrayRegion(env, admitted_out, 0, entry != NULL ? 1 : 2, admitted);
    }
    return code;
}

/*
 * As the polls of limiters do, this tells what became of the wait as an event. That it is over is TIDEGATE_OK; the ticket is
 * gone then.
 */
static jint poll(JNIEnv *env, jobject self, jlong ticket, jlongArray wake_after_out) {
    (void)self;
    waiting *waits = (waiting *)(intptr_t)ticket;
    tidegate_entry *entry = NULL;
    tidegate_refusal *refusal = NULL;
    uint64_t wake_after_ns = TIDEGATE_NEVER_NS;
    int32_t status = tidegate_entering_poll(waits->entering, &entry, &refusal, &wake_after_ns);
    if (status != TIDEGATE_PENDING) {
        const jlong admitted[ADMITTED_FIGURES] = {
            [ADMITTED_ENTRY] = (jlong)(intptr_t)entry,
            [ADMITTED_REFUSAL] = (jlong)(intptr_t)refusal,
            [ADMITTED_STATUS] = status,
        };
        keep_figures((void *)waits->number, status < 0 ? status : TIDEGATE_ALLOWED, admitted, ADMITTED_FIGURES);
        tidegate_entering_free(waits->entering);
        free(waits);
        status = TIDEGATE_OK;
    }
    return hand_over_wake_after(env, status, wake_after_ns, wake_after_out);
}

/* Ends a wait that is not over. The ticket is gone then. */
static jint cancel(JNIEnv *env, jobject self, jlong ticket) {
    (void)env;
    (void)self;
    waiting *waits = (waiting *)(intptr_t)ticket;
    tidegate_entering_free(waits->entering);
    keep_event((void *)waits->number, TIDEGATE_CANCELLED, NULL);
    free(waits);
    return answer(TIDEGATE_OK);
}

/* Hands a text to Java as bytes of its own. */
static void hand_over_bytes(JNIEnv *env, const char *text, size_t size, jobjectArray texts_out, jsize place) {
    jbyteArray bytes = (*env)->NewByteArray(env, (jsize)size);
    if (bytes != NULL) {
        (*env)->SetByteArrayRegion(env, bytes, 0, (jsize)size, (const jbyte *)text);
        (*env)->SetObjectArrayElement(env, texts_out, place, bytes);
        (*env)->DeleteLocalRef(env, bytes);
    }
}

jint hand_over_document(JNIEnv *env, int32_t status, tidegate_text *document, jobjectArray text_out) {
    if (document != NULL) {
        hand_over_bytes(env, tidegate_text_data(document), tidegate_text_length(document), text_out, 0);
        tidegate_text_free(document);
    }
    return answer(status);
}

/* Writes text number `which` of `object` as tidegate_entry_text() does. */
typedef int32_t text_of(const void *object, uint32_t which, char *buffer, size_t size, size_t *length_out);

static int32_t entry_text(const void *object, uint32_t which, char *buffer, size_t size, size_t *length_out) {
    return tidegate_entry_text(object, which, buffer, size, length_out);
}

static int32_t refusal_text(const void *object, uint32_t which, char *buffer, size_t size, size_t *length_out) {
    return tidegate_refusal_text(object, which, buffer, size, length_out);
}

/* Hands one text to Java; most fit on the stack. */
static void hand_over_text(JNIEnv *env, text_of *text_of, const void *object, uint32_t which, jobjectArray texts_out,
                           jsize place) {
    char room[512];
    size_t length = 0;
    if (text_of(object, which, room, sizeof room, &length) != TIDEGATE_OK) {
        return;
    }
    if (length < sizeof room) {
        hand_over_bytes(env, room, length, texts_out, place);
        return;
    }
    char *text = malloc(length + 1);
    if (text != NULL && text_of(object, which, text, length + 1, NULL) == TIDEGATE_OK) {
        hand_over_bytes(env, text, length, texts_out, place);
    }
    free(text);
}

static jint release(JNIEnv *env, jclass self, jlong entry, jboolean ok) {
    (void)env;
    (void)self;
    tidegate_entry_release((tidegate_entry *)(intptr_t)entry, ok);
    return answer(TIDEGATE_OK);
}

static void entry_texts(JNIEnv *env, jobject self, jlong address, jobjectArray texts_out) {
    (void)self;
    static const uint32_t TEXTS[] = {TIDEGATE_TEXT_RATE_LIMIT_POLICY, TIDEGATE_TEXT_RATE_LIMIT, TIDEGATE_TEXT_RULES};
    for (jsize i = 0; i < (jsize)(sizeof TEXTS / sizeof TEXTS[0]); i++) {
        hand_over_text(env, entry_text, (const void *)(intptr_t)address, TEXTS[i], texts_out, i);
    }
}

/* The order of the numbers that a rule's quota is in Java: QuotaFigures. */
enum {
    FIGURE_LIMIT,
    FIGURE_PERIOD_NS,
    FIGURE_REMAINING,
    FIGURE_RESET_AFTER_NS,
    FIGURE_QUOTA,
    FIGURE_QUOTAS,
    FIGURE_BURST,
    QUOTA_FIGURES
};

/* Hands over as many figures as there is room for in both arrays, and tells how many there are. */
static jint entry_figures(JNIEnv *env, jobject self, jlong address, jlongArray figures_out, jobjectArray rules_out) {
    (void)self;
    const tidegate_entry *entry = (const tidegate_entry *)(intptr_t)address;
    size_t room = (size_t)(*env)->GetArrayLength(env, rules_out);
    size_t count = 0;
    if (room == 0) {
        tidegate_entry_figures(entry, NULL, 0, &count);
        return (jint)count;
    }
    tidegate_figures *figures = calloc(room, sizeof *figures);
    if (figures == NULL) {
        return 0;
    }
    tidegate_entry_figures(entry, figures, room, &count);
    for (size_t i = 0; i < count && i < room; i++) {
        const jlong numbers[QUOTA_FIGURES] = {
            [FIGURE_LIMIT] = figure(figures[i].limit),
            [FIGURE_PERIOD_NS] = (jlong)figures[i].period_ns,
            [FIGURE_REMAINING] = figure(figures[i].remaining),
            [FIGURE_RESET_AFTER_NS] = (jlong)figures[i].reset_after_ns,
            [FIGURE_QUOTA] = figures[i].quota,
            [FIGURE_QUOTAS] = figures[i].quotas,
            [FIGURE_BURST] = figure(figures[i].burst),
        };
        (*env)->SetLongArrayRegion(env, figures_out, (jsize)i * QUOTA_FIGURES, QUOTA_FIGURES, numbers);
        hand_over_bytes(env, figures[i].rule, figures[i].rule_length, rules_out, (jsize)i);
    }
    free(figures);
    return (jint)count;
}

/* Hands a refusal over in the order of GateRefusedException.take, and takes it away. */
static void take_refusal(JNIEnv *env, jclass self, jlong address, jlongArray figures_out, jobjectArray texts_out) {
    (void)self;
    static const uint32_t TEXTS[] = {
        TIDEGATE_TEXT_RULE,
        TIDEGATE_TEXT_KEY,
        TIDEGATE_TEXT_QUOTA,
        TIDEGATE_TEXT_MESSAGE,
        TIDEGATE_TEXT_RATE_LIMIT_POLICY,
        TIDEGATE_TEXT_RATE_LIMIT,
        TIDEGATE_TEXT_RETRY_AFTER,
        TIDEGATE_TEXT_PROBLEM,
    };
    tidegate_refusal *refusal = (tidegate_refusal *)(intptr_t)address;
    tidegate_refused refused;
    memset(&refused, 0, sizeof refused);
    tidegate_refusal_figures(refusal, &refused);
    const jlong figures[] = {
        refused.status,
        refused.flags,
        figure(refused.limit),
        figure(refused.remaining),
        refused.quota,
        refused.quotas,
        (jlong)refused.retry_after_ns,
        figure(refused.in_flight),
        figure(refused.waiting),
        (jlong)refused.elapsed_ns,
        (jlong)refused.timeout_ns,
    };
    (*env)->SetLongArrayRegion(env, figures_out, 0, sizeof figures / sizeof figures[0], figures);
    for (jsize i = 0; i < (jsize)(sizeof TEXTS / sizeof TEXTS[0]); i++) {
        hand_over_text(env, refusal_text, refusal, TEXTS[i], texts_out, i);
    }
    tidegate_refusal_free(refusal);
}

static const JNINativeMethod GATE_WAITING[] = {
    {"enter0", "(J[BJJZ[J)J", (void *)enter},
};
const natives gate_waiting_natives = NATIVES(GATE_WAITING);

static const JNINativeMethod ENTERING[] = {
    {"poll0", "(J[J)I", (void *)poll},
    {"cancel0", "(J)I", (void *)cancel},
};
const natives entering_natives = NATIVES(ENTERING);

static const JNINativeMethod ENTRY[] = {
    {"giveBack0", "(JZ)I", (void *)release},
    {"texts0", "(J[[B)V", (void *)entry_texts},
    {"figures0", "(J[J[[B)I", (void *)entry_figures},
};
const natives entry_natives = NATIVES(ENTRY);

static const JNINativeMethod GATE_REFUSED[] = {
    {"take0", "(J[J[[B)V", (void *)take_refusal},
};
const natives gate_refused_natives = NATIVES(GATE_REFUSED);
