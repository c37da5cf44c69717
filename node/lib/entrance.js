'use strict';

const { callable, count, options: checked, signalOf, timeoutNs } = require('./arguments.js');
const { during, guarded } = require('./guard.js');
const { keyMaker, keyed } = require('./key.js');
const { mapped } = require('./map.js');
const { WAIT_OPTIONS } = require('./wait.js');

const leaving = (held) => held && ((ok) => held.release(ok));

/**
 * How calls get through a limiter: `run`, `map` and `guard`, for every kind. What they take is called `cost` or `permits`, and is to
 * be given back, by `release(ok)`, if the desk hands something out.
 */
class Entrance {
  #desk;
  #amount;
  #isKeyed;
  #known;

  /** `amount` is its name. */
  constructor(desk, amount, isKeyed = false) {
    this.#desk = desk;
    this.#amount = amount;
    this.#isKeyed = isKeyed;
    this.#known = [amount, ...WAIT_OPTIONS];
  }

  /** Calls `fn` when it is its turn, at once if nobody waits. */
  async run(fn, options, key) {
    if (this.#isKeyed) keyed('key', key);
    callable('fn', fn);
    const { amount, wait } = this.#asked(options);
    const leave = this.#enter(amount, wait, key);
    return during(leave instanceof Promise ? await leave : leave, fn);
  }

  /** Calls `fn` for each item when it is its turn. */
  async map(iterable, fn, options) {
    callable('fn', fn);
    const { amount, wait } = this.#asked(options);
    return mapped(iterable, fn, (signal) => this.#enter(amount, { ...wait, signal }), wait?.signal);
  }

  /** A function like `fn` that waits for its turn before each call, if it has a timeout; else `enter(amount, key)` lets it in. */
  guard(fn, options, enter) {
    callable('fn', fn);
    const known = [this.#amount, 'timeoutMs'];
    const { key, [this.#amount]: asked = 1, timeoutMs } = checked(options, this.#isKeyed ? ['key', ...known] : known);
    const makeKey = this.#isKeyed ? keyMaker(key) : undefined;
    const amount = count(this.#amount, asked);
    if (timeoutMs !== undefined) timeoutNs(timeoutMs);
    const wait = timeoutMs === undefined ? undefined : { timeoutMs };
    const admit = wait === undefined ? enter : (amount, key) => this.#enter(amount, wait, key);
    const gate = function gate(...args) {
      return admit(amount, makeKey?.apply(this, args));
    };
    return guarded(fn, gate, wait !== undefined);
  }

  /** How to leave again, or a promise of it. */
  #enter(amount, wait, key) {
    const taken = this.#desk.take(amount, wait, key);
    return taken instanceof Promise ? taken.then(leaving) : leaving(taken);
  }

  #asked(options) {
    if (options === undefined) return ONE;
    const { [this.#amount]: asked = 1, ...wait } = checked(options, this.#known);
    if (wait.timeoutMs !== undefined) timeoutNs(wait.timeoutMs);
    if (wait.signal !== undefined) signalOf(wait.signal);
    return { amount: count(this.#amount, asked), wait };
  }
}

const ONE = { amount: 1, wait: undefined };

module.exports = { Entrance };
