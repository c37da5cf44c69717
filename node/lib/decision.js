'use strict';

const { spent, wrongType } = require('./errors.js');
const { toJson } = require('./printing.js');

const STATUS = { 0: 'allowed', 1: 'denied', 2: 'exceeds_capacity', 6: 'keys_full' };
const NEVER_NS = 2n ** 64n - 1n;

/** Where the native library writes the figures of a decision (`figures` in src/rate_limiter.rs). */
const figures = new ArrayBuffer(88);
const doubles = new Float64Array(figures, 0, 6);
const integers = new BigUint64Array(figures, 48, 5);

const OURS = Symbol('made by a limiter');

/** Uses the grant that a decision bears, and has it given up: unless its use throws. */
let useGrant;

class Decision {
  /** Who may refund it; undefined if it granted nothing. */
  #limiter;
  // What was granted. An object of its own would make a decision a tenth slower.
  #isSpent = false;
  #cost;
  #grantedAtNs;
  #resetCount;
  #keyHash;

  /** Reads what was just written to `figures`; `limiter` may refund it if it granted. */
  constructor(ours, limiter, cost, isKeyed) {
    if (ours !== OURS) throw wrongType('Decision', ours, 'decide and peek, which make decisions');
    const granted = doubles[0] === 0;
    this.allowed = granted;
    this.status = STATUS[doubles[0]];
    this.limit = doubles[2];
    this.remaining = doubles[3];
    this.retryAfterMs = doubles[4];
    this.retryAfterSeconds = this.retryAfterMs === Infinity ? null : Math.ceil(this.retryAfterMs / 1000);
    this.retryAfterNs = granted ? 0n : integers[0];
    this.resetAfterMs = doubles[5];
    this.resetAfterNs = integers[1];
    this.quota = doubles[1];
    Object.freeze(this);
    if (granted && limiter !== undefined) {
      this.#limiter = limiter;
      this.#cost = cost;
      this.#grantedAtNs = integers[2];
      this.#resetCount = integers[3];
      this.#keyHash = isKeyed ? integers[4] : 0n;
    }
  }

  toJSON() {
    return toJson(this);
  }

  static {
    useGrant = (decision, limiter, use) => {
      const allowed = 'a decision of this limiter that granted, once';
      if (decision === null || typeof decision !== 'object' || !(#limiter in decision)) {
        throw wrongType('decision', decision, allowed);
      }
      if (decision.#limiter === undefined) throw spent('decision', 'one that granted nothing', allowed);
      if (decision.#limiter !== limiter) throw spent('decision', 'one of another limiter', allowed);
      if (decision.#isSpent) throw spent('decision', 'one that was refunded before', allowed);
      const resetCount = Number(decision.#resetCount);
      use({ cost: decision.#cost, grantedAtNs: decision.#grantedAtNs, resetCount, keyHash: decision.#keyHash });
      decision.#isSpent = true;
    };
  }
}

const decided = (limiter, cost, isKeyed = false) => new Decision(OURS, limiter, cost, isKeyed);

module.exports = { Decision, NEVER_NS, figures, decided, useGrant };
