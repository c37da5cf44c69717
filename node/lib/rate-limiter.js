'use strict';

const { maxWaitersOf, options: checked, sharedName, wrongCount } = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { decided, figures, useGrant } = require('./decision.js');
const { Entrance } = require('./entrance.js');
const { attempt, fromNative } = require('./errors.js');
const native = require('./native.js');
const { printsAsText } = require('./printing.js');
const { Quota, quotasOf } = require('./quota.js');
const { rateRefusal } = require('./refusal.js');
const { reserved } = require('./reservation.js');
const { Spending } = require('./spending.js');
const { Desk } = require('./wait.js');

const { rateDecide, ratePeek, rateTryAcquire } = native;

class RateLimiter {
  #handle;
  /** What the native limiter enforces, kept here too: refusals show it, and it costs a lot to bring over. */
  #ownQuotas;
  #isShared;
  #desk;
  #entrance;

  constructor(quotas, options = {}) {
    const { maxWaiters, clock, shared } = checked(options, ['clock', 'maxWaiters', 'shared']);
    this.#ownQuotas = quotasOf(quotas);
    const most = maxWaitersOf(maxWaiters);
    const manual = clockHandle(clock);
    const name = sharedName(shared, clock);
    this.#isShared = name !== undefined;
    this.#handle = attempt(() => native.rateLimiter(this.#ownQuotas.map(String), most, manual, name));
    this.#desk = new Desk(new Spending(this.#handle, () => this.#quotas), clock);
    this.#entrance = new Entrance(this.#desk, 'cost');
  }

  /** Those of a limiter that is shared may have been changed by another thread. */
  get #quotas() {
    return this.#isShared ? attempt(() => native.rateQuotas(this.#handle)).map(Quota.parse) : this.#ownQuotas;
  }

  tryAcquire(cost) {
    try {
      const admitted = cost === undefined ? rateTryAcquire(this.#handle) : rateTryAcquire(this.#handle, cost);
      return admitted !== undefined;
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

  run(fn, options = undefined) {
    return this.#entrance.run(fn, options);
  }

  map(iterable, fn, options = undefined) {
    return this.#entrance.map(iterable, fn, options);
  }

  reserve(cost = 1, options = {}) {
    return reserved(cost, options, {
      charge: (maxWaitNs) => native.rateReserve(this.#handle, cost, maxWaitNs),
      cancel: (mark) => native.rateCancelReservation(this.#handle, mark),
      refusal: (status, maxWaitMs) => this.#desk.limiter.refusal(cost, status, 0, maxWaitMs),
    });
  }

  get waiting() {
    return attempt(() => native.rateWaiting(this.#handle));
  }

  stats() {
    return attempt(() => native.rateStats(this.#handle));
  }

  guard(fn, options = {}) {
    return this.#entrance.guard(fn, options, (cost) => {
      const decision = this.decide(cost);
      if (!decision.allowed) throw rateRefusal(decision, cost, this.#quotas[decision.quota]);
    });
  }

  toString() {
    return `RateLimiter(${this.#quotas.join('; ')})`;
  }
}

printsAsText(RateLimiter);

module.exports = { RateLimiter };
