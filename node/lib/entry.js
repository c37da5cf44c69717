'use strict';

const { setTimeout } = require('node:timers');
const { boolean } = require('./arguments.js');
const { attempt, fromNative, spent, wrongType } = require('./errors.js');
const native = require('./native.js');
const { printsAsText } = require('./printing.js');
const { headersOf, isLegacy } = require('./refused.js');

const { gateEntryHeaders, gateRelease } = native;

const OURS = Symbol('made by a gate');

/** Gives back what was forgotten. What it keeps of an entry is not the entry. */
const forgotten = new FinalizationRegistry(({ gate, place }) => {
  gateRelease(gate, place, true);
  process.emitWarning(
    'An Entry was collected that had not been released. It is released now, later than it could be.',
    {
      type: 'TidegateWarning',
      code: 'TIDEGATE_ENTRY_FORGOTTEN',
    },
  );
});

/** Entries of late, the first `recentCount`: only those that last are watched for being forgotten, as with permits. */
const recent = new Array(256).fill(undefined);
const RECENT_MS = 20;
let recentCount = 0;
let watchesSoon = false;
/** Watches what is still inside of those. */
let watchRecent;

/** A request that a gate admitted. */
class Entry {
  #gate;
  #place;
  #applies;
  #isInside = true;
  /** What is watched in its place. */
  #watched;

  /** `gate` is the native one, and `place` where it has the entry. */
  constructor(ours, gate, place, applies) {
    if (ours !== OURS) throw wrongType('Entry', ours, 'tryEnter, which makes entries');
    this.#gate = gate;
    this.#place = place;
    this.#applies = applies;
  }

  get allowed() {
    return true;
  }

  get applies() {
    return this.#applies;
  }

  get status() {
    return this.#applies ? 'allowed' : 'no_rule';
  }

  get rules() {
    return this.#isInside ? attempt(() => native.gateEntryRules(this.#gate, this.#place)) : [];
  }

  get released() {
    return !this.#isInside;
  }

  headers(options = undefined) {
    const isAsked = isLegacy(options);
    if (!this.#isInside) return {};
    const [gate, place] = [this.#gate, this.#place];
    const legacy = isAsked ? attempt(() => native.gateEntryLegacy(gate, place)) : undefined;
    return headersOf(
      attempt(() => gateEntryHeaders(gate, place)),
      legacy,
    );
  }

  release(ok = true) {
    boolean('ok', ok);
    if (!this.#isInside) throw spent('entry', 'one that was released before', 'an entry that is still held');
    try {
      gateRelease(this.#gate, this.#place, ok);
      this.#isInside = false;
    } catch (error) {
      // Without a code it is not from the native library: the stack had no room for the call, and all is still held.
      this.#isInside = error.code === undefined;
      throw fromNative(error, () => spent('entry', 'one that is gone', 'an entry that is still held'));
    }
    if (this.#watched !== undefined) forgotten.unregister(this.#watched);
    else if (recent[recentCount - 1] === this) recent[--recentCount] = undefined;
  }

  toString() {
    return `Entry(${this.status}, ${this.released ? 'released' : 'held'})`;
  }

  static {
    watchRecent = () => {
      while (recentCount > 0) {
        const entry = recent[recentCount - 1];
        if (entry.#isInside) {
          const watched = { gate: entry.#gate, place: entry.#place };
          forgotten.register(entry, watched, watched);
          entry.#watched = watched;
        }
        recent[--recentCount] = undefined;
      }
      watchesSoon = false;
    };
    if (Symbol.dispose) {
      Object.defineProperty(Entry.prototype, Symbol.dispose, {
        value: function dispose() {
          if (!this.released) this.release();
        },
        configurable: true,
        writable: true,
      });
    }
  }
}

printsAsText(Entry);

function entry(gate, place, applies) {
  const made = new Entry(OURS, gate, place, applies);
  if (!watchesSoon) {
    setTimeout(watchRecent, RECENT_MS).unref();
    watchesSoon = true;
  }
  if (recentCount === recent.length) watchRecent();
  recent[recentCount++] = made; // Last: of what can't be made for want of room on the stack nothing is to be left.
  return made;
}

module.exports = { Entry, entry };
