'use strict';

const {
  MOST_PERMITS,
  boolean,
  callable,
  maxWaitersOf,
  options: checked,
  permitsOf,
  sharedName,
  whole,
  wrongCount,
} = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { ClosedError, attempt, fromNative, misconfigured } = require('./errors.js');
const { during, guarded } = require('./guard.js');
const { mapped } = require('./map.js');
const native = require('./native.js');
const { permit } = require('./permit.js');
const { printsAsText, withHoldTimes } = require('./printing.js');
const { permitsRefusal, permitsText, waitRefusal } = require('./refusal.js');
const { Desk, waitOf } = require('./wait.js');

const { concurrencyAcquire, concurrencyRelease, concurrencyTryAcquire } = native;
const OPTIONS = ['trackHoldTime', 'maxWaiters', 'clock', 'shared'];

class ConcurrencyLimiter {
  #handle;
  #desk;

  constructor(limit, options = {}) {
    whole('limit', limit, 0, MOST_PERMITS, misconfigured);
    const { trackHoldTime = false, maxWaiters, clock, shared } = checked(options, OPTIONS);
    boolean('trackHoldTime', trackHoldTime);
    const most = maxWaitersOf(maxWaiters);
    const manual = clockHandle(clock);
    const name = sharedName(shared, clock);
    this.#handle = attempt(() => native.concurrencyLimiter(limit, trackHoldTime, most, manual, name));
    this.#desk = new Desk(new Lending(this.#handle), clock);
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

  acquire(permits = 1, options = undefined) {
    return this.#desk.acquire(permits, options);
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

  get waiting() {
    return attempt(() => native.concurrencyWaiting(this.#handle));
  }

  close() {
    attempt(() => native.concurrencyClose(this.#handle));
  }

  get isClosed() {
    return attempt(() => native.concurrencyIsClosed(this.#handle));
  }

  stats() {
    return withHoldTimes(attempt(() => native.concurrencyStats(this.#handle)));
  }

  async run(fn, options = undefined) {
    callable('fn', fn);
    const { permits, wait } = waitOf('permits', options);
    const taken = this.#desk.take(permits, wait);
    const held = taken instanceof Promise ? await taken : taken;
    return during((ok) => held.release(ok), fn);
  }

  async map(iterable, fn, options = undefined) {
    callable('fn', fn);
    const { permits, wait } = waitOf('permits', options);
    const enter = async (signal) => {
      const held = await this.#desk.acquire(permits, { ...wait, signal });
      return (ok) => held.release(ok);
    };
    return mapped(iterable, fn, enter, wait?.signal);
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
    if (this.isClosed) throw new ClosedError(`closed: ${permitsText(permits)} asked`);
    throw permitsRefusal(permits, this.limit, this.available);
  }
}

/** What a desk needs to know of permits. */
class Lending {
  #handle;

  constructor(handle) {
    this.#handle = handle;
  }

  start(permits, timeoutNs, id, waits) {
    try {
      return concurrencyAcquire(this.#handle, permits, timeoutNs, id, waits);
    } catch (error) {
      throw fromNative(error, () => wrongCount('permits', permits));
    }
  }

  granted(permits, taken) {
    try {
      return permit(this.#handle, permits, taken);
    } catch (error) {
      // No room on the stack for a Permit.
      this.giveBack(permits, taken);
      throw error;
    }
  }

  giveBack(permits, taken) {
    concurrencyRelease(this.#handle, permits, false, taken);
  }

  refusal(permits, status, elapsedMs, timeoutMs) {
    return attempt(() => {
      const [limit, inFlight] = [native.concurrencyLimit(this.#handle), native.concurrencyInFlight(this.#handle)];
      const figures = { elapsedMs, timeoutMs, limit, inFlight, waiting: native.concurrencyWaiting(this.#handle) };
      return waitRefusal(permitsText(permits), status, `the limit is ${limit}`, figures);
    });
  }
}

printsAsText(ConcurrencyLimiter);

module.exports = { ConcurrencyLimiter };
