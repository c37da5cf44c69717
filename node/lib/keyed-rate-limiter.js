'use strict';

const { MOST, MOST_KEYS, callable, count, oneOf, options: checked, whole, wrongCount } = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { decided, figures, useGrant } = require('./decision.js');
const { attempt, fromNative, misconfigured, spent, wrongType } = require('./errors.js');
const { guarded } = require('./guard.js');
const { allKeyed, joinedBytes, joinedStrings, keyMaker, keyed } = require('./key.js');
const native = require('./native.js');
const { printsAsText } = require('./printing.js');
const { quotasOf } = require('./quota.js');
const { rateRefusal } = require('./refusal.js');

const { keyedRateDecide, keyedRatePeek, keyedRateTryAcquire, keyedRateTryAcquireMany } = native;

/** The most keys whose refusals can be counted. */
const MOST_COUNTED = 65_536;

class KeyedRateLimiter {
  #handle;
  /** What the native limiter enforces, kept here too: refusals show it, and it costs a lot to bring over. */
  #quotas;
  #capacity;
  /** Whether a key was ever given quotas of its own: then a refusal may be by another than `#quotas` has. */
  #hasOwnQuotas = false;

  constructor(quotas, options = {}) {
    const known = ['maxKeys', 'whenFull', 'trackDenied', 'clock'];
    const { maxKeys = 100_000, whenFull = 'evict', trackDenied = 0, clock } = checked(options, known);
    this.#quotas = quotasOf(quotas);
    this.#capacity = whole('maxKeys', maxKeys, 1, MOST_KEYS, misconfigured);
    oneOf('whenFull', whenFull, ['evict', 'deny_new']);
    whole('trackDenied', trackDenied, 0, MOST_COUNTED, misconfigured);
    const texts = this.#quotas.map(String);
    this.#handle = attempt(() => native.keyedRateLimiter(texts, maxKeys, whenFull, trackDenied, clockHandle(clock)));
  }

  tryAcquire(key, cost) {
    try {
      return cost === undefined ? keyedRateTryAcquire(this.#handle, key) : keyedRateTryAcquire(this.#handle, key, cost);
    } catch (error) {
      throw fromNative(error, () => wrongCall(key, cost));
    }
  }

  tryAcquireMany(keys, cost = 1) {
    if (!Array.isArray(keys)) throw wrongType('keys', keys, 'an array of keys');
    const strings = joinedStrings(keys);
    if (strings !== undefined) return this.#tryAcquireJoined(strings, cost);
    const own = allKeyed('keys', keys);
    const bytes = joinedBytes(own);
    if (bytes !== undefined) return this.#tryAcquireJoined(bytes, cost);
    count('cost', cost);
    return own.map((key) => this.tryAcquire(key, cost));
  }

  decide(key, cost = 1) {
    try {
      keyedRateDecide(this.#handle, key, cost, figures);
    } catch (error) {
      throw fromNative(error, () => wrongCall(key, cost));
    }
    return decided(this, cost, true);
  }

  peek(key, cost = 1) {
    try {
      keyedRatePeek(this.#handle, key, cost, figures);
    } catch (error) {
      throw fromNative(error, () => wrongCall(key, cost));
    }
    return decided();
  }

  refund(key, decision) {
    keyed('key', key);
    useGrant(decision, this, ({ cost, grantedAtNs, resetCount, keyHash }) => {
      try {
        native.keyedRateRefund(this.#handle, key, cost, grantedAtNs, resetCount, keyHash);
      } catch (error) {
        throw fromNative(error, () => spent('decision', 'one of another key', 'a decision of this limiter and key'));
      }
    });
  }

  reset(key) {
    keyed('key', key);
    attempt(() => native.keyedRateReset(this.#handle, key));
  }

  reconfigure(quotas) {
    const others = quotasOf(quotas);
    attempt(() => native.keyedRateReconfigure(this.#handle, others.map(String)));
    this.#quotas = others;
  }

  setQuota(key, quotas) {
    keyed('key', key);
    const own = quotasOf(quotas);
    attempt(() => native.keyedRateSetQuota(this.#handle, key, own.map(String)));
    this.#hasOwnQuotas = true;
  }

  clearQuota(key) {
    keyed('key', key);
    attempt(() => native.keyedRateClearQuota(this.#handle, key));
  }

  topDenied(n) {
    whole('n', n, 0, MOST);
    return attempt(() => native.keyedRateTopDenied(this.#handle, n));
  }

  get quotas() {
    return [...this.#quotas];
  }

  get quota() {
    return this.#quotas[0];
  }

  get capacity() {
    return this.#capacity;
  }

  get size() {
    return attempt(() => native.keyedRateLen(this.#handle));
  }

  stats() {
    return attempt(() => native.keyedRateStats(this.#handle));
  }

  guard(fn, options = {}) {
    callable('fn', fn);
    const { key, cost = 1 } = checked(options, ['key', 'cost']);
    const makeKey = keyMaker(key);
    count('cost', cost);
    const limiter = this;
    return guarded(fn, function enter(...args) {
      const decision = limiter.decide(makeKey.apply(this, args), cost);
      if (!decision.allowed) throw limiter.#refusal(decision, cost);
    });
  }

  #refusal(decision, cost) {
    return rateRefusal(decision, cost, this.#hasOwnQuotas ? undefined : this.#quotas[decision.quota]);
  }

  #tryAcquireJoined({ all, lengths }, cost) {
    try {
      keyedRateTryAcquireMany(this.#handle, all, lengths.buffer, cost);
    } catch (error) {
      throw fromNative(error, () => wrongCount('cost', cost));
    }
    const allowed = new Array(lengths.length);
    for (let index = 0; index < lengths.length; index++) allowed[index] = lengths[index] === 1;
    return allowed;
  }

  toString() {
    return `KeyedRateLimiter(${this.#quotas.join('; ')}, ${this.#capacity} keys)`;
  }
}

/** The error for a call of which the native library has found the key or the cost to be wrong. */
function wrongCall(key, cost) {
  try {
    keyed('key', key);
  } catch (error) {
    return error;
  }
  return wrongCount('cost', cost);
}

printsAsText(KeyedRateLimiter);

module.exports = { KeyedRateLimiter };
