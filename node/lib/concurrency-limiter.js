'use strict';

const { MOST_PERMITS, boolean, callable, options: checked, permitsOf, whole, wrongCount } = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { attempt, fromNative, misconfigured } = require('./errors.js');
const { during, guarded } = require('./guard.js');
const native = require('./native.js');
const { permit } = require('./permit.js');
const { printsAsText, withHoldTimes } = require('./printing.js');
const { permitsRefusal } = require('./refusal.js');

const { concurrencyRelease, concurrencyTryAcquire } = native;

class ConcurrencyLimiter {
  #handle;

  constructor(limit, options = {}) {
    whole('limit', limit, 0, MOST_PERMITS, misconfigured);
    const { trackHoldTime = false, clock } = checked(options, ['trackHoldTime', 'clock']);
    boolean('trackHoldTime', trackHoldTime);
    this.#handle = attempt(() => native.concurrencyLimiter(limit, trackHoldTime, clockHandle(clock)));
  }

  tryAcquire(permits = 1) {
    let taken;
    try {
      // As many arguments as to give it back: where the stack has room for this, it has for that.
      taken = concurrencyTryAcquire(this.#handle, permits, undefined, undefined);
    } catch (error) {
      throw fromNative(error, () => wrongCount('permits', permits));
    }
    if (taken === false) return null;
    try {
      return permit(this.#handle, permits, taken);
    } catch (error) {
      // No room on the stack for a Permit.
      concurrencyRelease(this.#handle, permits, false, taken);
      throw error;
    }
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
    return withHoldTimes(attempt(() => native.concurrencyStats(this.#handle)));
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

  toString() {
    return `ConcurrencyLimiter(${this.inFlight} of ${this.limit} out)`;
  }

  /** Takes a permit or throws the refusal; returns how to leave. */
  #enter(permits) {
    const held = this.tryAcquire(permits);
    if (held) return (ok) => held.release(ok);
    throw permitsRefusal(permits, this.limit, this.available);
  }
}

printsAsText(ConcurrencyLimiter);

module.exports = { ConcurrencyLimiter };
