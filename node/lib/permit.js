'use strict';

const { setTimeout } = require('node:timers');
const { boolean } = require('./arguments.js');
const { fromNative, spent, wrongType } = require('./errors.js');
const { printsAsText } = require('./printing.js');

const OURS = Symbol('made by a limiter');

/** Gives back what was forgotten. What it keeps of a permit is not the permit. */
const forgotten = new FinalizationRegistry(({ limiter, permits, taken }) => {
  limiter.giveBack(permits, taken, true);
  process.emitWarning(
    'A Permit was collected that had not been released. It is released now, later than it could be.',
    {
      type: 'TidegateWarning',
      code: 'TIDEGATE_PERMIT_FORGOTTEN',
    },
  );
});

/**
 * Permits that were lent of late. Most are given back soon; those that aren't are then watched for being forgotten. To watch each
 * at once would cost more than to lend it.
 */
const recent = [];
const MOST_RECENT = 256;
const RECENT_MS = 20;
let watchesSoon = false;
/** Watches what is still out of those. */
let watchRecent;

class Permit {
  #limiter;
  #permits;
  #taken;
  #isOut = true;
  /** What is watched in its place. */
  #watched;

  /** `limiter` is its Lending or KeyedLending; `taken` what the native tryAcquire returned. */
  constructor(ours, limiter, permits, taken) {
    if (ours !== OURS) throw wrongType('Permit', ours, 'tryAcquire, which makes permits');
    this.#limiter = limiter;
    this.#permits = permits;
    this.#taken = taken;
    if (!watchesSoon) {
      setTimeout(watchRecent, RECENT_MS).unref();
      watchesSoon = true;
    }
    if (recent.length >= MOST_RECENT) watchRecent();
    recent.push(this); // Last: of what can't be made for want of room on the stack nothing is to be left.
  }

  get permits() {
    return this.#permits;
  }

  get released() {
    return !this.#isOut;
  }

  release(ok = true) {
    boolean('ok', ok);
    if (!this.#isOut) throw spent('permit', 'one that was released before', 'a permit that is still held');
    try {
      this.#limiter.giveBack(this.#permits, this.#taken, ok);
      this.#isOut = false;
    } catch (error) {
      // Without a code it is not from the native library: the stack had no room for the call, and the permit is still out.
      this.#isOut = error.code === undefined;
      throw fromNative(error, () => spent('permit', `one of ${this.#permits}`, 'a permit that is still held'));
    }
    if (this.#watched !== undefined) forgotten.unregister(this.#watched);
  }

  toString() {
    return `Permit(${this.permits}, ${this.released ? 'released' : 'held'})`;
  }

  static {
    watchRecent = () => {
      for (const permit of recent) {
        if (!permit.#isOut || permit.#watched !== undefined) continue;
        const watched = { limiter: permit.#limiter, permits: permit.#permits, taken: permit.#taken };
        forgotten.register(permit, watched, watched);
        permit.#watched = watched;
      }
      recent.length = 0;
      watchesSoon = false;
    };
    if (Symbol.dispose) {
      Object.defineProperty(Permit.prototype, Symbol.dispose, {
        value: function dispose() {
          if (!this.released) this.release();
        },
        configurable: true,
        writable: true,
      });
    }
  }
}

printsAsText(Permit);

const permit = (limiter, permits, taken) => new Permit(OURS, limiter, permits, taken);

module.exports = { Permit, permit };
