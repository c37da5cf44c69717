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
} = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { ClosedError, attempt, misconfigured } = require('./errors.js');
const { during, guarded } = require('./guard.js');
const { Lending } = require('./lending.js');
const { mapped } = require('./map.js');
const native = require('./native.js');
const { printsAsText, withHoldTimes } = require('./printing.js');
const { permitsRefusal, permitsText } = require('./refusal.js');
const { waitOf } = require('./wait.js');

const OPTIONS = ['trackHoldTime', 'maxWaiters', 'clock', 'shared'];

class ConcurrencyLimiter {
  #lending;

  constructor(limit, options = {}) {
    whole('limit', limit, 0, MOST_PERMITS, misconfigured);
    const { trackHoldTime = false, maxWaiters, clock, shared } = checked(options, OPTIONS);
    boolean('trackHoldTime', trackHoldTime);
    const most = maxWaitersOf(maxWaiters);
    const manual = clockHandle(clock);
    const name = sharedName(shared, clock);
    const handle = attempt(() => native.concurrencyLimiter(limit, trackHoldTime, most, manual, name));
    const mayKeep = trackHoldTime || name !== undefined ? undefined : true;
    this.#lending = new Lending(handle, clock, mayKeep);
  }

  tryAcquire(permits = 1) {
    return this.#lending.tryAcquire(permits);
  }

  acquire(permits = 1, options = undefined) {
    return this.#lending.acquire(permits, options);
  }

  get limit() {
    return attempt(() => native.concurrencyLimit(this.#lending.settled));
  }

  set limit(limit) {
    whole('limit', limit, 0, MOST_PERMITS, misconfigured);
    this.#lending.setLimit(limit);
  }

  get inFlight() {
    return attempt(() => native.concurrencyInFlight(this.#lending.settled));
  }

  get available() {
    return attempt(() => native.concurrencyAvailable(this.#lending.settled));
  }

  get waiting() {
    return attempt(() => native.concurrencyWaiting(this.#lending.settled));
  }

  close() {
    this.#lending.close();
  }

  get isClosed() {
    return attempt(() => native.concurrencyIsClosed(this.#lending.settled));
  }

  stats() {
    return withHoldTimes(this.#lending.stats());
  }

  async run(fn, options = undefined) {
    callable('fn', fn);
    const { permits, wait } = waitOf('permits', options);
    const taken = this.#lending.take(permits, wait);
    const held = taken instanceof Promise ? await taken : taken;
    return during((ok) => held.release(ok), fn);
  }

  async map(iterable, fn, options = undefined) {
    callable('fn', fn);
    const { permits, wait } = waitOf('permits', options);
    const enter = async (signal) => {
      const held = await this.#lending.acquire(permits, { ...wait, signal });
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

printsAsText(ConcurrencyLimiter);

module.exports = { ConcurrencyLimiter };
