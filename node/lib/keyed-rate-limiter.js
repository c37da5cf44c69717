'use strict';

const {
  MOST,
  MOST_KEYS,
  maxWaitersOf,
  oneOf,
  options: checked,
  sharedName,
  whole,
  wrongCount,
} = require('./arguments.js');
const { MOST_AT_ONCE, allowed, answers, inPieces } = require('./batch.js');
const { clockHandle } = require('./clock.js');
const { decided, figures, useGrant } = require('./decision.js');
const { Entrance } = require('./entrance.js');
const { attempt, fromNative, misconfigured, spent, wrongType } = require('./errors.js');
const { allKeyed, keyed, ownKey, wrongKeyOr, wrongKeysOr } = require('./key.js');
const native = require('./native.js');
const { printsAsText } = require('./printing.js');
const { Quota, quotasOf } = require('./quota.js');
const { rateRefusal } = require('./refusal.js');
const { reserved } = require('./reservation.js');
const { KeyedSpending } = require('./spending.js');
const { Desk } = require('./wait.js');

const { keyedRateDecide, keyedRatePeek, keyedRateTryAcquire, keyedRateTryAcquireMany } = native;

/** The most keys whose refusals can be counted. */
const MOST_COUNTED = 65_536;

/** The error for a call of which the native library has found the key or the cost to be wrong. */
const wrongCall = (key, cost) => wrongKeyOr(key, () => wrongCount('cost', cost));

const OPTIONS = ['maxKeys', 'whenFull', 'trackDenied', 'maxWaiters', 'clock', 'shared'];

class KeyedRateLimiter {
  #handle;
  /** What the native limiter enforces, kept here too: refusals show it, and it costs a lot to bring over. */
  #ownQuotas;
  #isShared;
  #capacity;
  #spending;
  #desk;
  #entrance;

  constructor(quotas, options = {}) {
    const known = checked(options, OPTIONS);
    const { maxKeys = 100_000, whenFull = 'evict', trackDenied = 0, maxWaiters, clock, shared } = known;
    this.#ownQuotas = quotasOf(quotas);
    this.#capacity = whole('maxKeys', maxKeys, 1, MOST_KEYS, misconfigured);
    oneOf('whenFull', whenFull, ['evict', 'deny_new']);
    const most = maxWaitersOf(maxWaiters);
    whole('trackDenied', trackDenied, 0, MOST_COUNTED, misconfigured);
    const manual = clockHandle(clock);
    const name = sharedName(shared, clock);
    this.#isShared = name !== undefined;
    const texts = this.#ownQuotas.map(String);
    this.#handle = attempt(() => native.keyedRateLimiter(texts, maxKeys, whenFull, trackDenied, most, manual, name));
    this.#spending = new KeyedSpending(this.#handle, () => this.#quotas, this.#isShared);
    this.#desk = new Desk(this.#spending, clock);
    this.#entrance = new Entrance(this.#desk, 'cost', true);
  }

  /** Those of a limiter that is shared may have been changed by another thread. */
  get #quotas() {
    return this.#isShared ? attempt(() => native.keyedRateQuotas(this.#handle)).map(Quota.parse) : this.#ownQuotas;
  }

  tryAcquire(key, cost) {
    try {
      const admitted =
        cost === undefined ? keyedRateTryAcquire(this.#handle, key) : keyedRateTryAcquire(this.#handle, key, cost);
      return admitted !== undefined;
    } catch (error) {
      throw fromNative(error, () => wrongCall(key, cost));
    }
  }

  tryAcquireMany(keys, cost = 1) {
    if (!Array.isArray(keys)) throw wrongType('keys', keys, 'an array of keys');
    // An array may have getters, and an iterator of its own.
    const own = [...keys];
    if (own.length <= MOST_AT_ONCE) return this.#tryAcquireSome(own, cost);
    return inPieces(allKeyed('keys', own), (some) => this.#tryAcquireSome(some, cost));
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
    this.#ownQuotas = others;
  }

  setQuota(key, quotas) {
    keyed('key', key);
    const own = quotasOf(quotas);
    attempt(() => native.keyedRateSetQuota(this.#handle, key, own.map(String)));
    this.#spending.mayDiffer = true;
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

  acquire(key, cost = 1, options = undefined) {
    return this.#desk.acquire(cost, options, key);
  }

  run(key, fn, options = undefined) {
    return this.#entrance.run(fn, options, key);
  }

  reserve(key, cost = 1, options = {}) {
    const own = ownKey(keyed('key', key));
    return reserved(cost, options, {
      charge: (maxWaitNs) => native.keyedRateReserve(this.#handle, own, cost, maxWaitNs),
      cancel: (mark) => native.keyedRateCancelReservation(this.#handle, own, mark),
      refusal: (status, maxWaitMs) => this.#spending.refusal(cost, status, 0, maxWaitMs, own),
    });
  }

  waiting(key) {
    keyed('key', key);
    return attempt(() => native.keyedRateWaiting(this.#handle, key));
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
    return this.#entrance.guard(fn, options, (cost, key) => this.#enter(cost, key));
  }

  /** Spends tokens or throws the refusal. */
  #enter(cost, key) {
    const decision = this.decide(key, cost);
    if (decision.allowed) return;
    throw rateRefusal(decision, cost, this.#spending.mayDiffer ? undefined : this.#quotas[decision.quota]);
  }

  #tryAcquireSome(keys, cost) {
    let total;
    try {
      total = keyedRateTryAcquireMany(this.#handle, cost, allowed, ...keys);
    } catch (error) {
      throw fromNative(error, () => wrongKeysOr(keys, () => wrongCount('cost', cost)));
    }
    return answers(keys.length, total);
  }

  toString() {
    return `KeyedRateLimiter(${this.#quotas.join('; ')}, ${this.#capacity} keys)`;
  }
}

printsAsText(KeyedRateLimiter);

module.exports = { KeyedRateLimiter };
