'use strict';

const {
  MOST_KEYS,
  MOST_PERMITS,
  boolean,
  callable,
  count,
  options: checked,
  whole,
  wrongCount,
} = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { attempt, fromNative, misconfigured } = require('./errors.js');
const { during, guarded } = require('./guard.js');
const { keyMaker, keyed } = require('./key.js');
const native = require('./native.js');
const { permit } = require('./permit.js');
const { printsAsText, withHoldTimes } = require('./printing.js');
const { permitsRefusal } = require('./refusal.js');

const { keyedConcurrencyRelease, keyedConcurrencyTryAcquire } = native;

class KeyedConcurrencyLimiter {
  #handle;
  #capacity;

  constructor(limit, options = {}) {
    whole('limit', limit, 0, MOST_PERMITS, misconfigured);
    const { maxKeys = 100_000, trackHoldTime = false, clock } = checked(options, ['maxKeys', 'trackHoldTime', 'clock']);
    this.#capacity = whole('maxKeys', maxKeys, 1, MOST_KEYS, misconfigured);
    boolean('trackHoldTime', trackHoldTime);
    const manual = clockHandle(clock);
    this.#handle = attempt(() => native.keyedConcurrencyLimiter(limit, maxKeys, trackHoldTime, manual));
  }

  tryAcquire(key, permits = 1) {
    let taken;
    try {
      // As many arguments as to give it back: where the stack has room for this, it has for that.
      taken = keyedConcurrencyTryAcquire(this.#handle, key, permits, undefined);
    } catch (error) {
      throw fromNative(error, () => wrongCall(key, permits));
    }
    if (taken === false) return null;
    try {
      return permit(this.#handle, permits, taken, true);
    } catch (error) {
      // No room on the stack for a Permit.
      keyedConcurrencyRelease(this.#handle, permits, false, taken);
      throw error;
    }
  }

  get limit() {
    return attempt(() => native.keyedConcurrencyLimit(this.#handle));
  }

  set limit(limit) {
    whole('limit', limit, 0, MOST_PERMITS, misconfigured);
    attempt(() => native.keyedConcurrencySetLimit(this.#handle, limit));
  }

  inFlight(key) {
    keyed('key', key);
    return attempt(() => native.keyedConcurrencyInFlight(this.#handle, key));
  }

  available(key) {
    keyed('key', key);
    return attempt(() => native.keyedConcurrencyAvailable(this.#handle, key));
  }

  get capacity() {
    return this.#capacity;
  }

  stats() {
    return withHoldTimes(attempt(() => native.keyedConcurrencyStats(this.#handle)));
  }

  async run(fn, options = {}) {
    callable('fn', fn);
    const { makeKey, permits } = wanted(options);
    return during(this.#enter(makeKey(), permits), fn);
  }

  guard(fn, options = {}) {
    callable('fn', fn);
    const { makeKey, permits } = wanted(options);
    const limiter = this;
    return guarded(fn, function enter(...args) {
      return limiter.#enter(makeKey.apply(this, args), permits);
    });
  }

  toString() {
    return `KeyedConcurrencyLimiter(${this.limit} each, ${this.#capacity} keys)`;
  }

  /** Takes a permit or throws the refusal; returns how to leave. */
  #enter(key, permits) {
    const held = this.tryAcquire(key, permits);
    if (held) return (ok) => held.release(ok);
    throw permitsRefusal(permits, this.limit, this.available(key));
  }
}

function wanted(options) {
  const { key, permits = 1 } = checked(options, ['key', 'permits']);
  return { makeKey: keyMaker(key), permits: count('permits', permits) };
}

/** The error for a call of which the native library has found the key or the permits to be wrong. */
function wrongCall(key, permits) {
  try {
    keyed('key', key);
  } catch (error) {
    return error;
  }
  return wrongCount('permits', permits);
}

printsAsText(KeyedConcurrencyLimiter);

module.exports = { KeyedConcurrencyLimiter };
