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
 * Permits that were lent of late, the first `recentCount` of them. Most are given back soon; those that aren't are then watched for
 * being forgotten. To watch each at once would cost more than to lend it.
 */
const recent = new Array(256).fill(undefined);
const RECENT_MS = 20;
let recentCount = 0;
let watchesSoon = false;
/** Watches what is still out of those. */
let watchRecent;

class Permit {
  /** Undefined once they are given back. */
  #limiter;
  #permits;
  #taken;
  /** What is watched in its place. */
  #watched;

  /** `limiter` is its Lending or KeyedLending; `taken` what the native tryAcquire returned. */
  constructor(ours, limiter, permits, taken) {
    if (ours !== OURS) throw wrongType('Permit', ours, 'tryAcquire, which makes permits');
    this.#limiter = limiter;
    this.#permits = permits;
    this.#taken = taken;
  }

  get permits() {
    return this.#permits;
  }

  get released() {
    return this.#limiter === undefined;
  }

  release(ok = true) {
    boolean('ok', ok);
    const limiter = this.#limiter;
    if (limiter === undefined) throw spent('permit', 'one that was released before', 'a permit that is still held');
    try {
      limiter.giveBack(this.#permits, this.#taken, ok);
      this.#limiter = undefined;
    } catch (error) {
      // Without a code it is not from the native library: the stack had no room for the call, and the permit is still out.
      if (error.code !== undefined) this.#limiter = undefined;
      throw fromNative(error, () => spent('permit', `one of ${this.#permits}`, 'a permit that is still held'));
    }
    if (this.#watched !== undefined) forgotten.unregister(this.#watched);
    else if (recent[recentCount - 1] === this) recent[--recentCount] = undefined;
  }

  toString() {
    return `Permit(${this.permits}, ${this.released ? 'released' : 'held'})`;
  }

  static {
    watchRecent = () => {
      while (recentCount > 0) {
        const permit = recent[recentCount - 1];
        if (permit.#limiter !== undefined) {
          const watched = { limiter: permit.#limiter, permits: permit.#permits, taken: permit.#taken };
          forgotten.register(permit, watched, watched);
          permit.#watched = watched;
        }
        recent[--recentCount] = undefined;
      }
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

function permit(limiter, permits, taken) {
  const made = new Permit(OURS, limiter, permits, taken);
  if (!watchesSoon) {
    setTimeout(watchRecent, RECENT_MS).unref();
    watchesSoon = true;
  }
  if (recentCount === recent.length) watchRecent();
  recent[recentCount++] = made; // Last: of what can't be made for want of room on the stack nothing is to be left.
  return made;
}

module.exports = { Permit, permit };
