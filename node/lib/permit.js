'use strict';

const { setTimeout } = require('node:timers');
const { boolean } = require('./arguments.js');
const { fromNative, spent, wrongType } = require('./errors.js');
const { concurrencyRelease, keyedConcurrencyRelease } = require('./native.js');
const { printsAsText } = require('./printing.js');

const OURS = Symbol('made by a limiter');

/** Each call names the function that it calls: the optimizer then calls it directly. */
function giveBack({ limiter, permits, taken, isKeyed }, ok) {
  if (isKeyed) keyedConcurrencyRelease(limiter, permits, ok, taken);
  else concurrencyRelease(limiter, permits, ok, taken);
}

/** Gives back what was forgotten. What it keeps of a permit is not the permit. */
const forgotten = new FinalizationRegistry((held) => {
  if (!held.isOut) return;
  giveBack(held, true);
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
  #permits;
  /** What to give back, and whether it still is to be. */
  #held;

  /** `limiter` is its handle, `taken` what the native tryAcquire returned. */
  constructor(ours, limiter, permits, taken, isKeyed) {
    if (ours !== OURS) throw wrongType('Permit', ours, 'tryAcquire, which makes permits');
    this.#permits = permits;
    this.#held = { limiter, permits, taken, isKeyed, isOut: true, isWatched: false };
    if (recent.push(this) >= MOST_RECENT) watchRecent();
    else if (!watchesSoon) {
      watchesSoon = true;
      setTimeout(watchRecent, RECENT_MS).unref();
    }
  }

  get permits() {
    return this.#permits;
  }

  get released() {
    return !this.#held.isOut;
  }

  release(ok = true) {
    boolean('ok', ok);
    const held = this.#held;
    if (!held.isOut) throw spent('permit', 'one that was released before', 'a permit that is still held');
    try {
      giveBack(held, ok);
      held.isOut = false;
    } catch (error) {
      // Without a code it is not from the native library: the stack had no room for the call, and the permit is still out.
      held.isOut = error.code === undefined;
      throw fromNative(error, () => spent('permit', `one of ${held.permits}`, 'a permit that is still held'));
    }
    if (held.isWatched) forgotten.unregister(held);
  }

  toString() {
    return `Permit(${this.permits}, ${this.released ? 'released' : 'held'})`;
  }

  static {
    watchRecent = () => {
      watchesSoon = false;
      for (const permit of recent) {
        const held = permit.#held;
        if (!held.isOut || held.isWatched) continue;
        held.isWatched = true;
        forgotten.register(permit, held, held);
      }
      recent.length = 0;
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

const permit = (limiter, permits, taken, isKeyed = false) => new Permit(OURS, limiter, permits, taken, isKeyed);

module.exports = { Permit, permit };
