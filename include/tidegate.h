/*
 * tidegate
 * ========
 *
 * In-process limiters, exact and fast. *Rate limiters* spend tokens that come back with time ("at most 100 a second");
 * *concurrency limiters* lend permits that the caller gives back ("at most 4 at once"). Keyed ones do so for each key on
 * its own, such as an address, a user or a path. A *gate* admits requests by named rules, each of which has such a
 * limiter, from a text that can be changed while it is in use.
 *
 *     #include <stdio.h>
 *     #include <string.h>
 *     #include <tidegate.h>
 *
 *     int main(void) {
 *         const char *quota = "100/s burst 20";
 *         char error[TIDEGATE_ERROR_SIZE];
 *         tidegate_rate_limiter *limiter;
 *         if (tidegate_rate_limiter_parse(quota, strlen(quota), NULL, &limiter, error, sizeof error) < 0) {
 *             fprintf(stderr, "%s\n", error);
 *             return 1;
 *         }
 *         if (tidegate_rate_limiter_try_acquire(limiter, 1) == TIDEGATE_ALLOWED) {
 *             puts("go ahead");
 *         }
 *         tidegate_rate_limiter_free(limiter);
 *         return 0;
 *     }
 *
 * Link with `-ltidegate`. C++ users find the same with owners and durations in tidegate.hpp and
 * tidegate_gate.hpp.
 *
 * Rules that hold for every function, so that they are not said again below:
 *
 * - Results. Almost every function returns an int32_t: 0 is success or "allowed", above 0 is another outcome, below 0 is
 *   a mistake of the caller. See "Statuses" for the numbers. A function that returns below 0 changed nothing and wrote
 *   none of its outputs, whose names end in `_out`. Besides the statuses named with each function, any of them may
 *   return TIDEGATE_ERROR_NULL_POINTER for a pointer that must not be NULL, TIDEGATE_ERROR_MEMORY for one that is not
 *   aligned for its type, and TIDEGATE_ERROR_PANIC after a fault inside the library, which stays usable.
 * - Threads. Every function may be called from any thread at any time, also on one and the same object, except that an
 *   object must not be used once its last owner has freed it. None may be called from a signal handler. Only those
 *   that end in `_limiter_acquire`, tidegate_gate_enter() and tidegate_gate_events_next() keep their thread waiting.
 *   Callbacks: see "Waiting without a thread".
 * - Units. Times are whole nanoseconds and say so in their names, `_ns`. Tokens and permits are whole numbers from 1 to
 *   TIDEGATE_MAX_COST.
 * - Structs that the caller fills, but for tidegate_key, begin with `struct_size`, to be set to their sizeof; everything
 *   else that is not needed is 0, which means the default. A program that was compiled against an older or newer header
 *   stays valid: what the smaller struct lacks counts as 0, and what the library doesn't know must be 0.
 * - Texts are UTF-8. Those that go in are a pointer and a length and need no NUL.
 * - Error texts. A function that builds or reads something takes a buffer `error` of `error_size` bytes. If, and only
 *   if, it returns below 0, it writes there `ARGUMENT: got VALUE; allowed: WHAT`, ended by a NUL and cut between two
 *   characters if the buffer is too small. `error` may be NULL if error_size is 0.
 * - "since" names the ABI in which something first appeared. Nothing is ever removed or changed.
 *
 * This file is made from the sources by `make header`.
 */

#ifndef TIDEGATE_H
#define TIDEGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Statuses and versions
 * =====================
 */

/** The ABI that this header describes. Compare with tidegate_abi_version(). since 1 */
#define TIDEGATE_ABI_VERSION 1

/** Success, of functions that decide nothing. since 1 */
#define TIDEGATE_OK 0

/** Go ahead: the tokens or permits are taken. since 1 */
#define TIDEGATE_ALLOWED 0

/** Not now; nothing was taken. since 1 */
#define TIDEGATE_DENIED 1

/** Never: more was asked for than the limiter can ever hold. Nothing was taken. since 1 */
#define TIDEGATE_EXCEEDS_CAPACITY 2

/** The wait outlasted, or would have outlasted, its timeout. since 1 */
#define TIDEGATE_TIMED_OUT 3

/** The limiter is closed. since 1 */
#define TIDEGATE_CLOSED 4

/** As many callers wait as may. since 1 */
#define TIDEGATE_QUEUE_FULL 5

/** No room for a new key (keyed limiters); nothing was taken. since 1 */
#define TIDEGATE_KEYS_FULL 6

/** The wait was cancelled. since 1 */
#define TIDEGATE_CANCELLED 7

/** The wait goes on. since 1 */
#define TIDEGATE_PENDING 8

/** It is too late to cancel. since 1 */
#define TIDEGATE_TOO_LATE 9

/** The wait may be due sooner than was said. since 1 */
#define TIDEGATE_POLL_AGAIN 10

/** No rule of the gate applies: go ahead. since 1 */
#define TIDEGATE_NO_RULE 11

/** A pointer that must not be NULL is. since 1 */
#define TIDEGATE_ERROR_NULL_POINTER -1

/** A struct_size that is none, or a larger struct whose part beyond this version's is not zero. since 1 */
#define TIDEGATE_ERROR_STRUCT_SIZE -2

/** An option, a quota or a text is not acceptable, or a buffer is too small. since 1 */
#define TIDEGATE_ERROR_OPTION -3

/** A key, or a part of one, is NULL though its size is not 0. since 1 */
#define TIDEGATE_ERROR_KEY -4

/** A cost or number of permits is not 1 to TIDEGATE_MAX_COST. since 1 */
#define TIDEGATE_ERROR_COST -5

/** A permit is spent, was never granted, or is of another limiter. since 1 */
#define TIDEGATE_ERROR_PERMIT -6

/** A decision or reservation is of nothing, was given back before, or is of another limiter or key. since 1 */
#define TIDEGATE_ERROR_DECISION -7

/** A ticket is stale or of another limiter. since 1 */
#define TIDEGATE_ERROR_TICKET -8

/** A pointer is not aligned for its type, or a length or max_keys is more than memory can hold. since 1 */
#define TIDEGATE_ERROR_MEMORY -9

/** The object cannot do that, such as a monotonic clock that is told the time. since 1 */
#define TIDEGATE_ERROR_UNSUPPORTED -10

/** The object belongs to the parent process. since 1 */
#define TIDEGATE_ERROR_FORKED -11

/** A fault inside the library, stopped at its border. The call may have had no effect; the library stays usable. since 1 */
#define TIDEGATE_ERROR_PANIC -12

/** The largest cost, number of permits, limit and burst: 2^53 - 1. since 1 */
#define TIDEGATE_MAX_COST 9007199254740991

/** A time that never comes. since 1 */
#define TIDEGATE_NEVER_NS 18446744073709551615ull

/** A good size for an error buffer, in bytes: texts that are longer quote a long text of the caller's. since 1 */
#define TIDEGATE_ERROR_SIZE 512

/**
 * The ABI of the library that is loaded: at least TIDEGATE_ABI_VERSION, or the library is too old for this header.
 *
 * since 1
 */
uint32_t tidegate_abi_version(void);

/**
 * The release of the library that is loaded, such as "0.1.0". The text lives for ever; nobody frees it.
 *
 * since 1
 */
const char *tidegate_version(void);

/**
 * The name of a status, such as "exceeds_capacity"; "unknown" for a number that is none. The text lives for ever; nobody
 * frees it.
 *
 * since 1
 */
const char *tidegate_status_name(int32_t status);


/*
 * Objects
 * =======
 *
 * Objects are made by functions that end in `_new`, `_parse` or `_open` and have owners, who are counted. Making one makes the
 * caller its owner; `_ref` adds an owner, `_free` takes one away, and the object goes with its last owner. A limiter
 * keeps what it needs of a clock for itself: the clock may be freed before the limiter.
 *
 * What has no `_ref` has one owner, and goes with its `_free`; an entry with its `_release`.
 */

/** Where limiters have the time from. See "Clocks". since 1 */
typedef struct tidegate_clock tidegate_clock;

/** Lends permits that the caller gives back. See "Concurrency limiters". since 1 */
typedef struct tidegate_concurrency_limiter tidegate_concurrency_limiter;

/** A request that a gate admitted. Belongs to the caller until tidegate_entry_release(). See "Entries". since 1 */
typedef struct tidegate_entry tidegate_entry;

/** Admits requests by rules. See "The gate". since 1 */
typedef struct tidegate_gate tidegate_gate;

/** Lends permits of each key that the caller gives back. See "Keyed concurrency limiters". since 1 */
typedef struct tidegate_keyed_concurrency_limiter tidegate_keyed_concurrency_limiter;

/** Spends tokens of each key that come back with time. See "Keyed rate limiters". since 1 */
typedef struct tidegate_keyed_rate_limiter tidegate_keyed_rate_limiter;

/** Spends tokens that come back with time. See "Rate limiters". since 1 */
typedef struct tidegate_rate_limiter tidegate_rate_limiter;

/** A request that a gate refused. Belongs to the caller until tidegate_refusal_free(). See "Refusals". since 1 */
typedef struct tidegate_refusal tidegate_refusal;

/** A text that belongs to the caller until tidegate_text_free(). See "Documents". since 1 */
typedef struct tidegate_text tidegate_text;


/*
 * Rate limiters
 * =============
 *
 * A rate limiter enforces a quota, written as text:
 *
 *     100/s                         100 tokens a second, at most 100 at once
 *     5 per 30s                     5 tokens per 30 seconds
 *     100/min burst 20              100 tokens a minute, at most 20 at once
 *     3/2s fixed_window             at most 3 in each window of 2 seconds
 *     100/s; 1000/h                 both, as one decision
 *
 * In full: `LIMIT/UNIT`, `LIMIT/COUNT UNIT` or `LIMIT per COUNT UNIT`, then, as wanted, `burst N`, an algorithm (`gcra`,
 * `fixed_window`, `sliding_window`, `sliding_log`; see "Quotas") and `anchor first` or `anchor clock`. UNIT is `ns`,
 * `us`, `ms`, `s`, `sec`, `second(s)`, `min`, `minute(s)`, `h`, `hour(s)`, `d`, `day(s)`, `w` or `week(s)`. Lower case;
 * one to TIDEGATE_MAX_QUOTAS quotas, joined by `;`. A limit of 0 refuses everything.
 */

/** Flag of the options of rate limiters, keyed or not: nobody may wait. since 1 */
#define TIDEGATE_RATE_NO_WAITERS 1

/** How to make a rate limiter. 64 bytes. since 1 */
typedef struct tidegate_rate_limiter_options {
    /** sizeof(tidegate_rate_limiter_options). */
    uint32_t struct_size;
    /** 0 or TIDEGATE_RATE_NO_WAITERS. */
    uint32_t flags;
    /** The clock to go by; NULL for the monotonic one. */
    const tidegate_clock *clock;
    /** How many may wait at once: 1 to TIDEGATE_MAX_WAITERS; 0 for as many, or, with TIDEGATE_RATE_NO_WAITERS, for none. */
    uint64_t max_waiters;
    /** All 0. */
    uint64_t reserved[5];
} tidegate_rate_limiter_options;

/**
 * Makes a rate limiter from the text of its quotas, with nothing used.
 *
 * `options` may be NULL for the defaults. The caller owns `*limiter_out` and gives it up with
 * tidegate_rate_limiter_free(). The first limiter of a process on the monotonic clock may take up to 200 ms, once, to
 * measure the processor's counter.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text or an option is not acceptable;
 * TIDEGATE_ERROR_STRUCT_SIZE.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_parse(const char *text,
                                    size_t length,
                                    const struct tidegate_rate_limiter_options *options,
                                    tidegate_rate_limiter **limiter_out,
                                    char *error,
                                    size_t error_size);

/**
 * Takes `cost` tokens if all can be had now, and nobody waits. This is the fast way: it tells no figures.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_DENIED; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_try_acquire(const tidegate_rate_limiter *limiter,
                                          uint64_t cost);

/**
 * Makes everything unspent again. Decisions from before can no longer be refunded to any effect.
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_reset(const tidegate_rate_limiter *limiter);

/**
 * Changes limits, periods and bursts while the limiter is in use, from the next call on.
 *
 * What is used stays used, at most the new burst: nobody gets a fresh quota. Does nothing where nothing changed. The
 * number of quotas, their algorithms and their anchors must stay as they are.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text is not acceptable or changes what must stay.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_reconfigure_text(const tidegate_rate_limiter *limiter,
                                               const char *text,
                                               size_t length,
                                               char *error,
                                               size_t error_size);

/**
 * Adds an owner, who also must free the limiter, and returns the limiter; NULL for NULL.
 *
 * since 1
 */
tidegate_rate_limiter *tidegate_rate_limiter_ref(const tidegate_rate_limiter *limiter);

/**
 * Takes an owner away; the limiter goes with the last one. NULL is fine.
 *
 * since 1
 */
void tidegate_rate_limiter_free(tidegate_rate_limiter *limiter);


/*
 * Decisions
 * =========
 *
 * The same decisions with their figures: how much is left, and how long to wait.
 *
 *     tidegate_decision decision;
 *     int32_t status = tidegate_rate_limiter_decide(limiter, 1, &decision);
 *     if (status == TIDEGATE_ALLOWED) {
 *         printf("go ahead, %" PRIu64 " left", decision.remaining);
 *     } else if (status < 0) {
 *         printf("500: %s", tidegate_status_name(status));
 *     } else if (decision.retry_after_ns == TIDEGATE_NEVER_NS) {
 *         printf("429, for ever");
 *     } else {
 *         uint64_t seconds = decision.retry_after_ns / 1000000000 + (decision.retry_after_ns % 1000000000 != 0);
 *         printf("429, Retry-After: %" PRIu64, seconds);
 *     }
 *
 * Whatever is not TIDEGATE_ALLOWED refuses: also TIDEGATE_EXCEEDS_CAPACITY, which waiting does not cure, and statuses of
 * versions to come. Whole seconds round up: rounded down, the caller would be back too early, or at once.
 */

/** The answer to one call. 128 bytes, and never more. Belongs to the caller, who may copy and drop it at will. since 1 */
typedef struct tidegate_decision {
    /** TIDEGATE_ALLOWED, TIDEGATE_DENIED or TIDEGATE_EXCEEDS_CAPACITY; of keyed limiters also TIDEGATE_KEYS_FULL. */
    int32_t status;
    /**
     * Which quota of the limiter's list the decision names, from 0: on refusal the one with the longest retry_after_ns,
     * else the one with the least remaining.
     */
    uint32_t quota;
    /** The limit of that quota, in tokens per period. */
    uint64_t limit;
    /** Tokens that could be spent at once after this decision; the least over all quotas. */
    uint64_t remaining;
    /**
     * How long until the same call would be allowed if nobody else asks, exact to the nanosecond; 0 if allowed,
     * TIDEGATE_NEVER_NS for never.
     */
    uint64_t retry_after_ns;
    /** How long until nothing counts any more if nobody asks; the longest over all quotas. */
    uint64_t reset_after_ns;
    /** For tidegate_rate_limiter_refund(): the limiter that granted. */
    uint64_t limiter_id;
    /** For tidegate_rate_limiter_refund(): the tokens that were taken; 0 if there is nothing to refund. */
    uint64_t cost;
    /** For tidegate_rate_limiter_refund(): when, on the limiter's clock. */
    uint64_t granted_at_ns;
    /** For tidegate_rate_limiter_refund(): how often the limiter had been reset by then. */
    uint64_t reset_count;
    /** For tidegate_keyed_rate_limiter_refund(): which key, as that limiter knows it; else 0. */
    uint64_t key_hash;
    /** All 0. */
    uint64_t reserved[6];
} tidegate_decision;

/**
 * Takes `cost` tokens if all can be had now, and tells the figures.
 *
 * With several quotas no bound is ever exceeded, and without a race a refusal charges nothing. In a race a call may be
 * refused because of another's charge that is just being undone.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_DENIED; TIDEGATE_EXCEEDS_CAPACITY, each also in `decision_out->status`;
 * TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_decide(const tidegate_rate_limiter *limiter,
                                     uint64_t cost,
                                     struct tidegate_decision *decision_out);

/**
 * What tidegate_rate_limiter_decide() would answer now, spending nothing; `remaining` is what is unspent.
 *
 * Returns as tidegate_rate_limiter_decide().
 *
 * since 1
 */
int32_t tidegate_rate_limiter_peek(const tidegate_rate_limiter *limiter,
                                   uint64_t cost,
                                   struct tidegate_decision *decision_out);

/**
 * Gives back what a decision took, as far as no bound is broken: a window takes it back only while the same window lasts,
 * gcra only what has not come back by itself since.
 *
 * Consumes the decision by setting its `cost` to 0, also where there was nothing left to give back: a second refund is an
 * error. Of several threads that refund one and the same struct, one succeeds. A copy that was made before the refund is
 * not told apart from the original.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_DECISION if the decision granted nothing, was refunded before, or is of another
 * limiter.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_refund(const tidegate_rate_limiter *limiter,
                                     struct tidegate_decision *decision);


/*
 * Concurrency limiters
 * ====================
 *
 *     tidegate_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = 4};
 *     tidegate_concurrency_limiter *limiter;
 *     tidegate_concurrency_limiter_new(&options, &limiter, NULL, 0);
 *
 *     tidegate_permit permit;
 *     if (tidegate_concurrency_limiter_try_acquire(limiter, 1, &permit) == TIDEGATE_ALLOWED) {
 *         int32_t ok = work();
 *         tidegate_concurrency_limiter_release(limiter, &permit, ok);
 *     }
 */

/** Flag of tidegate_concurrency_limiter_options: a limit of 0 is meant, and refuses everything. since 1 */
#define TIDEGATE_CONCURRENCY_LIMIT_ZERO 1

/**
 * Flag of tidegate_concurrency_limiter_options: measure how long permits are held, at the price of two clock readings for
 * each. since 1
 */
#define TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME 2

/** Flag of the options of concurrency limiters, keyed or not: nobody may wait. since 1 */
#define TIDEGATE_CONCURRENCY_NO_WAITERS 4

/** How to make a concurrency limiter. 64 bytes. since 1 */
typedef struct tidegate_concurrency_limiter_options {
    /** sizeof(tidegate_concurrency_limiter_options). */
    uint32_t struct_size;
    /** TIDEGATE_CONCURRENCY_* flags, joined by |. */
    uint32_t flags;
    /** How many permits may be out at once: 1 to 2147483647, or 0 with TIDEGATE_CONCURRENCY_LIMIT_ZERO. */
    uint64_t limit;
    /** The clock that timeouts and hold times are measured on; NULL for the monotonic one. */
    const tidegate_clock *clock;
    /**
     * How many may wait at once: 1 to TIDEGATE_MAX_WAITERS; 0 for as many, or, with TIDEGATE_CONCURRENCY_NO_WAITERS, for
     * none.
     */
    uint64_t max_waiters;
    /** All 0. */
    uint64_t reserved[4];
} tidegate_concurrency_limiter_options;

/**
 * Permits that are held. 32 bytes, and never more. Belongs to the caller, who keeps it until the release and may move it
 * to another thread. since 1
 */
typedef struct tidegate_permit {
    /** The limiter that lent the permits; 0 if none did. */
    uint64_t limiter_id;
    /** How many permits are held; 0 once they are released, or if none were granted. */
    uint64_t permits;
    /** When, on the limiter's clock; 0 unless hold times are tracked. */
    uint64_t acquired_at_ns;
    /** In which process, counted by the forks that lie behind it: 0 where there are none. */
    uint64_t process;
} tidegate_permit;

/**
 * Makes a concurrency limiter, with no permit out.
 *
 * The caller owns `*limiter_out` and gives it up with tidegate_concurrency_limiter_free().
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if an option is not acceptable; TIDEGATE_ERROR_STRUCT_SIZE.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_new(const struct tidegate_concurrency_limiter_options *options,
                                         tidegate_concurrency_limiter **limiter_out,
                                         char *error,
                                         size_t error_size);

/**
 * Takes `permits` permits if all can be had now.
 *
 * If allowed, `*permit_out` holds them until they are released by tidegate_concurrency_limiter_release(). If refused, it
 * is written too, as a permit that holds nothing. Permits of a limiter that is freed are gone with it.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_DENIED, always so while the limit is 0 or anybody waits; TIDEGATE_EXCEEDS_CAPACITY if
 * `permits` is more than the limit; TIDEGATE_CLOSED; TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_try_acquire(const tidegate_concurrency_limiter *limiter,
                                                 uint64_t permits,
                                                 struct tidegate_permit *permit_out);

/**
 * Gives permits back, on any thread. `ok` is for the statistics: 0 if the work failed, else any other number.
 *
 * Consumes the permit by setting its `permits` to 0: a second release is an error. Of several threads that release one
 * and the same struct, one succeeds. A copy that was made before the release is told apart only where more permits would
 * come back than are out.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_PERMIT if the permit holds nothing, is of another limiter, or more would come back
 * than are out; TIDEGATE_ERROR_FORKED if it was taken before a fork, by the parent.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_release(const tidegate_concurrency_limiter *limiter,
                                             struct tidegate_permit *permit,
                                             int32_t ok);

/**
 * Changes the limit while in use, from 0 to 2147483647. Permits that are out stay out: after lowering, none is lent until
 * enough came back.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_set_limit(const tidegate_concurrency_limiter *limiter,
                                               uint64_t limit);

/**
 * How many permits may be out at once. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_limit(const tidegate_concurrency_limiter *limiter,
                                           uint64_t *limit_out);

/**
 * How many permits are out. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_in_flight(const tidegate_concurrency_limiter *limiter,
                                               uint64_t *in_flight_out);

/**
 * How many permits could be taken now; 0 while anybody waits, or more are out than a lowered limit, or it is closed.
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_available(const tidegate_concurrency_limiter *limiter,
                                               uint64_t *available_out);

/**
 * Adds an owner, who also must free the limiter, and returns the limiter; NULL for NULL.
 *
 * since 1
 */
tidegate_concurrency_limiter *tidegate_concurrency_limiter_ref(const tidegate_concurrency_limiter *limiter);

/**
 * Takes an owner away; the limiter goes with the last one. NULL is fine.
 *
 * since 1
 */
void tidegate_concurrency_limiter_free(tidegate_concurrency_limiter *limiter);


/*
 * Waiting
 * =======
 *
 * What is not there now can be waited for: until it is, or for at most a timeout.
 *
 *     tidegate_permit permit;
 *     int32_t status = tidegate_concurrency_limiter_acquire(limiter, 1, 250000000, &permit);
 *     if (status == TIDEGATE_ALLOWED) {
 *         int32_t ok = work();
 *         tidegate_concurrency_limiter_release(limiter, &permit, ok);
 *     } else if (status == TIDEGATE_TIMED_OUT) {
 *         puts("no permit in 250 ms");
 *     }
 *
 * - Whoever waits first goes first, whatever it asks for, and nobody is overtaken: while anybody waits, `try_acquire` and
 *   `decide` refuse.
 * - A timeout is in nanoseconds on the limiter's clock: 0 tries once, TIDEGATE_NEVER_NS is none. A rate limiter knows how
 *   long a wait takes: one that would outlast its timeout is refused at once, as TIDEGATE_TIMED_OUT. It charges when the
 *   tokens are due, not before.
 * - A limit of 0 is a pause. When a limit becomes smaller than what somebody waits for, that wait ends as
 *   TIDEGATE_EXCEEDS_CAPACITY.
 * - How many may wait is up to `max_waiters` of the options; who comes then is refused as TIDEGATE_QUEUE_FULL.
 * - The statistics tell how many wait, are out, timed out and were cancelled. A wait that ends with a grant counts as
 *   allowed.
 * - In the child of a fork nobody waits, and no permit is out: those of the parent are the parent's, and to release one is
 *   TIDEGATE_ERROR_FORKED. All functions work there at once, whatever other threads were about in the parent.
 *
 * The functions here keep the calling thread until the wait is over; those of "Waiting without a thread" do not.
 */

/** The largest max_waiters, and the default. since 1 */
#define TIDEGATE_MAX_WAITERS 4294967294

/**
 * Takes `cost` tokens, all at once, and waits for them for at most `timeout_ns`, on this thread. On a manual clock that is
 * until another thread has moved it.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL; TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_acquire(const tidegate_rate_limiter *limiter,
                                      uint64_t cost,
                                      uint64_t timeout_ns);

/**
 * Takes `permits` permits, all at once, and waits for them for at most `timeout_ns`, on this thread.
 *
 * If allowed, `*permit_out` holds them until they are released by tidegate_concurrency_limiter_release(). If refused, it
 * is written too, as a permit that holds nothing.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL; TIDEGATE_CLOSED;
 * TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_acquire(const tidegate_concurrency_limiter *limiter,
                                             uint64_t permits,
                                             uint64_t timeout_ns,
                                             tidegate_permit *permit_out);

/**
 * How many callers wait. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_waiting(const tidegate_rate_limiter *limiter, uint64_t *waiting_out);

/**
 * How many callers wait. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_waiting(const tidegate_concurrency_limiter *limiter,
                                             uint64_t *waiting_out);

/**
 * Lends nothing any more: who waits and who comes is refused as TIDEGATE_CLOSED, for ever. Permits that are out can be
 * given back. Nothing happens if it is closed already.
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_close(const tidegate_concurrency_limiter *limiter);


/*
 * Waiting without a thread
 * ========================
 *
 * For event loops and the runtimes of other languages: a call takes at once, or gives a ticket and calls back later.
 *
 *     void granted(void *user_data, int32_t status, const tidegate_permit *permit) {
 *         struct request *request = user_data;
 *         if (status == TIDEGATE_POLL_AGAIN) {
 *             loop_call_soon(poll_request, request);
 *         } else if (status == TIDEGATE_ALLOWED) {
 *             request->permit = *permit;
 *             loop_call_soon(run_request, request);
 *         } else {
 *             loop_call_soon(fail_request, request);
 *         }
 *     }
 *
 *     int32_t status = tidegate_concurrency_limiter_acquire_async(
 *         limiter, 1, timeout_ns, granted, request, &request->permit, &request->ticket, &wake_after_ns);
 *     if (status == TIDEGATE_ALLOWED) {
 *         run_request(request);
 *     } else if (status != TIDEGATE_PENDING) {
 *         fail_request(request);
 *     } else if (wake_after_ns != TIDEGATE_NEVER_NS) {
 *         loop_call_later(wake_after_ns, poll_request, request);
 *     }
 *
 * The library has no threads and no timers. So the host polls a wait by its ticket after `wake_after_ns`, which the poll
 * tells anew: only waits with a timeout, and of a rate limiter the one that is first in line, need that at all. All behind
 * that one wait for its poll, too. On a manual clock no wait needs one.
 *
 * Callbacks:
 *
 * - One runs on the thread whose call brings it about: a release, a poll, a cancel, a close, a clock that is moved. The
 *   library holds no lock then, so it may call any function but those that keep its thread waiting. It is never run
 *   within another on the same thread: what a callback brings about for others is told once it has returned, before the
 *   call that it was run by returns. So the stack does not grow, however long such a chain is. The calls for one wait come
 *   one after the other, from whichever threads.
 * - It is run only after TIDEGATE_PENDING, and exactly once with a status other than TIDEGATE_POLL_AGAIN. That call is the
 *   last use of its `user_data`. It may come before the function that began the wait returns, but all outputs are
 *   written by then.
 * - It must neither throw nor jump out. The limiter must have an owner until the call that it is run by returns.
 * - Who cancels may be too late: then the callback has, or is about to get, what was granted. Permits are released then,
 *   and tokens given back by tidegate_rate_limiter_refund() if the wait was begun as a refundable one.
 * - When the last owner frees a limiter, those who still wait are told TIDEGATE_CLOSED within that call. In the child of
 *   a fork the waits of the parent do not exist, and nobody is called back for them.
 */

/**
 * What is called for a wait: with TIDEGATE_POLL_AGAIN if it may be due sooner than was said; at last with what became of
 * it, TIDEGATE_ALLOWED, TIDEGATE_TIMED_OUT, TIDEGATE_CANCELLED, TIDEGATE_EXCEEDS_CAPACITY or TIDEGATE_CLOSED. `permit` is to be
 * copied, and then held as after tidegate_concurrency_limiter_acquire(); NULL unless a concurrency limiter allowed. since 1
 */
typedef void (*tidegate_wait_callback)(void *user_data,
                                       int32_t status,
                                       const tidegate_permit *permit);

/**
 * tidegate_wait_callback for tokens that may be given back, with keys or without. `decision` is to be copied, for the
 * limiter's `_refund`; its figures are all 0. NULL unless the tokens were granted. since 1
 */
typedef void (*tidegate_refundable_callback)(void *user_data,
                                             int32_t status,
                                             const tidegate_decision *decision);

/**
 * Takes `cost` tokens, or begins to wait for them for at most `timeout_ns`.
 *
 * If pending, the wait has the ticket `*ticket_out` and is to be polled after `*wake_after_ns_out`, unless that is
 * TIDEGATE_NEVER_NS; `callback` is called with `user_data`. Else it is not, and they are written as 0 and
 * TIDEGATE_NEVER_NS.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_PENDING; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL;
 * TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_acquire_async(const tidegate_rate_limiter *limiter,
                                            uint64_t cost,
                                            uint64_t timeout_ns,
                                            tidegate_wait_callback callback,
                                            void *user_data,
                                            uint64_t *ticket_out,
                                            uint64_t *wake_after_ns_out);

/**
 * tidegate_rate_limiter_acquire_async() for who may find, once the tokens are granted, that nobody wants them any more:
 * `callback` gets what tidegate_rate_limiter_refund() takes. What is taken at once comes without.
 *
 * Returns as tidegate_rate_limiter_acquire_async().
 *
 * since 1
 */
int32_t tidegate_rate_limiter_acquire_refundable_async(const tidegate_rate_limiter *limiter,
                                                       uint64_t cost,
                                                       uint64_t timeout_ns,
                                                       tidegate_refundable_callback callback,
                                                       void *user_data,
                                                       uint64_t *ticket_out,
                                                       uint64_t *wake_after_ns_out);

/**
 * Takes `permits` permits, or begins to wait for them for at most `timeout_ns`.
 *
 * If allowed, `*permit_out` holds them; else it is written as a permit that holds nothing. If pending, the wait has the
 * ticket `*ticket_out` and is to be polled after `*wake_after_ns_out`, unless that is TIDEGATE_NEVER_NS; `callback` is
 * called with `user_data`. Else it is not, and they are written as 0 and TIDEGATE_NEVER_NS.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_PENDING; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL;
 * TIDEGATE_CLOSED; TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_acquire_async(const tidegate_concurrency_limiter *limiter,
                                                   uint64_t permits,
                                                   uint64_t timeout_ns,
                                                   tidegate_wait_callback callback,
                                                   void *user_data,
                                                   tidegate_permit *permit_out,
                                                   uint64_t *ticket_out,
                                                   uint64_t *wake_after_ns_out);

/**
 * Looks at a wait for tokens. If it is due or out of time by now, that ends it, and calls its callback as for a cancel.
 *
 * `*wake_after_ns_out` receives after how long to poll again; TIDEGATE_NEVER_NS if not at all, as when it is over.
 *
 * Returns TIDEGATE_OK if it is over; TIDEGATE_PENDING; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_poll(const tidegate_rate_limiter *limiter,
                                   uint64_t ticket,
                                   uint64_t *wake_after_ns_out);

/**
 * Looks at a wait for permits. If it is due or out of time by now, that ends it, and calls its callback as for a cancel.
 *
 * `*wake_after_ns_out` receives after how long to poll again; TIDEGATE_NEVER_NS if not at all, as when it is over.
 *
 * Returns TIDEGATE_OK if it is over; TIDEGATE_PENDING; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_poll(const tidegate_concurrency_limiter *limiter,
                                          uint64_t ticket,
                                          uint64_t *wake_after_ns_out);

/**
 * Ends a wait for tokens. If it was not over, its callback is called with TIDEGATE_CANCELLED before this returns, or, if
 * this is called from within a callback, once that has returned.
 *
 * Returns TIDEGATE_OK; TIDEGATE_TOO_LATE if it was over: its callback was called, or is being called on another thread;
 * TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_cancel(const tidegate_rate_limiter *limiter,
                                     uint64_t ticket);

/**
 * Ends a wait for permits. If it was not over, its callback is called with TIDEGATE_CANCELLED before this returns, or, if
 * this is called from within a callback, once that has returned. Permits that were granted first are told to the callback,
 * and are to be released.
 *
 * Returns TIDEGATE_OK; TIDEGATE_TOO_LATE if it was over: its callback was called, or is being called on another thread;
 * TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_cancel(const tidegate_concurrency_limiter *limiter,
                                            uint64_t ticket);


/*
 * Reservations
 * ============
 *
 * Waiting for callers with a scheduler of their own: tokens are charged now and may be used from a fixed time on, which
 * nothing that others do moves.
 *
 *     tidegate_reservation reservation;
 *     if (tidegate_rate_limiter_reserve(limiter, 1, 1000000000, &reservation) == TIDEGATE_ALLOWED) {
 *         send_after(reservation.wait_ns);
 *     }
 *
 * For rate limiters of one quota with gcra. Keys: see "Waiting with keys".
 */

/**
 * Tokens that are charged already. 96 bytes, and never more. Belongs to the caller, who may drop it at will: the tokens
 * stay charged. since 1
 */
typedef struct tidegate_reservation {
    /** The limiter that gave it; 0 if none did. */
    uint64_t limiter_id;
    /** How many tokens; 0 once it was cancelled, or if none were granted. */
    uint64_t cost;
    /** From when on they may be used, on the limiter's clock. */
    uint64_t due_ns;
    /** How long that was from when they were reserved; 0 if they may be used at once. */
    uint64_t wait_ns;
    /** For tidegate_rate_limiter_cancel_reservation(): what was used before. */
    uint64_t before;
    /** For tidegate_rate_limiter_cancel_reservation(): what was used after. */
    uint64_t after;
    /** For tidegate_rate_limiter_cancel_reservation(): how often the limiter had been reset by then. */
    uint64_t reset_count;
    /** For tidegate_keyed_rate_limiter_cancel_reservation(): which key, as that limiter knows it; else 0. */
    uint64_t key_hash;
    /** All 0. */
    uint64_t reserved[4];
} tidegate_reservation;

/**
 * Charges `cost` tokens now, to be used once they are due, if that is in at most `max_wait_ns`; TIDEGATE_NEVER_NS is as
 * long as it takes.
 *
 * If refused, nothing is charged, and `*reservation_out` is written as one of nothing.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_TIMED_OUT if they would be due later, or somebody waits; TIDEGATE_EXCEEDS_CAPACITY;
 * TIDEGATE_ERROR_COST; TIDEGATE_ERROR_UNSUPPORTED if the limiter has several quotas, or one without gcra.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_reserve(const tidegate_rate_limiter *limiter,
                                      uint64_t cost,
                                      uint64_t max_wait_ns,
                                      struct tidegate_reservation *reservation_out);

/**
 * Gives a reservation back. Its tokens are credited only if they are not due yet and nobody reserved after it: else they
 * would come to others sooner than the bound allows.
 *
 * Consumes the reservation by setting its `cost` to 0, credited or not: a second time is an error. Of several threads that
 * cancel one and the same struct, one succeeds.
 *
 * Returns TIDEGATE_OK if they were credited; TIDEGATE_TOO_LATE if not; TIDEGATE_ERROR_DECISION if the reservation is of
 * nothing, was cancelled before, or is of another limiter.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_cancel_reservation(const tidegate_rate_limiter *limiter,
                                                 struct tidegate_reservation *reservation);


/*
 * Quotas
 * ======
 *
 * Quotas as structs, for programs that compute them. Algorithms, and what they bound (L tokens per period P, burst B):
 *
 * - gcra: a token bucket that holds B and refills evenly. At most B + t * L / P in every interval of length t.
 * - fixed_window: at most L in each window. Up to 2 * L in some interval of length P, astride of two windows.
 * - sliding_window: two counters, the last window's weighed by how much of it still counts. At most L * (1 + t / P) in
 *   any t up to P. Under steady overload it grants about (L - 1) / P: for a small L choose gcra or the log.
 * - sliding_log: at most L in every interval of length P, exactly. Remembers each grant, in 16 bytes: L up to
 *   2^24.
 */

/** The default: gcra. since 1 */
#define TIDEGATE_ALGORITHM_DEFAULT 0

/** Token bucket (the generic cell rate algorithm of ITU-T I.371). since 1 */
#define TIDEGATE_ALGORITHM_GCRA 1

/** One counter for each window. since 1 */
#define TIDEGATE_ALGORITHM_FIXED_WINDOW 2

/** Two weighed counters. since 1 */
#define TIDEGATE_ALGORITHM_SLIDING_WINDOW 3

/** Every grant is remembered. since 1 */
#define TIDEGATE_ALGORITHM_SLIDING_LOG 4

/** The default: first. since 1 */
#define TIDEGATE_ANCHOR_DEFAULT 0

/** A fixed window begins with the first call that is allowed after the last window ended. since 1 */
#define TIDEGATE_ANCHOR_FIRST 1

/** Fixed windows begin at whole multiples of the period since the Unix epoch. since 1 */
#define TIDEGATE_ANCHOR_CLOCK 2

/** Flag of tidegate_quota: a limit of 0 is meant, and refuses everything. since 1 */
#define TIDEGATE_QUOTA_LIMIT_ZERO 1

/** The most quotas that a limiter may have. since 1 */
#define TIDEGATE_MAX_QUOTAS 16

/** Bytes that hold the text of any one quota, with its NUL. since 1 */
#define TIDEGATE_QUOTA_TEXT_SIZE 128

/** What a rate limiter enforces. 64 bytes. since 1 */
typedef struct tidegate_quota {
    /** sizeof(tidegate_quota). In an array each element says the same. */
    uint32_t struct_size;
    /** 0 or TIDEGATE_QUOTA_LIMIT_ZERO. */
    uint32_t flags;
    /** Tokens per period: 1 to TIDEGATE_MAX_COST, or 0 with TIDEGATE_QUOTA_LIMIT_ZERO. */
    uint64_t limit;
    /** The period: 1 ns to 2 years of 365 days. */
    uint64_t period_ns;
    /** The most tokens that may be spent at once: 1 to TIDEGATE_MAX_COST, and only with gcra; 0 for as many as limit. */
    uint64_t burst;
    /** One of TIDEGATE_ALGORITHM_*. */
    uint32_t algorithm;
    /** One of TIDEGATE_ANCHOR_*; TIDEGATE_ANCHOR_CLOCK only with fixed windows. */
    uint32_t anchor;
    /** All 0. */
    uint64_t reserved[3];
} tidegate_quota;

/**
 * Reads a text of one or more quotas, as in "Rate limiters".
 *
 * `quotas_out` is an array of `capacity` elements; TIDEGATE_MAX_QUOTAS are always enough. Its elements need no
 * preparation: they are written in the layout of ABI 1, with their struct_size, and the rest stays as it is.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text is not acceptable or the array too short.
 *
 * since 1
 */
int32_t tidegate_quota_parse(const char *text,
                             size_t length,
                             struct tidegate_quota *quotas_out,
                             size_t capacity,
                             size_t *count_out,
                             char *error,
                             size_t error_size);

/**
 * Writes a quota's text in its shortest usual form, such as "100/s burst 20", ended by a NUL.
 *
 * `text_out` is a buffer of `text_size` bytes; TIDEGATE_QUOTA_TEXT_SIZE are always enough. `length_out` receives the length
 * without the NUL.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the quota is not acceptable or the buffer too small;
 * TIDEGATE_ERROR_STRUCT_SIZE.
 *
 * since 1
 */
int32_t tidegate_quota_format(const struct tidegate_quota *quota,
                              char *text_out,
                              size_t text_size,
                              size_t *length_out);

/**
 * Makes a rate limiter from `count` quotas, all of which must admit, with nothing used. Else as
 * tidegate_rate_limiter_parse().
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if a quota, the count or an option is not acceptable;
 * TIDEGATE_ERROR_STRUCT_SIZE.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_new(const struct tidegate_quota *quotas,
                                  size_t count,
                                  const tidegate_rate_limiter_options *options,
                                  tidegate_rate_limiter **limiter_out,
                                  char *error,
                                  size_t error_size);

/**
 * tidegate_rate_limiter_reconfigure_text() for quotas in structs.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if a quota or the count is not acceptable or changes what must stay;
 * TIDEGATE_ERROR_STRUCT_SIZE.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_reconfigure(const tidegate_rate_limiter *limiter,
                                          const struct tidegate_quota *quotas,
                                          size_t count,
                                          char *error,
                                          size_t error_size);

/**
 * The quotas that a limiter enforces now, in the order of its list; the array is as in tidegate_quota_parse().
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the array is too short.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_quotas(const tidegate_rate_limiter *limiter,
                                     struct tidegate_quota *quotas_out,
                                     size_t capacity,
                                     size_t *count_out);


/*
 * Statistics
 * ==========
 */

/**
 * What a limiter has done since it was made, and how it stands. 256 bytes, and never more. Counts are of calls, not of
 * tokens or permits. What does not apply is 0. since 1
 */
typedef struct tidegate_stats {
    /** Calls that were allowed, at once or after a wait. */
    uint64_t allowed;
    /** Calls that were refused. */
    uint64_t denied;
    /** Waits that outlasted their timeout, or would have, and so did not begin. */
    uint64_t timed_out;
    /** Waits that were cancelled. */
    uint64_t cancelled;
    /** The limit now (concurrency limiters). */
    uint64_t limit;
    /** Permits out now (concurrency limiters). */
    uint64_t in_flight;
    /** Permits that could be taken now (concurrency limiters). */
    uint64_t available;
    /** Callers that wait now. */
    uint64_t waiting;
    /** Keys that were forgotten for new ones though they owed something (keyed rate limiters). */
    uint64_t evicted_live;
    /** Releases with ok (concurrency limiters). */
    uint64_t released_ok;
    /** Releases without ok (concurrency limiters). */
    uint64_t released_failed;
    /** How long permits were held in total; only with TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME. */
    uint64_t hold_time_total_ns;
    /** How long the longest-held permit was held; only with TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME. */
    uint64_t hold_time_max_ns;
    /**
     * Keys that owe something, or have permits out, now (keyed limiters). Of keyed rate limiters about: exact up to a
     * max_keys of some 6,000, else from a sample.
     */
    uint64_t live_keys;
    /** For how many such keys there is room (keyed limiters). */
    uint64_t capacity;
    /** All 0. */
    uint64_t reserved[17];
} tidegate_stats;

/**
 * Statistics of a rate limiter. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_rate_limiter_stats(const tidegate_rate_limiter *limiter,
                                    struct tidegate_stats *stats_out);

/**
 * Statistics of a concurrency limiter. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_concurrency_limiter_stats(const tidegate_concurrency_limiter *limiter,
                                           struct tidegate_stats *stats_out);


/*
 * Keys
 * ====
 *
 * Keyed limiters keep a budget for each key. A key is any bytes: an address, a user, a path; a pointer and a size,
 * read only during the call. NULL with a size of 0 is the empty key, which is a key like any other.
 *
 * Keys are not stored: a table of fixed size holds a tag of each one's hash, 40 bytes for each key of `max_keys` in all,
 * whatever the keys are. A key that owes nothing takes no room. Two keys are taken for one by chance, at most once in
 * 10^11 look-ups of a key that is not there (gcra, permits: 10^15).
 *
 * One key of several parts, such as a user and a path, wants tidegate_key_of(): put one behind the other, "a" and "bc"
 * would be "ab" and "c".
 */

/** How many keys have room unless asked otherwise. since 1 */
#define TIDEGATE_DEFAULT_MAX_KEYS 100000

/** The largest max_keys: 2^32. since 1 */
#define TIDEGATE_MAX_KEYS 4294967296

/** The largest key that tidegate_ip_key() makes, in bytes. since 1 */
#define TIDEGATE_IP_KEY_SIZE 16

/** The prefix for tidegate_ip_key() that means 32 for IPv4 and 64 for IPv6. since 1 */
#define TIDEGATE_DEFAULT_PREFIX -1

/** A key, or a part of one, where several are told at once. 16 bytes, and never more. since 1 */
typedef struct tidegate_key {
    /** Its bytes; NULL only with a size of 0. */
    const void *data;
    /** How many bytes; any number. */
    size_t size;
} tidegate_key;

/**
 * Makes one key of several parts, such that other parts never make the same key: each part is preceded by its size, in
 * eight bytes, the least significant first. The key's size is thus 8 times `count` and the sizes of all parts.
 *
 * `out` is a buffer of `out_size` bytes; `*size_out` receives the size of the key. With NULL for `out` and 0 for
 * `out_size` only the size is told.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY if a part is NULL though its size is not 0; TIDEGATE_ERROR_OPTION if the
 * buffer is too small.
 *
 * since 1
 */
int32_t tidegate_key_of(const struct tidegate_key *parts,
                        size_t count,
                        void *out,
                        size_t out_size,
                        size_t *size_out);

/**
 * Makes the key of a network address, from its text: the address with all bits behind the prefix zero, as bytes in
 * network order, four or sixteen.
 *
 * An IPv4 address that is written as IPv6 ("::ffff:203.0.113.7") is the IPv4 address. With TIDEGATE_DEFAULT_PREFIX IPv4
 * counts whole, and IPv6 by its first 64 bits, since whoever has one address of a /64 has them all.
 *
 * `out` is a buffer of TIDEGATE_IP_KEY_SIZE bytes; `*size_out` receives the size of the key.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text is no address, or the prefix is longer than the address: over
 * 32 for IPv4, over 128 for IPv6.
 *
 * since 1
 */
int32_t tidegate_ip_key(const char *address,
                        size_t length,
                        int32_t prefix,
                        void *out,
                        size_t *size_out,
                        char *error,
                        size_t error_size);


/*
 * Keyed rate limiters
 * ===================
 *
 * A rate limiter with a budget for each key, in memory that doesn't grow:
 *
 *     const char *client = "203.0.113.7";
 *     tidegate_keyed_rate_limiter *limiter;
 *     tidegate_keyed_rate_limiter_parse("5/s", 3, NULL, &limiter, NULL, 0);
 *     if (tidegate_keyed_rate_limiter_try_acquire(limiter, client, strlen(client), 1) == TIDEGATE_ALLOWED) {
 *         puts("go ahead");
 *     }
 *
 * If more keys than there is room for owe something at once, `when_full` says what happens to a new one. Evicting
 * forgets the key that owes the smallest share of its quota. With a limit or burst of 1 every key owes as much, and in
 * a flood of keys that use up their bursts at once nearly so: there TIDEGATE_WHEN_FULL_DENY_NEW is the safe choice.
 *
 * Quotas are those of rate limiters but for sliding_log, which has no fixed size.
 */

/** The default: evict. since 1 */
#define TIDEGATE_WHEN_FULL_DEFAULT 0

/** Forget the key that owes the smallest share of its quota; it starts afresh when it comes again. since 1 */
#define TIDEGATE_WHEN_FULL_EVICT 1

/** Refuse the new key with TIDEGATE_KEYS_FULL. since 1 */
#define TIDEGATE_WHEN_FULL_DENY_NEW 2

/** How to make a keyed rate limiter. 64 bytes. since 1 */
typedef struct tidegate_keyed_rate_limiter_options {
    /** sizeof(tidegate_keyed_rate_limiter_options). */
    uint32_t struct_size;
    /** 0 or TIDEGATE_RATE_NO_WAITERS. */
    uint32_t flags;
    /**
     * For how many keys that owe something at once there is room: 1 to TIDEGATE_MAX_KEYS; 0 for
     * TIDEGATE_DEFAULT_MAX_KEYS. Takes 40 bytes for each, and as much for each quota.
     */
    uint64_t max_keys;
    /** What happens to a new key that finds no room: TIDEGATE_WHEN_FULL_*. */
    uint32_t when_full;
    /**
     * How many keys to count refusals of, see "Keys refused most": 0 for none, to TIDEGATE_MAX_TRACK_DENIED. Takes up to
     * some 350 bytes for each.
     */
    uint32_t track_denied;
    /** The clock to go by; NULL for the monotonic one. */
    const tidegate_clock *clock;
    /**
     * Memory for the table of keys, at an address that is a multiple of 64; NULL for memory of the library's own. What is
     * in it is overwritten. The limiter alone uses it until it is gone with its last owner.
     */
    void *region;
    /** Its size: at least what tidegate_keyed_rate_limiter_region_size() says; 0 with NULL. */
    size_t region_size;
    /**
     * How many may wait for one key at once: 1 to TIDEGATE_MAX_WAITERS; 0 for as many, or, with TIDEGATE_RATE_NO_WAITERS,
     * for none.
     */
    uint64_t max_waiters;
    /** All 0. */
    uint64_t reserved[1];
} tidegate_keyed_rate_limiter_options;

/**
 * How large a `region` must be for `max_keys` keys, 0 for TIDEGATE_DEFAULT_MAX_KEYS, and `count` quotas.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_region_size(uint64_t max_keys,
                                                size_t count,
                                                size_t *size_out);

/**
 * Makes a keyed rate limiter from `count` quotas, all of which must admit, with nothing used. Else as
 * tidegate_keyed_rate_limiter_parse().
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if a quota, the count or an option is not acceptable;
 * TIDEGATE_ERROR_STRUCT_SIZE; TIDEGATE_ERROR_MEMORY also if there is not enough for max_keys, or the region is too small or
 * not aligned.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_new(const tidegate_quota *quotas,
                                        size_t count,
                                        const struct tidegate_keyed_rate_limiter_options *options,
                                        tidegate_keyed_rate_limiter **limiter_out,
                                        char *error,
                                        size_t error_size);

/**
 * Makes a keyed rate limiter from the text of its quotas, as in "Rate limiters", with nothing used by any key.
 *
 * `options` may be NULL for the defaults. The caller owns `*limiter_out` and gives it up with
 * tidegate_keyed_rate_limiter_free().
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text or an option is not acceptable, or a quota does not fit
 * beside a key; TIDEGATE_ERROR_STRUCT_SIZE; TIDEGATE_ERROR_MEMORY also if there is not enough for max_keys, or the region
 * is too small or not aligned.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_parse(const char *text,
                                          size_t length,
                                          const struct tidegate_keyed_rate_limiter_options *options,
                                          tidegate_keyed_rate_limiter **limiter_out,
                                          char *error,
                                          size_t error_size);

/**
 * Takes `cost` tokens of a key if all can be had now, and nobody waits for it. This is the fast way: it tells no figures.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_DENIED; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_KEYS_FULL; TIDEGATE_ERROR_KEY;
 * TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_try_acquire(const tidegate_keyed_rate_limiter *limiter,
                                                const void *key,
                                                size_t key_size,
                                                uint64_t cost);

/**
 * tidegate_keyed_rate_limiter_try_acquire() for `count` keys, one after the other, in one call: faster than one by
 * one. A key may occur more than once.
 *
 * `statuses_out` is an array of `count` elements, which receives what each call would have returned. Both arrays may
 * be NULL if `count` is 0.
 *
 * Returns TIDEGATE_OK, also where keys were refused; TIDEGATE_ERROR_KEY if any key is NULL though its size is not 0, and
 * TIDEGATE_ERROR_COST: nothing is taken then from any key.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_try_acquire_many(const tidegate_keyed_rate_limiter *limiter,
                                                     const tidegate_key *keys,
                                                     size_t count,
                                                     uint64_t cost,
                                                     int32_t *statuses_out);

/**
 * Makes everything of a key unspent again. Its decisions from before can no longer be refunded to any effect.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_reset(const tidegate_keyed_rate_limiter *limiter,
                                          const void *key,
                                          size_t key_size);

/**
 * tidegate_keyed_rate_limiter_reconfigure_text() for quotas in structs.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if a quota or the count is not acceptable or changes what must stay;
 * TIDEGATE_ERROR_STRUCT_SIZE.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_reconfigure(const tidegate_keyed_rate_limiter *limiter,
                                                const tidegate_quota *quotas,
                                                size_t count,
                                                char *error,
                                                size_t error_size);

/**
 * tidegate_rate_limiter_reconfigure_text() for all keys. Takes time in proportion to max_keys, in which new keys wait.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text is not acceptable or changes what must stay.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_reconfigure_text(const tidegate_keyed_rate_limiter *limiter,
                                                     const char *text,
                                                     size_t length,
                                                     char *error,
                                                     size_t error_size);

/**
 * The quotas that a limiter enforces now for each key, in the order of its list; the array is as in
 * tidegate_quota_parse().
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the array is too short.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_quotas(const tidegate_keyed_rate_limiter *limiter,
                                           tidegate_quota *quotas_out,
                                           size_t capacity,
                                           size_t *count_out);

/**
 * Statistics of a keyed rate limiter, over all keys. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_stats(const tidegate_keyed_rate_limiter *limiter,
                                          tidegate_stats *stats_out);

/**
 * About how many keys owe something now: exact up to a max_keys of some 6,000, else from a sample. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_len(const tidegate_keyed_rate_limiter *limiter,
                                        uint64_t *len_out);

/**
 * For how many keys that owe something at once there is room: max_keys. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_capacity(const tidegate_keyed_rate_limiter *limiter,
                                             uint64_t *capacity_out);

/**
 * Adds an owner, who also must free the limiter, and returns the limiter; NULL for NULL.
 *
 * since 1
 */
tidegate_keyed_rate_limiter *tidegate_keyed_rate_limiter_ref(const tidegate_keyed_rate_limiter *limiter);

/**
 * Takes an owner away; the limiter goes with the last one. NULL is fine.
 *
 * since 1
 */
void tidegate_keyed_rate_limiter_free(tidegate_keyed_rate_limiter *limiter);


/*
 * Keyed decisions
 * ===============
 *
 * Decisions of keyed rate limiters, with their figures: those of the key.
 */

/**
 * Takes `cost` tokens of a key if all can be had now, and tells the figures, as tidegate_rate_limiter_decide() does.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_DENIED; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_KEYS_FULL, each also in
 * `decision_out->status`; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_decide(const tidegate_keyed_rate_limiter *limiter,
                                           const void *key,
                                           size_t key_size,
                                           uint64_t cost,
                                           tidegate_decision *decision_out);

/**
 * What tidegate_keyed_rate_limiter_decide() would answer now, spending nothing; `remaining` is what is unspent.
 *
 * Returns as tidegate_keyed_rate_limiter_decide().
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_peek(const tidegate_keyed_rate_limiter *limiter,
                                         const void *key,
                                         size_t key_size,
                                         uint64_t cost,
                                         tidegate_decision *decision_out);

/**
 * Gives back to a key what a decision took from it, as tidegate_rate_limiter_refund() does. Without effect once the
 * key was evicted or reset; each eviction or reset also voids the grants of one in 256 other keys.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_DECISION if the decision granted nothing, was refunded before, or is of another
 * limiter or key; TIDEGATE_ERROR_KEY.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_refund(const tidegate_keyed_rate_limiter *limiter,
                                           const void *key,
                                           size_t key_size,
                                           tidegate_decision *decision);


/*
 * Quotas of single keys
 * =====================
 *
 * A key of a keyed rate limiter may have quotas of its own in place of the limiter's: tenants that pay for more, say.
 *
 *     tidegate_keyed_rate_limiter_set_quota_text(limiter, "ann", 3, "100/s", 5, NULL, 0);
 *
 * Such a key keeps a place of its own until tidegate_keyed_rate_limiter_clear_quota(), about 1 KB for each quota: it
 * is never evicted nor refused with TIDEGATE_KEYS_FULL. Other keys pay nothing for that.
 */

/** The most keys of a limiter that may have quotas of their own. since 1 */
#define TIDEGATE_MAX_KEY_QUOTAS 65536

/**
 * Gives a key quotas of its own, from the next call on. What is used stays used, at most the new burst; decisions of the
 * key from before can no longer be refunded to any effect. Nothing happens if the key has these quotas.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_OPTION if a quota is not acceptable, if their number, an
 * algorithm or an anchor is not as the limiter's, or if TIDEGATE_MAX_KEY_QUOTAS keys have some; TIDEGATE_ERROR_STRUCT_SIZE.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_set_quota(const tidegate_keyed_rate_limiter *limiter,
                                              const void *key,
                                              size_t key_size,
                                              const tidegate_quota *quotas,
                                              size_t count,
                                              char *error,
                                              size_t error_size);

/**
 * tidegate_keyed_rate_limiter_set_quota() from text.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_OPTION.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_set_quota_text(const tidegate_keyed_rate_limiter *limiter,
                                                   const void *key,
                                                   size_t key_size,
                                                   const char *text,
                                                   size_t length,
                                                   char *error,
                                                   size_t error_size);

/**
 * Gives a key the limiter's quotas again. What is used stays used, at most the limiter's burst; decisions of the key from
 * before can no longer be refunded to any effect. Nothing happens if the key has no quotas of its own.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_clear_quota(const tidegate_keyed_rate_limiter *limiter,
                                                const void *key,
                                                size_t key_size);


/*
 * Keys refused most
 * =================
 *
 * A keyed rate limiter that was made with `track_denied` counts which keys are refused most, in memory that doesn't grow.
 * While no more keys were refused than are tracked, the counts are exact.
 */

/** How much of a refused key is kept as its name, in bytes. since 1 */
#define TIDEGATE_DENIED_KEY_SIZE 128

/** The largest track_denied. since 1 */
#define TIDEGATE_MAX_TRACK_DENIED 65536

/** A key that was refused often. 152 bytes, and never more. since 1 */
typedef struct tidegate_denied_key {
    /** How often it was refused, at most. */
    uint64_t count;
    /** How much of `count` others may have been refused before it: it was refused at least count - error times. */
    uint64_t error;
    /** How many bytes of `key` are the key's: up to TIDEGATE_DENIED_KEY_SIZE. */
    uint64_t key_size;
    /** The key, or the first bytes of a longer one; no NUL behind it. Keys that begin alike are counted apart. */
    uint8_t key[TIDEGATE_DENIED_KEY_SIZE];
} tidegate_denied_key;

/**
 * The keys that were refused most often, the most refused first (of two with as many refusals, the one that was refused
 * last). `keys_out` is an array of `capacity` elements, NULL only if that is 0; `*count_out` receives how many were written:
 * 0 without `track_denied`. Refusals are what the statistics count as denied.
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_top_denied(const tidegate_keyed_rate_limiter *limiter,
                                               struct tidegate_denied_key *keys_out,
                                               size_t capacity,
                                               size_t *count_out);


/*
 * Keyed concurrency limiters
 * ==========================
 *
 *     tidegate_keyed_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = 4};
 *     tidegate_keyed_concurrency_limiter *limiter;
 *     tidegate_keyed_concurrency_limiter_new(&options, &limiter, NULL, 0);
 *
 *     tidegate_keyed_permit permit;
 *     if (tidegate_keyed_concurrency_limiter_try_acquire(limiter, "/report", 7, 1, &permit) == TIDEGATE_ALLOWED) {
 *         int32_t ok = work();
 *         tidegate_keyed_concurrency_limiter_release(limiter, &permit, ok);
 *     }
 *
 * A key with permits out, or waited for, keeps its place: a new key that finds none is refused with TIDEGATE_KEYS_FULL.
 */

/** How to make a keyed concurrency limiter. 64 bytes. since 1 */
typedef struct tidegate_keyed_concurrency_limiter_options {
    /** sizeof(tidegate_keyed_concurrency_limiter_options). */
    uint32_t struct_size;
    /** Any of TIDEGATE_CONCURRENCY_LIMIT_ZERO, TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME, TIDEGATE_CONCURRENCY_NO_WAITERS. */
    uint32_t flags;
    /** How many permits of each key may be out at once: 1 to 2147483647, or 0 with TIDEGATE_CONCURRENCY_LIMIT_ZERO. */
    uint64_t limit;
    /**
     * For how many keys with permits out, or waited for, there is room: 1 to TIDEGATE_MAX_KEYS; 0 for
     * TIDEGATE_DEFAULT_MAX_KEYS. Takes 40 bytes for each.
     */
    uint64_t max_keys;
    /** The clock that timeouts and hold times are measured on; NULL for the monotonic one. */
    const tidegate_clock *clock;
    /**
     * How many may wait for one key at once: 1 to TIDEGATE_MAX_WAITERS; 0 for as many, or, with
     * TIDEGATE_CONCURRENCY_NO_WAITERS, for none.
     */
    uint64_t max_waiters;
    /** All 0. */
    uint64_t reserved[3];
} tidegate_keyed_concurrency_limiter_options;

/**
 * Permits of a key that are held. 32 bytes, and never more. Belongs to the caller, who keeps it until the release and
 * may move it to another thread. since 1
 */
typedef struct tidegate_keyed_permit {
    /** The limiter that lent the permits; 0 if none did. */
    uint64_t limiter_id;
    /** How many permits are held; 0 once they are released, or if none were granted. */
    uint64_t permits;
    /** Which key, and since when it holds them, as that limiter knows it. */
    uint64_t key_hash[2];
} tidegate_keyed_permit;

/**
 * Makes a keyed concurrency limiter, with no permit out.
 *
 * The caller owns `*limiter_out` and gives it up with tidegate_keyed_concurrency_limiter_free().
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if an option is not acceptable; TIDEGATE_ERROR_STRUCT_SIZE;
 * TIDEGATE_ERROR_MEMORY also if there is not enough for max_keys.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_new(const struct tidegate_keyed_concurrency_limiter_options *options,
                                               tidegate_keyed_concurrency_limiter **limiter_out,
                                               char *error,
                                               size_t error_size);

/**
 * Takes `permits` permits of a key if all can be had now.
 *
 * If allowed, `*permit_out` holds them until they are released by tidegate_keyed_concurrency_limiter_release(). If
 * refused, it is written too, as a permit that holds nothing. Permits of a limiter that is freed are gone with it.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_DENIED, always so while the limit is 0 or anybody waits for the key;
 * TIDEGATE_EXCEEDS_CAPACITY if `permits` is more than the limit; TIDEGATE_KEYS_FULL; TIDEGATE_CLOSED; TIDEGATE_ERROR_KEY;
 * TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_try_acquire(const tidegate_keyed_concurrency_limiter *limiter,
                                                       const void *key,
                                                       size_t key_size,
                                                       uint64_t permits,
                                                       struct tidegate_keyed_permit *permit_out);

/**
 * Gives permits back, on any thread; the permit knows its key. `ok` is for the statistics: 0 if the work failed, else
 * any other number.
 *
 * Consumes the permit by setting its `permits` to 0: a second release is an error. Of several threads that release one
 * and the same struct, one succeeds. A copy that was made before the release is told apart only where more permits of
 * its key would come back than are out.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_PERMIT if the permit holds nothing, is of another limiter, or more would come back
 * than are out.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_release(const tidegate_keyed_concurrency_limiter *limiter,
                                                   struct tidegate_keyed_permit *permit,
                                                   int32_t ok);

/**
 * Changes the limit of all keys while in use, from 0 to 2147483647. Permits that are out stay out. A call that is
 * under way may still go by the limit before.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_set_limit(const tidegate_keyed_concurrency_limiter *limiter,
                                                     uint64_t limit);

/**
 * How many permits of each key may be out at once. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_limit(const tidegate_keyed_concurrency_limiter *limiter,
                                                 uint64_t *limit_out);

/**
 * How many permits of a key are out. Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_in_flight(const tidegate_keyed_concurrency_limiter *limiter,
                                                     const void *key,
                                                     size_t key_size,
                                                     uint64_t *in_flight_out);

/**
 * How many permits of a key could be taken now, if there is room for it; 0 while anybody waits for it, or more are out
 * than a lowered limit, or the limiter is closed.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_available(const tidegate_keyed_concurrency_limiter *limiter,
                                                     const void *key,
                                                     size_t key_size,
                                                     uint64_t *available_out);

/**
 * For how many keys with permits out, or waited for, there is room: max_keys. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_capacity(const tidegate_keyed_concurrency_limiter *limiter,
                                                    uint64_t *capacity_out);

/**
 * Statistics of a keyed concurrency limiter, over all keys: `in_flight` and `live_keys` are counted over the whole
 * table, in proportion to max_keys; `limit` is that of one key; `available` does not apply.
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_stats(const tidegate_keyed_concurrency_limiter *limiter,
                                                 tidegate_stats *stats_out);

/**
 * Adds an owner, who also must free the limiter, and returns the limiter; NULL for NULL.
 *
 * since 1
 */
tidegate_keyed_concurrency_limiter *tidegate_keyed_concurrency_limiter_ref(const tidegate_keyed_concurrency_limiter *limiter);

/**
 * Takes an owner away; the limiter goes with the last one. NULL is fine.
 *
 * since 1
 */
void tidegate_keyed_concurrency_limiter_free(tidegate_keyed_concurrency_limiter *limiter);


/*
 * Waiting with keys
 * =================
 *
 * As "Waiting" and "Waiting without a thread" say, with a line for each key: who waits for one is in nobody's way who asks
 * for another.
 *
 *     tidegate_keyed_permit permit;
 *     if (tidegate_keyed_concurrency_limiter_acquire(limiter, "/report", 7, 1, 250000000, &permit) == TIDEGATE_ALLOWED) {
 *         int32_t ok = work();
 *         tidegate_keyed_concurrency_limiter_release(limiter, &permit, ok);
 *     }
 *
 * A key that is waited for keeps its place: it is never evicted. `max_waiters` of the options is for each key. A ticket knows
 * its key. In the child of a fork, to release a permit of the parent's is TIDEGATE_ERROR_PERMIT.
 */

/** tidegate_wait_callback for permits of a key; `permit` is NULL unless they were granted. since 1 */
typedef void (*tidegate_keyed_wait_callback)(void *user_data,
                                             int32_t status,
                                             const tidegate_keyed_permit *permit);

/**
 * Takes `cost` tokens of a key, all at once, and waits for them for at most `timeout_ns`, on this thread, as
 * tidegate_rate_limiter_acquire() does.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL; TIDEGATE_KEYS_FULL;
 * TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_acquire(const tidegate_keyed_rate_limiter *limiter,
                                            const void *key,
                                            size_t key_size,
                                            uint64_t cost,
                                            uint64_t timeout_ns);

/**
 * Takes `permits` permits of a key, all at once, and waits for them for at most `timeout_ns`, on this thread.
 *
 * If allowed, `*permit_out` holds them until they are released by tidegate_keyed_concurrency_limiter_release(). If
 * refused, it is written too, as a permit that holds nothing.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL; TIDEGATE_KEYS_FULL;
 * TIDEGATE_CLOSED; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_acquire(const tidegate_keyed_concurrency_limiter *limiter,
                                                   const void *key,
                                                   size_t key_size,
                                                   uint64_t permits,
                                                   uint64_t timeout_ns,
                                                   tidegate_keyed_permit *permit_out);

/**
 * How many callers wait for a key. Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_waiting(const tidegate_keyed_rate_limiter *limiter,
                                            const void *key,
                                            size_t key_size,
                                            uint64_t *waiting_out);

/**
 * How many callers wait for a key. Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_waiting(const tidegate_keyed_concurrency_limiter *limiter,
                                                   const void *key,
                                                   size_t key_size,
                                                   uint64_t *waiting_out);

/**
 * Lends nothing of any key any more, as tidegate_concurrency_limiter_close() says.
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_close(const tidegate_keyed_concurrency_limiter *limiter);

/**
 * Takes `cost` tokens of a key, or begins to wait for them, as tidegate_rate_limiter_acquire_async() does.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_PENDING; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL;
 * TIDEGATE_KEYS_FULL; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_acquire_async(const tidegate_keyed_rate_limiter *limiter,
                                                  const void *key,
                                                  size_t key_size,
                                                  uint64_t cost,
                                                  uint64_t timeout_ns,
                                                  tidegate_wait_callback callback,
                                                  void *user_data,
                                                  uint64_t *ticket_out,
                                                  uint64_t *wake_after_ns_out);

/**
 * tidegate_keyed_rate_limiter_acquire_async() for who may find that nobody wants the tokens any more, as
 * tidegate_rate_limiter_acquire_refundable_async() says; tidegate_keyed_rate_limiter_refund() takes the key again.
 *
 * Returns as tidegate_keyed_rate_limiter_acquire_async().
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_acquire_refundable_async(const tidegate_keyed_rate_limiter *limiter,
                                                             const void *key,
                                                             size_t key_size,
                                                             uint64_t cost,
                                                             uint64_t timeout_ns,
                                                             tidegate_refundable_callback callback,
                                                             void *user_data,
                                                             uint64_t *ticket_out,
                                                             uint64_t *wake_after_ns_out);

/**
 * Takes `permits` permits of a key, or begins to wait for them, as tidegate_concurrency_limiter_acquire_async() does.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_PENDING; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL;
 * TIDEGATE_KEYS_FULL; TIDEGATE_CLOSED; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_COST.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_acquire_async(const tidegate_keyed_concurrency_limiter *limiter,
                                                         const void *key,
                                                         size_t key_size,
                                                         uint64_t permits,
                                                         uint64_t timeout_ns,
                                                         tidegate_keyed_wait_callback callback,
                                                         void *user_data,
                                                         tidegate_keyed_permit *permit_out,
                                                         uint64_t *ticket_out,
                                                         uint64_t *wake_after_ns_out);

/**
 * Looks at a wait for tokens of a key, as tidegate_rate_limiter_poll() does.
 *
 * Returns TIDEGATE_OK if it is over; TIDEGATE_PENDING; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_poll(const tidegate_keyed_rate_limiter *limiter,
                                         uint64_t ticket,
                                         uint64_t *wake_after_ns_out);

/**
 * Looks at a wait for permits of a key, as tidegate_concurrency_limiter_poll() does.
 *
 * Returns TIDEGATE_OK if it is over; TIDEGATE_PENDING; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_poll(const tidegate_keyed_concurrency_limiter *limiter,
                                                uint64_t ticket,
                                                uint64_t *wake_after_ns_out);

/**
 * Ends a wait for tokens of a key, as tidegate_rate_limiter_cancel() does.
 *
 * Returns TIDEGATE_OK; TIDEGATE_TOO_LATE if it was over; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_cancel(const tidegate_keyed_rate_limiter *limiter,
                                           uint64_t ticket);

/**
 * Ends a wait for permits of a key, as tidegate_concurrency_limiter_cancel() does.
 *
 * Returns TIDEGATE_OK; TIDEGATE_TOO_LATE if it was over; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
 *
 * since 1
 */
int32_t tidegate_keyed_concurrency_limiter_cancel(const tidegate_keyed_concurrency_limiter *limiter,
                                                  uint64_t ticket);

/**
 * Charges `cost` tokens of a key now, as tidegate_rate_limiter_reserve() does.
 *
 * Returns as tidegate_rate_limiter_reserve(); TIDEGATE_KEYS_FULL; TIDEGATE_ERROR_KEY.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_reserve(const tidegate_keyed_rate_limiter *limiter,
                                            const void *key,
                                            size_t key_size,
                                            uint64_t cost,
                                            uint64_t max_wait_ns,
                                            tidegate_reservation *reservation_out);

/**
 * Gives a reservation of a key back, as tidegate_rate_limiter_cancel_reservation() does. It is not credited once the key
 * was evicted.
 *
 * Returns as tidegate_rate_limiter_cancel_reservation(), TIDEGATE_ERROR_DECISION also if the reservation is of another
 * key, which leaves it as it is; TIDEGATE_ERROR_KEY.
 *
 * since 1
 */
int32_t tidegate_keyed_rate_limiter_cancel_reservation(const tidegate_keyed_rate_limiter *limiter,
                                                       const void *key,
                                                       size_t key_size,
                                                       tidegate_reservation *reservation);


/*
 * The gate
 * ========
 *
 * A gate admits requests by named rules. All rules that match a request must admit it; if one refuses, nothing is taken.
 *
 *     const char *rules =
 *         "[[rules]]\n"
 *         "name = 'downloads'\n"
 *         "match = { path = { prefix = '/files/' } }\n"
 *         "concurrency = 4\n"
 *         "timeout = '50ms'\n";
 *     char faults[TIDEGATE_FAULTS_SIZE];
 *     tidegate_gate *gate;
 *     if (tidegate_gate_parse(rules, strlen(rules), TIDEGATE_FORMAT_TOML, NULL, &gate, faults, sizeof faults) < 0) {
 *         fprintf(stderr, "%s\n", faults);
 *         return 1;
 *     }
 *     tidegate_attribute request[] = {{"path", 4, "/files/cats", 11}, {"client", 6, "203.0.113.7", 11}};
 *     tidegate_entry *entry;
 *     tidegate_refusal *refusal;
 *     int32_t status = tidegate_gate_enter(gate, request, 2, 1, TIDEGATE_NEVER_NS, &entry, &refusal);
 *     if (status == TIDEGATE_ALLOWED || status == TIDEGATE_NO_RULE) {
 *         int32_t ok = work();
 *         tidegate_entry_release(entry, ok);
 *     } else if (status > 0) {
 *         char message[TIDEGATE_ERROR_SIZE];
 *         tidegate_refusal_text(refusal, TIDEGATE_TEXT_MESSAGE, message, sizeof message, NULL);
 *         puts(message);
 *         tidegate_refusal_free(refusal);
 *     }
 *
 * The rules are a text in TOML, JSON or YAML, which can be replaced while the gate is in use: see "Rules of a gate".
 *
 * An entry or refusal is the caller's, and needs neither the gate nor the attributes any more: those are read only during
 * the call. A gate's clock may be freed before the gate.
 */

/** Rules in TOML. since 1 */
#define TIDEGATE_FORMAT_TOML 1

/** Rules in JSON. since 1 */
#define TIDEGATE_FORMAT_JSON 2

/** Rules in YAML. since 1 */
#define TIDEGATE_FORMAT_YAML 3

/** A good size for the error buffer of functions that read rules, in bytes: they tell all that is wrong, a line each. since 1 */
#define TIDEGATE_FAULTS_SIZE 8192

/** What is known of a request: a name, such as "path", and a value. 32 bytes, and never more. since 1 */
typedef struct tidegate_attribute {
    /** The name, as text; NULL only with a length of 0. */
    const char *name;
    /** How many bytes of name. */
    size_t name_length;
    /** The value: any bytes, compared as they are; NULL only with a size of 0. */
    const void *value;
    /** How many bytes of value. */
    size_t value_size;
} tidegate_attribute;

/**
 * Makes a gate from the text of its rules; `format` is one of TIDEGATE_FORMAT_*, `clock` may be NULL for the monotonic one.
 *
 * If anything is wrong with the rules, `error` receives all of it, a line each:
 * `line LINE: rule NAME: ARGUMENT: got VALUE; allowed: WHAT`. TIDEGATE_FAULTS_SIZE is a good size for it.
 *
 * The caller owns `*gate_out` and gives it up with tidegate_gate_free(). The first limiter of a process on the monotonic
 * clock may take up to 200 ms, once, to measure the processor's counter.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the rules or the format are not acceptable.
 *
 * since 1
 */
int32_t tidegate_gate_parse(const char *text,
                            size_t length,
                            uint32_t format,
                            const tidegate_clock *clock,
                            tidegate_gate **gate_out,
                            char *error,
                            size_t error_size);

/**
 * tidegate_gate_parse() from a file, whose name ends in `.toml`, `.json`, `.yaml` or `.yml`. The path is UTF-8.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the rules are not acceptable or the file can't be read.
 *
 * since 1
 */
int32_t tidegate_gate_open(const char *path,
                           size_t length,
                           const tidegate_clock *clock,
                           tidegate_gate **gate_out,
                           char *error,
                           size_t error_size);

/**
 * Admits a request of `cost`, which is 1 for most, or tells why not. `attributes` are what is known of it, `count` in number.
 *
 * If rules let it wait, this keeps the thread waiting. `timeout_ns` is how long it may wait in all, whatever the rules say:
 * with 0 it never waits; with TIDEGATE_NEVER_NS the timeouts of the rules are all that counts, and rules whose timeout is
 * that of the call don't let it wait.
 *
 * If admitted, `*entry_out` receives an entry, which holds what the rules gave until tidegate_entry_release(). That is so
 * for TIDEGATE_NO_RULE, too, where it holds nothing. If refused, `*refusal_out` receives why, for tidegate_refusal_free(),
 * and nothing was taken; `refusal_out` may be NULL. The other one of the two receives NULL.
 *
 * Returns TIDEGATE_ALLOWED; TIDEGATE_NO_RULE; if refused TIDEGATE_DENIED, TIDEGATE_EXCEEDS_CAPACITY, TIDEGATE_KEYS_FULL,
 * TIDEGATE_TIMED_OUT or TIDEGATE_QUEUE_FULL; TIDEGATE_ERROR_COST; TIDEGATE_ERROR_OPTION if a name is not UTF-8;
 * TIDEGATE_ERROR_KEY if a value is NULL though its size is not 0.
 *
 * since 1
 */
int32_t tidegate_gate_enter(const tidegate_gate *gate,
                            const struct tidegate_attribute *attributes,
                            size_t count,
                            uint64_t cost,
                            uint64_t timeout_ns,
                            tidegate_entry **entry_out,
                            tidegate_refusal **refusal_out);

/**
 * Adds an owner, who also must free the gate, and returns the gate; NULL for NULL.
 *
 * since 1
 */
tidegate_gate *tidegate_gate_ref(const tidegate_gate *gate);

/**
 * Takes an owner away; the gate goes with the last one. Entries that are out, requests that wait and refusals are not
 * affected. NULL is fine.
 *
 * since 1
 */
void tidegate_gate_free(tidegate_gate *gate);


/*
 * Entries
 * =======
 *
 * What a request holds that a gate admitted: the permits of its rules, until it is released, on whichever thread. Its
 * figures and texts are for the headers of a response.
 */

/** The header `RateLimit-Policy` of the response: each quota, such as `"search";q=100;w=60`. since 1 */
#define TIDEGATE_TEXT_RATE_LIMIT_POLICY 1

/** The header `RateLimit` of the response: what is left, such as `"search";r=50;t=30`. since 1 */
#define TIDEGATE_TEXT_RATE_LIMIT 2

/** The names of the rules that gave something, as a JSON array. Of entries. since 1 */
#define TIDEGATE_TEXT_RULES 3

/** How a rule's quota stood after a request was admitted. 128 bytes, and never more. since 1 */
typedef struct tidegate_figures {
    /** The rule's name: text of `rule_length` bytes and no NUL, which lives until the entry is released. */
    const char *rule;
    /** How many bytes of name. */
    size_t rule_length;
    /** Tokens per period, of the quota of the rule that has least left. */
    uint64_t limit;
    /** Its period. */
    uint64_t period_ns;
    /** Tokens of it that are left. */
    uint64_t remaining;
    /** How long until nothing of it counts any more, if nobody asks. */
    uint64_t reset_after_ns;
    /** Which of the rule's quotas it is, from 0. */
    uint32_t quota;
    /** How many quotas the rule has. */
    uint32_t quotas;
    /** The most tokens of it that can be had at once. */
    uint64_t burst;
    /** All 0. */
    uint64_t reserved[8];
} tidegate_figures;

/**
 * Gives back what the entry holds, on any thread, and takes the entry itself away. `ok` is for the statistics: 0 if the
 * work failed, else any other number. NULL is fine.
 *
 * In the child of a fork it gives nothing back of what the parent took.
 *
 * since 1
 */
void tidegate_entry_release(tidegate_entry *entry,
                            int32_t ok);

/**
 * How the quotas stood when the request was admitted, one element for each rule that has some.
 *
 * `figures_out` has room for `capacity`; `*count_out` receives how many there are, of which so many as fit were written.
 * With NULL for `figures_out` and 0 for `capacity` only the number is told.
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_entry_figures(const tidegate_entry *entry,
                               struct tidegate_figures *figures_out,
                               size_t capacity,
                               size_t *count_out);

/**
 * A text about the entry: `which` is TIDEGATE_TEXT_RATE_LIMIT_POLICY, TIDEGATE_TEXT_RATE_LIMIT or TIDEGATE_TEXT_RULES. A
 * header that is empty is to be left out.
 *
 * Writes it into `buffer` of `size` bytes, ended by a NUL and cut between two characters if that is too small;
 * `*length_out` receives the length of all of it, without the NUL. `buffer` may be NULL if `size` is 0; `length_out` may
 * be NULL.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if an entry has no such text.
 *
 * since 1
 */
int32_t tidegate_entry_text(const tidegate_entry *entry,
                            uint32_t which,
                            char *buffer,
                            size_t size,
                            size_t *length_out);


/*
 * Refusals
 * ========
 *
 * Why a gate refused a request, and by which rule. If several rules refuse, it is of the one that has to be waited for
 * longest. The texts are those of an HTTP response with status 429, and a line for logs.
 */

/** A time that is not known, since it depends on others: 2^64 - 2. since 1 */
#define TIDEGATE_UNKNOWN_NS 18446744073709551614ull

/** Flag of tidegate_refused: the rule has a budget for each key, and TIDEGATE_TEXT_KEY tells whose it is. since 1 */
#define TIDEGATE_REFUSED_KEYED 1

/** Flag of tidegate_refused: a quota refused, and not a limit of permits. since 1 */
#define TIDEGATE_REFUSED_QUOTA 2

/** All in a line, for logs. since 1 */
#define TIDEGATE_TEXT_MESSAGE 4

/** The name of the rule that refused. since 1 */
#define TIDEGATE_TEXT_RULE 5

/**
 * Whose budget it is: values of the request, at most 100 characters; or, unless the rules say `show_keys`, `#` and 16
 * hexadecimal digits that stand for them in this process. Empty without TIDEGATE_REFUSED_KEYED. since 1
 */
#define TIDEGATE_TEXT_KEY 6

/** The quota that refused, such as `100/s burst 20`. Empty without TIDEGATE_REFUSED_QUOTA. since 1 */
#define TIDEGATE_TEXT_QUOTA 7

/** The body of the response, of the media type `application/problem+json`. since 1 */
#define TIDEGATE_TEXT_PROBLEM 8

/** The header `Retry-After`: whole seconds, rounded up. Empty, to be left out, if it is not known or never. since 1 */
#define TIDEGATE_TEXT_RETRY_AFTER 9

/** A refusal in numbers. 128 bytes, and never more. since 1 */
typedef struct tidegate_refused {
    /** What tidegate_gate_enter() returned. */
    int32_t status;
    /** Any of TIDEGATE_REFUSED_*. */
    uint32_t flags;
    /** Tokens per period, or permits. */
    uint64_t limit;
    /** Tokens or permits that could be taken. */
    uint64_t remaining;
    /** The period of the quota; 0 for permits. */
    uint64_t period_ns;
    /** Which of the rule's quotas it is, from 0. */
    uint32_t quota;
    /** How many quotas the rule has; 0 for permits. */
    uint32_t quotas;
    /**
     * How long until the rule would admit the same request, if nobody else asks; TIDEGATE_NEVER_NS for never;
     * TIDEGATE_UNKNOWN_NS if that depends on others that are inside.
     */
    uint64_t retry_after_ns;
    /** How many permits are out, for permits. */
    uint64_t in_flight;
    /** How many wait. */
    uint64_t waiting;
    /** How long it was waited. */
    uint64_t elapsed_ns;
    /** The call's timeout; TIDEGATE_NEVER_NS if it had none. */
    uint64_t timeout_ns;
    /** All 0. */
    uint64_t reserved[6];
} tidegate_refused;

/**
 * The refusal in numbers. Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_refusal_figures(const tidegate_refusal *refusal,
                                 struct tidegate_refused *refused_out);

/**
 * A text about the refusal: `which` is any of TIDEGATE_TEXT_* but TIDEGATE_TEXT_RULES. Buffer and length are as for
 * tidegate_entry_text().
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if a refusal has no such text.
 *
 * since 1
 */
int32_t tidegate_refusal_text(const tidegate_refusal *refusal,
                              uint32_t which,
                              char *buffer,
                              size_t size,
                              size_t *length_out);

/**
 * Takes the refusal away. NULL is fine.
 *
 * since 1
 */
void tidegate_refusal_free(tidegate_refusal *refusal);


/*
 * Entering without a thread
 * =========================
 *
 * tidegate_gate_enter() for event loops and the runtimes of other languages: a request is admitted or refused at once, or it
 * waits as an object that is polled when a callback, or the host's timer, says so.
 *
 *     void wake(void *user_data) {
 *         loop_call_soon(poll_request, user_data);
 *     }
 *
 *     void poll_request(struct request *request) {
 *         uint64_t wake_after_ns;
 *         int32_t status = tidegate_entering_poll(request->entering, &request->entry, &request->refusal, &wake_after_ns);
 *         if (status != TIDEGATE_PENDING) {
 *             tidegate_entering_free(request->entering);
 *             run_or_refuse(request, status);
 *         } else if (wake_after_ns != TIDEGATE_NEVER_NS) {
 *             loop_call_later(wake_after_ns, poll_request, request);
 *         }
 *     }
 *
 * A request waits for the permits of its rules first, then for tokens, one rule after the other in an order that is the
 * same for all, and then asks the rules that don't let it wait. Meanwhile it holds what it got by waiting, and nothing
 * else. On a manual clock moving the clock calls back, and no timer is needed.
 *
 * The callback:
 *
 * - It says nothing but "poll again", at most once for each TIDEGATE_PENDING, and never from within the call that returns
 *   that. A poll that comes sooner or more often does no harm.
 * - It runs on any thread: the one whose release, poll, cancel or moved clock let the request go on. It may call any
 *   function but those that keep their thread waiting, polls and frees of the same request included. Calls for one request
 *   come one after the other. It must neither throw nor jump out.
 * - It may come before the function that began the wait has returned to its caller; all outputs are written by then.
 * - It does not come once tidegate_entering_free() has returned, nor is one still under way then, unless that was called
 *   from within it: so `user_data` may go then. For that, the free waits for a callback that is running on another
 *   thread: hold no lock there that the callback takes.
 */

/** A request that waits to be admitted. Belongs to the caller until tidegate_entering_free(). since 1 */
typedef struct tidegate_entering tidegate_entering;

/** What is called when a request that waits is to be polled. since 1 */
typedef void (*tidegate_wake_callback)(void *user_data);

/**
 * tidegate_gate_enter() that doesn't keep the thread waiting.
 *
 * If the request has to wait, this returns TIDEGATE_PENDING: `*entering_out` receives the waiting request, which is to be
 * polled when `callback` is called with `user_data`, and after `*wake_after_ns_out`, unless that is TIDEGATE_NEVER_NS;
 * `*entry_out` and `*refusal_out` receive NULL. Else it is over, the callback is never called, and `*entering_out` receives NULL.
 *
 * Returns TIDEGATE_PENDING, and all that tidegate_gate_enter() does.
 *
 * since 1
 */
int32_t tidegate_gate_enter_async(const tidegate_gate *gate,
                                  const tidegate_attribute *attributes,
                                  size_t count,
                                  uint64_t cost,
                                  uint64_t timeout_ns,
                                  tidegate_wake_callback callback,
                                  void *user_data,
                                  tidegate_entry **entry_out,
                                  tidegate_refusal **refusal_out,
                                  struct tidegate_entering **entering_out,
                                  uint64_t *wake_after_ns_out);

/**
 * Goes on with a request as far as it can without waiting. Of several threads that poll one at once, one does.
 *
 * If TIDEGATE_PENDING, it is to be polled again, as after tidegate_gate_enter_async(). Else it is over: `*entry_out` or
 * `*refusal_out` receives what tidegate_gate_enter() tells, and `entering` wants tidegate_entering_free().
 *
 * Returns TIDEGATE_PENDING; all that tidegate_gate_enter() does; TIDEGATE_TOO_LATE if an earlier poll told that it is over;
 * TIDEGATE_ERROR_FORKED in the child of a fork: the parent waits.
 *
 * since 1
 */
int32_t tidegate_entering_poll(const struct tidegate_entering *entering,
                               tidegate_entry **entry_out,
                               tidegate_refusal **refusal_out,
                               uint64_t *wake_after_ns_out);

/**
 * Takes the waiting request away. If it was not over, that ends the wait, and all that it had got is given back. An entry
 * or refusal that a poll handed out stays the caller's. NULL is fine.
 *
 * Once this has returned the callback does not come any more: see above.
 *
 * since 1
 */
void tidegate_entering_free(struct tidegate_entering *entering);


/*
 * Rules of a gate
 * ===============
 *
 * The rules can be replaced while the gate is in use: all at once, or, if anything is wrong with the new ones, not at all.
 * No request waits for that. A rule that keeps its name keeps what is used.
 *
 *     tidegate_text *changed;
 *     if (tidegate_gate_reload(gate, text, length, TIDEGATE_FORMAT_YAML, &changed, faults, sizeof faults) < 0) {
 *         fprintf(stderr, "the rules stay as they were:\n%s\n", faults);
 *     } else {
 *         puts(tidegate_text_data(changed));
 *         tidegate_text_free(changed);
 *     }
 *
 * What such a text says is told by the guide of the gate and by the JSON Schema of rule files.
 */

/**
 * Replaces the rules by those of a text; `format` is one of TIDEGATE_FORMAT_*.
 *
 * `*reloaded_out` receives what that did: a JSON object of five arrays of rules' names, `unchanged`, `changed` (what is used
 * stays used), `restarted` (changed so that nothing could be kept: from quota to concurrency, in the number of quotas or
 * their algorithms, or in `key`, `max_keys` or `when_full`), `added` and `removed` (requests that hold something of them
 * keep it until they are done). It is for tidegate_text_free(); `reloaded_out` may be NULL.
 *
 * If anything is wrong, `error` receives all of it, as for tidegate_gate_parse(), and the rules stay.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the rules or the format are not acceptable.
 *
 * since 1
 */
int32_t tidegate_gate_reload(const tidegate_gate *gate,
                             const char *text,
                             size_t length,
                             uint32_t format,
                             tidegate_text **reloaded_out,
                             char *error,
                             size_t error_size);

/**
 * tidegate_gate_reload() from a file, whose name ends in `.toml`, `.json`, `.yaml` or `.yml`. The path is UTF-8.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the rules are not acceptable or the file can't be read.
 *
 * since 1
 */
int32_t tidegate_gate_reload_file(const tidegate_gate *gate,
                                  const char *path,
                                  size_t length,
                                  tidegate_text **reloaded_out,
                                  char *error,
                                  size_t error_size);

/**
 * The rules in use, as they were written, in JSON: a text that tidegate_gate_reload() reads. It is for
 * tidegate_text_free().
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_gate_rules(const tidegate_gate *gate,
                            tidegate_text **rules_out);

/**
 * What the gate has done since it was made, in JSON: requests `admitted`, `refused` and `unmatched` (no rule applied),
 * entries `released_ok` and `released_failed`, if they held permits; and in `rules`, for each rule as they are written, its
 * `name`, `mode`, requests `admitted` and `refused` (in shadow: that it would have refused), and `limiter`, which has the
 * fields of tidegate_stats. It is for tidegate_text_free().
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_gate_stats(const tidegate_gate *gate,
                            tidegate_text **stats_out);

/**
 * What each rule says to a request of `cost`, and why, in JSON; spends nothing. Requests are as for tidegate_gate_enter().
 *
 * `status` is what the request would be told, by the name of a status; `rules` has for each rule, as they are written, its
 * name (`rule`), `mode`, whether it `matched`, its `conditions` (`attribute`, `mode`, `texts`, `value`, `matched`), and if
 * it matched `key`, `status`, `limit`, `remaining`, `retry_after_ns` (null for never, or if that depends on others) and
 * `waiting`. It is for tidegate_text_free().
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_COST; TIDEGATE_ERROR_OPTION if a name is not UTF-8; TIDEGATE_ERROR_KEY if a value
 * is NULL though its size is not 0.
 *
 * since 1
 */
int32_t tidegate_gate_explain(const tidegate_gate *gate,
                              const tidegate_attribute *attributes,
                              size_t count,
                              uint64_t cost,
                              tidegate_text **explanation_out);


/*
 * Rules from a file that is watched
 * =================================
 *
 * A gate can follow a file: edit it, and the rules change.
 *
 *     tidegate_watch *watch;
 *     if (tidegate_gate_watch_file(gate, path, length, &watch, faults, sizeof faults) < 0) {
 *         fprintf(stderr, "%s\n", faults);
 *     }
 *
 * The library has a thread for each file that is watched. Rules that are elsewhere, such as in a database, are for a thread
 * of the host's, which calls tidegate_gate_reload().
 */

/** A file that a gate follows. Belongs to the caller until tidegate_watch_free(). since 1 */
typedef struct tidegate_watch tidegate_watch;

/**
 * Reads the rules of a file, as tidegate_gate_reload_file() does, and again whenever the file changes: in place, by a rename,
 * or when one of the links to it leads elsewhere, as those of Kubernetes do. A change is seen at once where the file system
 * tells of it, and within 30 s everywhere. If it is wrong then, that is told as an event, `reload_failed`, and the rules
 * stay.
 *
 * The caller owns `*watch_out`, and gives it up with tidegate_watch_free(). The gate may be freed before; that ends the
 * watch, too. In the child of a fork nothing is watched.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the rules are not acceptable or the file can't be read: it is not watched
 * then.
 *
 * since 1
 */
int32_t tidegate_gate_watch_file(const tidegate_gate *gate,
                                 const char *path,
                                 size_t length,
                                 struct tidegate_watch **watch_out,
                                 char *error,
                                 size_t error_size);

/**
 * Follows the file no more: from here on the rules stay as they are. Waits for a change of rules that has begun. NULL is fine.
 *
 * since 1
 */
void tidegate_watch_free(struct tidegate_watch *watch);


/*
 * Events of a gate
 * ================
 *
 * What a gate refuses, and its reloads, for logs and metrics. Events are fetched; nobody who decides waits for that.
 *
 *     tidegate_gate_events *events;
 *     tidegate_gate_events_new(gate, &events);
 *     tidegate_text *event;
 *     int32_t status;
 *     while ((status = tidegate_gate_events_next(events, 1000000000, &event)) != TIDEGATE_CLOSED) {
 *         if (status == TIDEGATE_OK) {
 *             puts(tidegate_text_data(event));
 *             tidegate_text_free(event);
 *         }
 *     }
 *     tidegate_gate_events_free(events);
 *
 * One listens to a gate at a time. There is room for 1,024 events; those that find none are dropped, and counted. In the
 * child of a fork the parent's events are the parent's.
 */

/** Who listens to a gate. Belongs to the caller until tidegate_gate_events_free(). since 1 */
typedef struct tidegate_gate_events tidegate_gate_events;

/**
 * Listens to a gate from now on. Whoever listened before gets those events that are there, and no more.
 *
 * The caller owns `*events_out` and gives it up with tidegate_gate_events_free(). The gate may be freed before.
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_gate_events_new(const tidegate_gate *gate,
                                 struct tidegate_gate_events **events_out);

/**
 * Fetches the next event, for which it keeps the thread waiting at most `timeout_ns`; 0 doesn't wait, TIDEGATE_NEVER_NS waits
 * for ever.
 *
 * `*event_out` receives the event in JSON, for tidegate_text_free(); NULL if there is none. Its field `event` says of which
 * kind it is, and kinds may be added; `dropped` is how many events were dropped so far.
 *
 * - `refused`, and `shadow_refused` by a rule in shadow: `refusal` has `rule`, `key` (or null), `status` (a name), `limit`,
 *   `remaining`, `quota` (as text, or null), `quota_index`, `quotas`, `retry_after_ns` (null if `never`, or if that depends on
 *   others), `never`, `in_flight`, `waiting`, `elapsed_ns`, `timeout_ns` (or null), `message`.
 * - `reloaded`: `reloaded` is as for tidegate_gate_reload().
 * - `reload_failed`: `faults` has for each `file`, `line`, `rule` (or null), `argument`, `value`, `allowed`, `message`.
 *
 * Returns TIDEGATE_OK; TIDEGATE_TIMED_OUT; TIDEGATE_CLOSED if all were fetched and none will come, since the gate is gone or
 * another listens; TIDEGATE_QUEUE_FULL if another thread waits for the next; TIDEGATE_ERROR_FORKED.
 *
 * since 1
 */
int32_t tidegate_gate_events_next(const struct tidegate_gate_events *events,
                                  uint64_t timeout_ns,
                                  tidegate_text **event_out);

/**
 * Listens no more. NULL is fine.
 *
 * since 1
 */
void tidegate_gate_events_free(struct tidegate_gate_events *events);


/*
 * Documents
 * =========
 *
 * Texts that may be long, and that tell something else the next time, come as objects of their own: read, then freed.
 *
 *     tidegate_text *stats;
 *     if (tidegate_gate_stats(gate, &stats) == TIDEGATE_OK) {
 *         puts(tidegate_text_data(stats));
 *         tidegate_text_free(stats);
 *     }
 *
 * JSON documents are objects, to which fields may be added. Times in them are whole nanoseconds.
 */

/**
 * The text, ended by a NUL, which lives until it is freed; NULL for NULL.
 *
 * since 1
 */
const char *tidegate_text_data(const tidegate_text *text);

/**
 * How many bytes the text has, without the NUL; 0 for NULL.
 *
 * since 1
 */
size_t tidegate_text_length(const tidegate_text *text);

/**
 * Takes the text away. NULL is fine.
 *
 * since 1
 */
void tidegate_text_free(tidegate_text *text);


/*
 * Clocks
 * ======
 *
 * Limiters go by the machine's monotonic clock unless they are given another. A manual clock moves only when it is told:
 *
 *     tidegate_clock *clock;
 *     tidegate_clock_manual_new(&clock);
 *     tidegate_rate_limiter_options options = {.struct_size = sizeof options, .clock = clock};
 *     tidegate_rate_limiter_parse("1/s", 3, &options, &limiter, NULL, 0);
 *     tidegate_clock_advance(clock, 1000000000);
 *
 * No clock ever goes back.
 */

/**
 * Makes a clock that moves only when told, at 0, which is also its Unix epoch. For tests.
 *
 * The caller owns `*clock_out` and gives it up with tidegate_clock_free().
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_clock_manual_new(tidegate_clock **clock_out);

/**
 * Makes a handle on the machine's monotonic clock, which all limiters without a clock of their own go by.
 *
 * It is the processor's time stamp counter where that can be trusted, else the operating system's clock, from which it
 * drifts by parts per million. The first one of a process may take up to 200 ms.
 *
 * The caller owns `*clock_out` and gives it up with tidegate_clock_free().
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_clock_monotonic_new(tidegate_clock **clock_out);

/**
 * Moves a manual clock on. It stops at 2^64 - 1.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_UNSUPPORTED if the clock is monotonic.
 *
 * since 1
 */
int32_t tidegate_clock_advance(const tidegate_clock *clock, uint64_t by_ns);

/**
 * Sets the time under a manual clock, as a machine's clock is set. A step forward moves the clock on by as much; a step
 * back counts as no time, and progress from there counts again.
 *
 * Returns TIDEGATE_OK; TIDEGATE_ERROR_UNSUPPORTED if the clock is monotonic.
 *
 * since 1
 */
int32_t tidegate_clock_set(const tidegate_clock *clock,
                           uint64_t to_ns);

/**
 * The time of a clock, in nanoseconds since its origin.
 *
 * Returns TIDEGATE_OK.
 *
 * since 1
 */
int32_t tidegate_clock_now_ns(const tidegate_clock *clock, uint64_t *now_ns_out);

/**
 * Adds an owner, who also must free the clock, and returns the clock; NULL for NULL.
 *
 * since 1
 */
tidegate_clock *tidegate_clock_ref(const tidegate_clock *clock);

/**
 * Takes an owner away; the clock goes with the last one. NULL is fine.
 *
 * since 1
 */
void tidegate_clock_free(tidegate_clock *clock);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TIDEGATE_H */
