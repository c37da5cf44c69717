'use strict';

const { count, options: checked, timeoutNs } = require('./arguments.js');
const { attempt, spent, wrongType } = require('./errors.js');
const { printsAsText } = require('./printing.js');

const OURS = Symbol('made by a limiter');

class Reservation {
  #cancel;
  #mark;

  constructor(ours, made, cancel) {
    if (ours !== OURS) throw wrongType('Reservation', ours, 'reserve, which makes reservations');
    this.#cancel = cancel;
    this.#mark = made.mark;
    this.waitMs = Math.ceil(Number(made.waitNs) / 1e6);
    this.waitNs = made.waitNs;
    Object.freeze(this);
  }

  cancel() {
    const mark = this.#mark;
    if (mark === undefined) throw spent('reservation', 'one that was cancelled before', 'a reservation, once');
    const isCredited = attempt(() => this.#cancel(mark));
    this.#mark = undefined;
    return isCredited;
  }

  toString() {
    return `Reservation(${this.waitMs} ms)`;
  }
}

printsAsText(Reservation);

/**
 * Charges `cost` ahead of time: `charge(maxWaitNs)` calls the native library, `cancel(mark)` gives back what that returned, and
 * `refusal(status, maxWaitMs)` makes the error.
 */
function reserved(cost, options, { charge, cancel, refusal }) {
  count('cost', cost);
  const { maxWaitMs = Infinity } = checked(options, ['maxWaitMs']);
  const maxWaitNs = timeoutNs(maxWaitMs, 'maxWaitMs');
  const made = attempt(() => charge(maxWaitNs));
  if (made.status !== 0) throw refusal(made.status, maxWaitMs);
  return new Reservation(OURS, made, cancel);
}

module.exports = { Reservation, reserved };
