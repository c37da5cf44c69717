'use strict';

const { callable, count, record, wrongCount } = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { decided, figures, takeGrant } = require('./decision.js');
const { ExceedsCapacityError, RefusedError, attempt, fromNative } = require('./errors.js');
const { guarded } = require('./guard.js');
const native = require('./native.js');
const { Quota, textsOf } = require('./quota.js');

const { rateDecide, ratePeek, rateTryAcquire } = native;

class RateLimiter {
  #handle;

  constructor(quotas, options = {}) {
    const { clock } = record('options', options, ['clock']);
    this.#handle = attempt(() => native.rateLimiter(textsOf(quotas), clockHandle(clock)));
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
    const { cost, grantedAtNs, resetCount } = takeGrant(decision, this);
    attempt(() => native.rateRefund(this.#handle, cost, grantedAtNs, resetCount));
  }

  reset() {
    attempt(() => native.rateReset(this.#handle));
  }

  reconfigure(quotas) {
    attempt(() => native.rateReconfigure(this.#handle, textsOf(quotas)));
  }

  get quotas() {
    return attempt(() => native.rateQuotas(this.#handle)).map((exact) => new Quota(exact.text));
  }

  get quota() {
    return this.quotas[0];
  }

  stats() {
    return attempt(() => native.rateStats(this.#handle));
  }

  guard(fn, options = {}) {
    callable('fn', fn);
    const { cost = 1 } = record('options', options, ['cost']);
    count('cost', cost);
    return guarded(fn, () => {
      const decision = this.decide(cost);
      if (!decision.allowed) throw refusal(decision, cost);
    });
  }
}

function refusal(decision, cost) {
  if (decision.status === 'exceeds_capacity') {
    return new ExceedsCapacityError(`A cost of ${cost} is more than the quota can ever grant.`, decision);
  }
  const { retryAfterMs } = decision;
  const when = retryAfterMs === Infinity ? 'It will never be granted' : `Retry after ${retryAfterMs} ms`;
  return new RefusedError(`Refused by the rate limiter. ${when}.`, decision);
}

module.exports = { RateLimiter };
