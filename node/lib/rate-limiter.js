'use strict';

const {
  callable,
  count,
  maxWaitersOf,
  options: checked,
  sharedName,
  timeoutNs,
  wrongCount,
} = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { decided, figures, useGrant } = require('./decision.js');
const { attempt, fromNative } = require('./errors.js');
const { guarded } = require('./guard.js');
const { mapped } = require('./map.js');
const native = require('./native.js');
const { printsAsText } = require('./printing.js');
const { Quota, quotasOf } = require('./quota.js');
const { rateRefusal, waitRefusal } = require('./refusal.js');
const { reservation } = require('./reservation.js');
const { Desk, waitOf } = require('./wait.js');

const { rateAcquire, rateDecide, ratePeek, rateTryAcquire } = native;

class RateLimiter {
  #handle;
  /** What the native limiter enforces, kept here too: refusals show it, and it costs a lot to bring over. */
  #ownQuotas;
  #isShared;
  #desk;

  constructor(quotas, options = {}) {
    const { maxWaiters, clock, shared } = checked(options, ['clock', 'maxWaiters', 'shared']);
    this.#ownQuotas = quotasOf(quotas);
    const most = maxWaitersOf(maxWaiters);
    const manual = clockHandle(clock);
    const name = sharedName(shared, clock);
    this.#isShared = name !== undefined;
    this.#handle = attempt(() => native.rateLimiter(this.#ownQuotas.map(String), most, manual, name));
    this.#desk = new Desk(new Spending(this.#handle), clock);
  }

  /** Those of a limiter that is shared may have been changed by another thread. */
  get #quotas() {
    return this.#isShared ? attempt(() => native.rateQuotas(this.#handle)).map(Quota.parse) : this.#ownQuotas;
  }

  tryAcquire(cost) {
    try {
      return cost === undefined ? rateTryAcquire(this.#handle) : rateTryAcquire(this.#handle, cost);
    } catch (error) {
      throw fromNative(error, () => wrongCount('cost', cost));
    }
  }

  decide(cost = 1) {
    try {
      rateDecide(this.#handle, cost, figures);
    } catch (error) {
      throw fromNative(error, () => wrongCount('cost', cost));
    }
    return decided(this, cost);
  }

  peek(cost = 1) {
    try {
      ratePeek(this.#handle, cost, figures);
    } catch (error) {
      throw fromNative(error, () => wrongCount('cost', cost));
    }
    return decided();
  }

  refund(decision) {
    useGrant(decision, this, ({ cost, grantedAtNs, resetCount }) => {
      attempt(() => native.rateRefund(this.#handle, cost, grantedAtNs, resetCount));
    });
  }

  reset() {
    attempt(() => native.rateReset(this.#handle));
  }

  reconfigure(quotas) {
    const others = quotasOf(quotas);
    attempt(() => native.rateReconfigure(this.#handle, others.map(String)));
    this.#ownQuotas = others;
  }

  get quotas() {
    return [...this.#quotas];
  }

  get quota() {
    return this.#quotas[0];
  }

  acquire(cost = 1, options = undefined) {
    return this.#desk.acquire(cost, options);
  }

  async run(fn, options = undefined) {
    callable('fn', fn);
    const { cost, wait } = waitOf('cost', options);
    const taken = this.#desk.take(cost, wait);
    if (taken !== undefined) await taken;
    return fn();
  }

  async map(iterable, fn, options = undefined) {
    callable('fn', fn);
    const { cost, wait } = waitOf('cost', options);
    return mapped(iterable, fn, (signal) => this.#desk.acquire(cost, { ...wait, signal }), wait?.signal);
  }

  reserve(cost = 1, options = {}) {
    count('cost', cost);
    const { maxWaitMs = Infinity } = checked(options, ['maxWaitMs']);
    const reserved = attempt(() => native.rateReserve(this.#handle, cost, timeoutNs(maxWaitMs, 'maxWaitMs')));
    if (reserved.status !== 0) throw this.#desk.limiter.refusal(cost, reserved.status, 0, maxWaitMs);
    return reservation(this.#handle, reserved);
  }

  get waiting() {
    return attempt(() => native.rateWaiting(this.#handle));
  }

  stats() {
    return attempt(() => native.rateStats(this.#handle));
  }

  guard(fn, options = {}) {
    callable('fn', fn);
    const { cost = 1 } = checked(options, ['cost']);
    count('cost', cost);
    return guarded(fn, () => {
      const decision = this.decide(cost);
      if (!decision.allowed) throw rateRefusal(decision, cost, this.#quotas[decision.quota]);
    });
  }

  toString() {
    return `RateLimiter(${this.#quotas.join('; ')})`;
  }
}

/** What a desk needs to know of tokens. */
class Spending {
  #handle;

  constructor(handle) {
    this.#handle = handle;
  }

  start(cost, timeoutNs, id, waits) {
    try {
      return rateAcquire(this.#handle, cost, timeoutNs, id, waits);
    } catch (error) {
      throw fromNative(error, () => wrongCount('cost', cost));
    }
  }

  granted() {}

  undo(cost, grantedAtNs, resetCount) {
    native.rateRefund(this.#handle, cost, grantedAtNs, Number(resetCount));
  }

  refusal(cost, status, elapsedMs, timeoutMs) {
    return attempt(() => {
      const quotas = native.rateQuotas(this.#handle).map(Quota.parse);
      const figures = { elapsedMs, timeoutMs, limit: quotas[0].limit, waiting: native.rateWaiting(this.#handle) };
      const never = `${quotas.join('; ')} holds at most ${Math.min(...quotas.map(({ burst }) => burst))}`;
      return waitRefusal(`cost ${cost}`, status, never, figures);
    });
  }
}

printsAsText(RateLimiter);

module.exports = { RateLimiter };
