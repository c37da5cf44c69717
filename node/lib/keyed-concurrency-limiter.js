'use strict';

const {
  MOST_KEYS,
  MOST_PERMITS,
  boolean,
  maxWaitersOf,
  options: checked,
  sharedName,
  whole,
} = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { attempt, misconfigured } = require('./errors.js');
const { keyed } = require('./key.js');
const { KeyedLending } = require('./keyed-lending.js');
const native = require('./native.js');
const { printsAsText, withHoldTimes } = require('./printing.js');
const { permitsRefusal } = require('./refusal.js');

const OPTIONS = ['maxKeys', 'trackHoldTime', 'maxWaiters', 'clock', 'shared'];

class KeyedConcurrencyLimiter {
  #handle;
  #lending;
  #capacity;

  constructor(limit, options = {}) {
    whole('limit', limit, 0, MOST_PERMITS, misconfigured);
    const { maxKeys = 100_000, trackHoldTime = false, maxWaiters, clock, shared } = checked(options, OPTIONS);
    this.#capacity = whole('maxKeys', maxKeys, 1, MOST_KEYS, misconfigured);
    boolean('trackHoldTime', trackHoldTime);
    const most = maxWaitersOf(maxWaiters);
    const manual = clockHandle(clock);
    const name = sharedName(shared, clock);
    this.#handle = attempt(() => native.keyedConcurrencyLimiter(limit, maxKeys, trackHoldTime, most, manual, name));
    this.#lending = new KeyedLending(this.#handle, clock);
  }

  tryAcquire(key, permits = 1) {
    return this.#lending.tryAcquire(key, permits);
  }

  acquire(key, permits = 1, options = undefined) {
    return this.#lending.acquire(key, permits, options);
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

  waiting(key) {
    keyed('key', key);
    return attempt(() => native.keyedConcurrencyWaiting(this.#handle, key));
  }

  close() {
    attempt(() => native.keyedConcurrencyClose(this.#handle));
  }

  get isClosed() {
    return attempt(() => native.keyedConcurrencyIsClosed(this.#handle));
  }

  get capacity() {
    return this.#capacity;
  }

  stats() {
    return withHoldTimes(attempt(() => native.keyedConcurrencyStats(this.#handle)));
  }

  run(key, fn, options = undefined) {
    return this.#lending.entrance.run(fn, options, key);
  }

  guard(fn, options = {}) {
    return this.#lending.entrance.guard(fn, options, (permits, key) => this.#enter(permits, key));
  }

  toString() {
    return `KeyedConcurrencyLimiter(${this.limit} each, ${this.#capacity} keys)`;
  }

  /** Takes a permit or throws the refusal; returns how to leave. */
  #enter(permits, key) {
    const held = this.tryAcquire(key, permits);
    if (held) return (ok) => held.release(ok);
    throw permitsRefusal(permits, this.limit, this.available(key), this.isClosed);
  }
}

printsAsText(KeyedConcurrencyLimiter);

module.exports = { KeyedConcurrencyLimiter };
