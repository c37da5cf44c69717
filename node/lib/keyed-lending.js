'use strict';

const { wrongCount } = require('./arguments.js');
const { Entrance } = require('./entrance.js');
const { attempt, fromNative } = require('./errors.js');
const { wrongKeyOr } = require('./key.js');
const native = require('./native.js');
const { permit } = require('./permit.js');
const { permitsText, waitRefusal } = require('./refusal.js');
const { Desk } = require('./wait.js');

const { keyedConcurrencyAcquire, keyedConcurrencyRelease, keyedConcurrencyTryAcquire } = native;

/** The error for a call of which the native library has found the key or the permits to be wrong. */
const wrongCall = (key, permits) => wrongKeyOr(key, () => wrongCount('permits', permits));

/** The permits of a keyed concurrency limiter, beside its native half. */
class KeyedLending {
  #handle;
  #desk;
  /** Of its calls. */
  entrance;

  constructor(handle, clock) {
    this.#handle = handle;
    this.#desk = new Desk(this, clock);
    this.entrance = new Entrance(this.#desk, 'permits', true);
  }

  /** Permits of a key if they can be had now, else null. */
  tryAcquire(key, permits) {
    let taken;
    try {
      // As many arguments as to give it back: where the stack has room for this, it has for that.
      taken = keyedConcurrencyTryAcquire(this.#handle, key, permits, undefined);
    } catch (error) {
      throw fromNative(error, () => wrongCall(key, permits));
    }
    if (taken === false) return null;
    try {
      return permit(this, permits, taken);
    } catch (error) {
      // No room on the stack for a Permit.
      keyedConcurrencyRelease(this.#handle, permits, false, taken);
      throw error;
    }
  }

  acquire(key, permits, options) {
    return this.#desk.acquire(permits, options, key);
  }

  /** Of a permit: gives it back. */
  giveBack(permits, taken, ok) {
    keyedConcurrencyRelease(this.#handle, permits, ok, taken);
  }

  // What the desk needs to know.

  start(permits, timeoutNs, id, waits, key) {
    try {
      return keyedConcurrencyAcquire(this.#handle, permits, timeoutNs, id, waits, key);
    } catch (error) {
      throw fromNative(error, () => wrongCall(key, permits));
    }
  }

  takenOf(grant) {
    return grant[0] | (grant[1] << 64n);
  }

  granted(permits, taken) {
    return permit(this, permits, taken);
  }

  undo(permits, taken) {
    keyedConcurrencyRelease(this.#handle, permits, false, taken);
  }

  refusal(permits, status, elapsedMs, timeoutMs, key) {
    return attempt(() => {
      const handle = this.#handle;
      const [limit, inFlight] = [native.keyedConcurrencyLimit(handle), native.keyedConcurrencyInFlight(handle, key)];
      const figures = { elapsedMs, timeoutMs, limit, inFlight, waiting: native.keyedConcurrencyWaiting(handle, key) };
      return waitRefusal(permitsText(permits), status, `the limit is ${limit}`, figures);
    });
  }
}

module.exports = { KeyedLending };
