'use strict';

const { wrongCount } = require('./arguments.js');
const { Entrance } = require('./entrance.js');
const { attempt, fromNative } = require('./errors.js');
const native = require('./native.js');
const { permit } = require('./permit.js');
const { permitsText, waitRefusal } = require('./refusal.js');
const { Desk } = require('./wait.js');

const { concurrencyAcquire, concurrencyRelease, concurrencyTryAcquire } = native;

/**
 * The permits of a concurrency limiter, beside its native half.
 *
 * A permit that comes back while nobody waits is kept at hand for the next caller: two crossings to the native limiter cost more
 * than all else. It counts what is at hand as out, so that goes back before anything else is asked or told: `settled`. Nobody
 * but this object can know of the native limiter, so that this shows nowhere. One that is shared, or measures hold times, keeps
 * none.
 */
class Lending {
  #handle;
  #desk;
  /** Of its calls. */
  entrance;
  #mayKeep;
  /** Single permits at hand. */
  #atHand = 0;
  /** What the native limiter has not seen: permits that were lent again, and came back, as ok or as failed. */
  #lentAgain = 0;
  #backOk = 0;
  #backFailed = 0;

  constructor(handle, clock, mayKeep) {
    this.#handle = handle;
    this.#desk = new Desk(this, clock);
    this.entrance = new Entrance(this.#desk, 'permits');
    this.#mayKeep = mayKeep;
  }

  /** The handle, with everything that is at hand given back. */
  get settled() {
    if (this.#atHand > 0) {
      concurrencyRelease(this.#handle, this.#atHand, true, undefined);
      this.#atHand = 0;
      this.#backOk--;
    }
    return this.#handle;
  }

  /** Permits if they can be had now, else null. */
  tryAcquire(permits) {
    const isAtHand = permits === 1 && this.#takeAtHand();
    let taken = isAtHand;
    try {
      // As many arguments as to give it back: where the stack has room for this, it has for that.
      if (!isAtHand) taken = concurrencyTryAcquire(this.settled, permits, undefined, undefined);
    } catch (error) {
      throw fromNative(error, () => wrongCount('permits', permits));
    }
    if (taken === false) return null;
    try {
      return permit(this, permits, taken);
    } catch (error) {
      // No room on the stack for a Permit.
      if (isAtHand) {
        this.#atHand++;
        this.#lentAgain--;
      } else {
        concurrencyRelease(this.#handle, permits, false, taken);
      }
      throw error;
    }
  }

  acquire(permits, options) {
    return this.#desk.acquire(permits, options);
  }

  /** Of a permit: gives it back. */
  giveBack(permits, taken, ok) {
    if (permits === 1 && this.#mayKeep && this.#desk.waiting === 0) {
      this.#atHand++;
      if (ok) this.#backOk++;
      else this.#backFailed++;
      return;
    }
    concurrencyRelease(this.#handle, permits, ok, taken);
  }

  setLimit(limit) {
    attempt(() => {
      native.concurrencySetLimit(this.settled, limit);
      // While more are out than a lowered limit, what comes back is not to be lent again.
      if (this.#mayKeep !== undefined) this.#mayKeep = native.concurrencyInFlight(this.#handle) <= limit;
    });
  }

  close() {
    attempt(() => native.concurrencyClose(this.settled));
    this.#mayKeep = undefined;
  }

  stats() {
    const stats = attempt(() => native.concurrencyStats(this.settled));
    stats.allowed += this.#lentAgain;
    stats.releasedOk += this.#backOk;
    stats.releasedFailed += this.#backFailed;
    return stats;
  }

  // What the desk needs to know.

  start(permits, timeoutNs, id, waits) {
    if (permits === 1 && this.#takeAtHand()) return true;
    try {
      return concurrencyAcquire(this.settled, permits, timeoutNs, id, waits);
    } catch (error) {
      throw fromNative(error, () => wrongCount('permits', permits));
    }
  }

  takenOf(grant) {
    return grant[0];
  }

  granted(permits, taken) {
    return permit(this, permits, taken);
  }

  undo(permits, taken) {
    this.giveBack(permits, taken, false);
  }

  refusal(permits, status, elapsedMs, timeoutMs) {
    return attempt(() => {
      const handle = this.settled;
      const [limit, inFlight] = [native.concurrencyLimit(handle), native.concurrencyInFlight(handle)];
      const figures = { elapsedMs, timeoutMs, limit, inFlight, waiting: native.concurrencyWaiting(handle) };
      return waitRefusal(permitsText(permits), status, `the limit is ${limit}`, figures);
    });
  }

  #takeAtHand() {
    if (this.#atHand === 0) return false;
    this.#atHand--;
    this.#lentAgain++;
    return true;
  }
}

module.exports = { Lending };
