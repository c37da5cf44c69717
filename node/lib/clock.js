'use strict';

const { timeFromMs, timeFromNs } = require('./arguments.js');
const { attempt, wrongType } = require('./errors.js');
const native = require('./native.js');
const { printsAsText } = require('./printing.js');

/** The handle of a clock, or undefined for the machine's. */
let clockHandle;

class ManualClock {
  #handle = attempt(native.manualClock);

  static {
    clockHandle = (clock) => {
      if (clock === undefined) return undefined;
      if (clock === null || typeof clock !== 'object' || !(#handle in clock)) {
        throw wrongType('clock', clock, 'a ManualClock, or undefined for the clock of the machine');
      }
      return clock.#handle;
    };
  }

  constructor(...unexpected) {
    if (unexpected.length > 0) {
      throw wrongType('ManualClock', unexpected[0], 'no argument: it starts at 0, and set or setNs puts it elsewhere');
    }
  }

  advance(ms) {
    this.#advance(timeFromMs('ms', ms));
  }

  advanceNs(ns) {
    this.#advance(timeFromNs('ns', ns));
  }

  set(ms) {
    this.#set(timeFromMs('ms', ms));
  }

  setNs(ns) {
    this.#set(timeFromNs('ns', ns));
  }

  nowNs() {
    return attempt(() => native.clockNow(this.#handle));
  }

  toString() {
    return `ManualClock(${this.nowNs()} ns)`;
  }

  #advance(ns) {
    attempt(() => native.clockAdvance(this.#handle, ns));
  }

  #set(ns) {
    attempt(() => native.clockSet(this.#handle, ns));
  }
}

printsAsText(ManualClock);

module.exports = { ManualClock, clockHandle };
