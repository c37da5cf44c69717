/**
 * Exact, fast, in-process limiters: rate limiters (so many per time) and concurrency limiters (so many at once).
 *
 * Units are in the names: `…Ms` are milliseconds, `…Ns` nanoseconds. Nothing here blocks the event loop or keeps the process
 * alive, waits neither: a process that only waits ends. A worker thread has limiters of its own, unless they are `shared`.
 */

/// <reference lib="esnext.disposable" />

export * from './types/clock.js';
export * from './types/concurrency-limiter.js';
export * from './types/decision.js';
export * from './types/errors.js';
export * from './types/gate.js';
export * from './types/guard.js';
export * from './types/json.js';
export * from './types/key.js';
export * from './types/keyed-concurrency-limiter.js';
export * from './types/keyed-rate-limiter.js';
export * from './types/permit.js';
export * from './types/quota.js';
export * from './types/rate-limiter.js';
export * from './types/reservation.js';
export * from './types/stats.js';
export * from './types/waiting.js';
