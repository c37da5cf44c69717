//! # tidegate
//!
//! In-process limiters, exact and fast. *Rate limiters* spend tokens that come back with time ("at most 100 a second");
//! *concurrency limiters* lend permits that the caller gives back ("at most 4 at once"). Keyed ones do so for each key on
//! its own, such as an address, a user or a path. A *gate* admits requests by named rules, each of which has such a
//! limiter, from a text that can be changed while it is in use.
//!
//!     #include <stdio.h>
//!     #include <string.h>
//!     #include <tidegate.h>
//!
//!     int main(void) {
//!         const char *quota = "100/s burst 20";
//!         char error[TIDEGATE_ERROR_SIZE];
//!         tidegate_rate_limiter *limiter;
//!         if (tidegate_rate_limiter_parse(quota, strlen(quota), NULL, &limiter, error, sizeof error) < 0) {
//!             fprintf(stderr, "%s\n", error);
//!             return 1;
//!         }
//!         if (tidegate_rate_limiter_try_acquire(limiter, 1) == TIDEGATE_ALLOWED) {
//!             puts("go ahead");
//!         }
//!         tidegate_rate_limiter_free(limiter);
//!         return 0;
//!     }
//!
//! Link with `-ltidegate`. C++ users find the same with owners and durations in tidegate.hpp and
//! tidegate_gate.hpp.
//!
//! Rules that hold for every function, so that they are not said again below:
//!
//! - Results. Almost every function returns an int32_t: 0 is success or "allowed", above 0 is another outcome, below 0 is
//!   a mistake of the caller. See "Statuses" for the numbers. A function that returns below 0 changed nothing and wrote
//!   none of its outputs, whose names end in `_out`. Besides the statuses named with each function, any of them may
//!   return TIDEGATE_ERROR_NULL_POINTER for a pointer that must not be NULL, TIDEGATE_ERROR_MEMORY for one that is not
//!   aligned for its type, and TIDEGATE_ERROR_PANIC after a fault inside the library, which stays usable.
//! - Threads. Every function may be called from any thread at any time, also on one and the same object, except that an
//!   object must not be used once its last owner has freed it. None may be called from a signal handler. Only those
//!   that end in `_limiter_acquire`, tidegate_gate_enter() and tidegate_gate_events_next() keep their thread waiting.
//!   Callbacks: see "Waiting without a thread".
//! - Units. Times are whole nanoseconds and say so in their names, `_ns`. Tokens and permits are whole numbers from 1 to
//!   TIDEGATE_MAX_COST.
//! - Structs that the caller fills, but for tidegate_key, begin with `struct_size`, to be set to their sizeof; everything
//!   else that is not needed is 0, which means the default. A program that was compiled against an older or newer header
//!   stays valid: what the smaller struct lacks counts as 0, and what the library doesn't know must be 0.
//! - Texts are UTF-8. Those that go in are a pointer and a length and need no NUL.
//! - Error texts. A function that builds or reads something takes a buffer `error` of `error_size` bytes. If, and only
//!   if, it returns below 0, it writes there `ARGUMENT: got VALUE; allowed: WHAT`, ended by a NUL and cut between two
//!   characters if the buffer is too small. `error` may be NULL if error_size is 0.
//! - "since" names the ABI in which something first appeared. Nothing is ever removed or changed.
//!
//! This file is made from the sources by `make header`.

#![allow(non_camel_case_types, reason = "these are the names of C")]

mod border;
mod clock;
mod concurrency_limiter;
mod decision;
mod denied_key;
mod gate;
mod gate_entering;
mod gate_entry;
mod gate_events;
mod gate_json;
mod gate_refusal;
mod gate_rules;
mod gate_watch;
mod key;
mod key_quota;
mod keyed_concurrency_limiter;
mod keyed_decision;
mod keyed_rate_limiter;
mod keyed_waiting;
mod layout;
mod object;
mod quota;
mod rate_limiter;
mod reservation;
mod stats;
mod status;
mod text;
mod ticket;
mod waiting;
