'use strict';

const { boolean, callable, count, record, whole, wrongCount } = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { ExceedsCapacityError, RefusedError, attempt, fromNative, misconfigured } = require('./errors.js');
const { during, guarded } = require('./guard.js');
const native = require('./native.js');
const { permit } = require('./permit.js');

const { concurrencyTryAcquire } = native;

const MOST_PERMITS = 2 ** 31 - 1;

class ConcurrencyLimiter {
  #handle;

  constructor(limit, options = {}) {
    whole('limit', limit, 0, MOST_PERMITS, misconfigured);
    const { trackHoldTime = false, clock } = record('options', options, ['trackHoldTime', 'clock']);
    boolean('trackHoldTime', trackHoldTime);
    this.#handle = attempt(() => native.concurrencyLimiter(limit, trackHoldTime, clockHandle(clock)));
  }

  tryAcquire(permits = 1) {
    let taken;
    try {
      taken = concurrencyTryAcquire(this.#handle, permits);
    } catch (error) {
      throw fromNative(error, () => wrongCount('permits', permits));
    }
    return taken === false ? false : permit(this.#handle, permits, taken);
  }

  get limit() {
    return attempt(() => native.concurrencyLimit(this.#handle));
  }

  set limit(limit) {
    whole('limit', limit, 0, MOST_PERMITS, misconfigured);
    attempt(() => native.concurrencySetLimit(this.#handle, limit));
  }

  get inFlight() {
    return attempt(() => native.concurrencyInFlight(this.#handle));
  }

  get available() {
    return attempt(() => native.concurrencyAvailable(this.#handle));
  }

  stats() {
    const stats = attempt(() => native.concurrencyStats(this.#handle));
    if (stats.holdTimeTotalNs === undefined) return stats;
    const [holdTimeTotalMs, holdTimeMaxMs] = [stats.holdTimeTotalNs, stats.holdTimeMaxNs].map((ns) => Number(ns) / 1e6);
    return { ...stats, holdTimeTotalMs, holdTimeMaxMs };
  }

  async run(fn, options = {}) {
    callable('fn', fn);
    const permits = permitsOf(options);
    return during(this.#enter(permits), fn);
  }

  guard(fn, options = {}) {
    callable('fn', fn);
    const permits = permitsOf(options);
    return guarded(fn, () => this.#enter(permits));
  }

  /** Takes a permit or throws the refusal; returns how to leave. */
  #enter(permits) {
    const held = this.tryAcquire(permits);
    if (held) return (ok) => held.release(ok);
    const { limit } = this;
    if (limit > 0 && permits > limit) {
      throw new ExceedsCapacityError(`${permits} permits are more than the limit of ${limit} can ever grant.`);
    }
    throw new RefusedError(
      `Refused by the concurrency limiter: all but ${this.available} of ${limit} permits are out.`,
    );
  }
}

function permitsOf(options) {
  const { permits = 1 } = record('options', options, ['permits']);
  return count('permits', permits);
}

module.exports = { ConcurrencyLimiter };
