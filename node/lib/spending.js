'use strict';

const { wrongCount } = require('./arguments.js');
const { attempt, fromNative } = require('./errors.js');
const { wrongKeyOr } = require('./key.js');
const native = require('./native.js');
const { waitRefusal } = require('./refusal.js');

const { keyedRateAcquire, rateAcquire } = native;

/** What a desk needs to know of the tokens of a rate limiter. `quotas()` returns those that it has. */
class Spending {
  #handle;
  #quotas;

  constructor(handle, quotas) {
    this.#handle = handle;
    this.#quotas = quotas;
  }

  start(cost, timeoutNs, id, waits) {
    try {
      return rateAcquire(this.#handle, cost, timeoutNs, id, waits);
    } catch (error) {
      throw fromNative(error, () => wrongCount('cost', cost));
    }
  }

  takenOf(grant) {
    return [grant[0], Number(grant[1])];
  }

  granted() {}

  undo(cost, [grantedAtNs, resetCount]) {
    native.rateRefund(this.#handle, cost, grantedAtNs, resetCount);
  }

  refusal(cost, status, elapsedMs, timeoutMs) {
    const waiting = attempt(() => native.rateWaiting(this.#handle));
    return tokensRefusal(cost, status, this.#quotas(), { elapsedMs, timeoutMs, waiting });
  }
}

/** The same of a keyed one. */
class KeyedSpending {
  #handle;
  #quotas;
  /** Whether a key may have been given quotas of its own: then a refusal may be by another than the limiter's. */
  mayDiffer;

  constructor(handle, quotas, mayDiffer) {
    this.#handle = handle;
    this.#quotas = quotas;
    this.mayDiffer = mayDiffer;
  }

  start(cost, timeoutNs, id, waits, key) {
    try {
      return keyedRateAcquire(this.#handle, cost, timeoutNs, id, waits, key);
    } catch (error) {
      throw fromNative(error, () => wrongKeyOr(key, () => wrongCount('cost', cost)));
    }
  }

  takenOf(grant) {
    return [grant[0], Number(grant[1]), grant[2]];
  }

  granted() {}

  undo(cost, [grantedAtNs, resetCount, keyHash], key) {
    native.keyedRateRefund(this.#handle, key, cost, grantedAtNs, resetCount, keyHash);
  }

  refusal(cost, status, elapsedMs, timeoutMs, key) {
    const waiting = attempt(() => native.keyedRateWaiting(this.#handle, key));
    return tokensRefusal(cost, status, this.#quotas(), { elapsedMs, timeoutMs, waiting }, this.mayDiffer);
  }
}

function tokensRefusal(cost, status, quotas, figures, mayDiffer = false) {
  const most = Math.min(...quotas.map(({ burst }) => burst));
  const never = mayDiffer ? 'it is more than the burst' : `${quotas.join('; ')} holds at most ${most}`;
  return waitRefusal(`cost ${cost}`, status, never, { ...figures, limit: quotas[0].limit });
}

module.exports = { Spending, KeyedSpending };
