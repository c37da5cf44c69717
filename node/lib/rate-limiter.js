'use strict';

const { callable, count, options: checked, wrongCount } = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { decided, figures, useGrant } = require('./decision.js');
const { attempt, fromNative } = require('./errors.js');
const { guarded } = require('./guard.js');
const native = require('./native.js');
const { printsAsText } = require('./printing.js');
const { quotasOf } = require('./quota.js');
const { rateRefusal } = require('./refusal.js');

const { rateDecide, ratePeek, rateTryAcquire } = native;

class RateLimiter {
  #handle;
  /** What the native limiter enforces, kept here too: refusals show it, and it costs a lot to bring over. */
  #quotas;

  constructor(quotas, options = {}) {
    const { clock } = checked(options, ['clock']);
    this.#quotas = quotasOf(quotas);
    this.#handle = attempt(() => native.rateLimiter(this.#quotas.map(String), clockHandle(clock)));
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
    this.#quotas = others;
  }

  get quotas() {
    return [...this.#quotas];
  }

  get quota() {
    return this.#quotas[0];
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

printsAsText(RateLimiter);

module.exports = { RateLimiter };
