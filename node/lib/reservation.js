'use strict';

const { attempt, spent, wrongType } = require('./errors.js');
const native = require('./native.js');
const { printsAsText } = require('./printing.js');

const OURS = Symbol('made by a limiter');

class Reservation {
  #limiter;
  #mark;

  /** `limiter` is its handle, `reserved` what the native reserve returned. */
  constructor(ours, limiter, reserved) {
    if (ours !== OURS) throw wrongType('Reservation', ours, 'reserve, which makes reservations');
    this.#limiter = limiter;
    this.#mark = reserved.mark;
    this.waitMs = Math.ceil(Number(reserved.waitNs) / 1e6);
    this.waitNs = reserved.waitNs;
    Object.freeze(this);
  }

  cancel() {
    const mark = this.#mark;
    if (mark === undefined) throw spent('reservation', 'one that was cancelled before', 'a reservation, once');
    const isCredited = attempt(() => native.rateCancelReservation(this.#limiter, mark));
    this.#mark = undefined;
    return isCredited;
  }

  toString() {
    return `Reservation(${this.waitMs} ms)`;
  }
}

printsAsText(Reservation);

const reservation = (limiter, reserved) => new Reservation(OURS, limiter, reserved);

module.exports = { Reservation, reservation };
