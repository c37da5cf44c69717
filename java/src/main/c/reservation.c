/* Reservations, which rate limiters with and without keys make. */

#include "border.h"

/* The order of the numbers that a reservation is in Java: Reservation. */
enum {
    FIGURE_COST,
    FIGURE_DUE_NS,
    FIGURE_WAIT_NS,
    FIGURE_BEFORE,
    FIGURE_AFTER,
    FIGURE_RESET_COUNT,
    FIGURE_LIMITER_ID,
    FIGURE_KEY_HASH,
    RESERVATION_FIGURES
};

jint hand_over_reservation(JNIEnv *env, int32_t status, const tidegate_reservation *reservation,
                           jlongArray figures_out) {
    if (status == TIDEGATE_ALLOWED) {
        const jlong figures[RESERVATION_FIGURES] = {
            [FIGURE_COST] = (jlong)reservation->cost,
            [FIGURE_DUE_NS] = (jlong)reservation->due_ns,
            [FIGURE_WAIT_NS] = (jlong)reservation->wait_ns,
            [FIGURE_BEFORE] = (jlong)reservation->before,
            [FIGURE_AFTER] = (jlong)reservation->after,
            [FIGURE_RESET_COUNT] = (jlong)reservation->reset_count,
            [FIGURE_LIMITER_ID] = (jlong)reservation->limiter_id,
            [FIGURE_KEY_HASH] = (jlong)reservation->key_hash,
        };
        (*env)->SetLongArrayRegion(env, figures_out, 0, RESERVATION_FIGURES, figures);
    }
    return status;
}

tidegate_reservation take_reservation(JNIEnv *env, jlongArray reserved) {
    jlong figures[RESERVATION_FIGURES];
    (*env)->GetLongArrayRegion(env, reserved, 0, RESERVATION_FIGURES, figures);
    return (tidegate_reservation){
        .limiter_id = (uint64_t)figures[FIGURE_LIMITER_ID],
        .cost = (uint64_t)figures[FIGURE_COST],
        .due_ns = (uint64_t)figures[FIGURE_DUE_NS],
        .wait_ns = (uint64_t)figures[FIGURE_WAIT_NS],
        .before = (uint64_t)figures[FIGURE_BEFORE],
        .after = (uint64_t)figures[FIGURE_AFTER],
        .reset_count = (uint64_t)figures[FIGURE_RESET_COUNT],
        .key_hash = (uint64_t)figures[FIGURE_KEY_HASH],
    };
}
