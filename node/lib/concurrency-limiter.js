'use strict';

const { MOST_PERMITS, boolean, maxWaitersOf, options: checked, sharedName, whole } = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { attempt, misconfigured } = require('./errors.js');
const { Lending } = require('./lending.js');
const native = require('./native.js');
const { printsAsText, withHoldTimes } = require('./printing.js');
const { permitsRefusal } = require('./refusal.js');

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

  run(fn, options = undefined) {
    return this.#lending.entrance.run(fn, options);
  }

  map(iterable, fn, options = undefined) {
    return this.#lending.entrance.map(iterable, fn, options);
  }

  guard(fn, options = {}) {
    return this.#lending.entrance.guard(fn, options, (permits) => this.#enter(permits));
  }

  toString() {
    return `ConcurrencyLimiter(${this.inFlight} of ${this.limit} out)`;
  }

  /** Takes a permit or throws the refusal; returns how to leave. */
  #enter(permits) {
    const held = this.tryAcquire(permits);
    if (held) return (ok) => held.release(ok);
    throw permitsRefusal(permits, this.limit, this.available, this.isClosed);
  }
}

printsAsText(ConcurrencyLimiter);

module.exports = { ConcurrencyLimiter };
