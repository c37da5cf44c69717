'use strict';

const { clearTimeout, setTimeout } = require('node:timers');
const { types } = require('node:util');
const { wrongCount } = require('./arguments.js');
const { entry } = require('./entry.js');
const { attempt, fromNative, wrongType } = require('./errors.js');
const native = require('./native.js');
const { headersOf, refusal } = require('./refused.js');
const { LONGEST_TIMER_MS, listen, nextId, stopListening, waiting, waits } = require('./wait.js');

const { gateCancel, gateEnter, gatePass, gatePoll } = native;

/** What the native library answers in place of an entry, as `src/gate.rs` has it. */
const STALE = -1;
const REFUSED = -2;
const WAITS = -3;
/** Most attributes that are arguments of their own. */
const OWN_ARGUMENTS = 4;
const NOT_AT_ALL_NS = 0;
const asItIs = (entered) => entered;

/** A value as the native library reads it: a string, bytes, or undefined. */
function text(request, name) {
  const value = request[name];
  return typeof value === 'string' || value === undefined ? value : textOf(value, name);
}

function textOf(value, name) {
  if (value === null) return undefined;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (types.isUint8Array(value) && !types.isSharedArrayBuffer(value.buffer)) return value;
  throw wrongType(`request.${name}`, value, 'a string, a Uint8Array, a number, a bigint, a boolean, null or undefined');
}

/** The way into a gate, beside its native half. */
class Turnstile {
  /** The names of the attributes that the rules ask for. No other is looked at. */
  #names;
  /** What headers say of each quota. */
  #items;
  /** Where the native library writes which of them, and what is left. */
  #left = new Float64Array(3);

  constructor(clock, manual) {
    this.clock = clock;
    this.handle = attempt(() => native.gate(manual, this.#left));
    this.#refresh();
  }

  /** An Entry or a Refusal at once. */
  tryEnter(request, cost) {
    return this.#settled(this.#ask(request, cost, NOT_AT_ALL_NS, 0));
  }

  /**
   * What a request comes to, or a promise of it; without a timeout, -1, it waits as the rules say. `settle` makes what is returned, or
   * what it throws, of an Entry or a Refusal.
   */
  enter(request, cost, timeoutNs, signal, settle) {
    if (signal?.aborted) throw signal.reason;
    const id = nextId();
    const answer = this.#ask(request, cost, timeoutNs, id);
    if (answer > WAITS) return settle(this.#settled(answer));
    try {
      return this.#wait(id, WAITS - answer, { signal, settle });
    } catch (error) {
      this.#abandon(id);
      throw error;
    }
  }

  /**
   * What a request of cost 1 comes to, or a promise of it, that would not use an Entry but for the headers of its response: if it would
   * hold no permits, these. `read(request, name)` is an attribute's value: a string, bytes or undefined.
   */
  pass(request, read, timeoutNs, signal) {
    for (;;) {
      const id = nextId();
      const answer = this.#callPass(request, read, timeoutNs, id);
      if (answer === this.handle) return this.#headers();
      if (typeof answer !== 'number') return headersOf(answer);
      if (answer === STALE) {
        this.#refresh();
        continue;
      }
      if (answer > WAITS) return this.#settled(answer);
      try {
        return this.#wait(id, WAITS - answer, { signal, settle: asItIs });
      } catch (error) {
        this.#abandon(id);
        throw error;
      }
    }
  }

  #callPass(request, read, timeoutNs, id) {
    const names = this.#names;
    const count = names.length;
    const isMany = count > OWN_ARGUMENTS;
    const one = isMany ? names.map((name) => read(request, name)) : count > 0 ? read(request, names[0]) : undefined;
    const two = count > 1 && !isMany ? read(request, names[1]) : undefined;
    const three = count > 2 && !isMany ? read(request, names[2]) : undefined;
    const four = count === OWN_ARGUMENTS ? read(request, names[3]) : undefined;
    try {
      return gatePass(this.handle, 1, timeoutNs, waits, id, one, two, three, four);
    } catch (error) {
      throw fromNative(error, () => error);
    }
  }

  #headers() {
    // By their places: an iterator would cost more than the headers.
    const { policy, name } = this.#items[this.#left[0]];
    return { 'RateLimit-Policy': policy, RateLimit: `${name};r=${this.#left[1]};t=${this.#left[2]}` };
  }

  #wait(id, wakeAfterMs, asked) {
    return new Promise((resolve, reject) => {
      try {
        waiting.set(id, new Entering(this, id, { ...asked, resolve, reject }, wakeAfterMs));
      } catch (error) {
        this.#abandon(id);
        reject(error);
      }
    });
  }

  stats() {
    return attempt(() => native.gateStats(this.handle));
  }

  /** The stack had no room for one who waits. */
  #abandon(id) {
    gateCancel(this.handle, id);
    waiting.delete(id);
  }

  /** The attributes that a rule asks for and this request has. */
  attributes(request) {
    checkRequest(request);
    this.#refresh();
    const given = this.#names.map((name) => [name, text(request, name)]);
    return given.filter(([, value]) => value !== undefined);
  }

  /** Goes on with a request that waits: how many ms until it is to be asked for again, or what it came to. */
  poll(id) {
    const answer = gatePoll(this.handle, id);
    return answer > WAITS ? this.#settled(answer) : WAITS - answer;
  }

  /** One native call, unless the rules were changed in between. */
  #ask(request, cost, timeoutNs, id) {
    checkRequest(request);
    for (;;) {
      const answer = this.#call(request, cost, timeoutNs, id);
      if (answer !== STALE) return answer;
      this.#refresh();
    }
  }

  #call(request, cost, timeoutNs, id) {
    const names = this.#names;
    const count = names.length;
    // As arguments of their own: an array would cost more than the call.
    const one =
      count > OWN_ARGUMENTS
        ? names.map((name) => text(request, name))
        : count > 0
          ? text(request, names[0])
          : undefined;
    const two = count > 1 && count <= OWN_ARGUMENTS ? text(request, names[1]) : undefined;
    const three = count > 2 && count <= OWN_ARGUMENTS ? text(request, names[2]) : undefined;
    const four = count === OWN_ARGUMENTS ? text(request, names[3]) : undefined;
    try {
      return gateEnter(this.handle, cost, timeoutNs, waits, id, one, two, three, four);
    } catch (error) {
      throw fromNative(error, () => wrongCount('cost', cost));
    }
  }

  #settled(answer) {
    if (answer === REFUSED) return refusal(native.gateRefusal(this.handle));
    const place = Math.floor(answer / 2);
    try {
      return entry(this.handle, place, answer % 2 === 1);
    } catch (error) {
      // No room on the stack for an Entry.
      native.gateRelease(this.handle, place, false);
      throw error;
    }
  }

  #refresh() {
    this.#names = attempt(() => native.gateNames(this.handle));
    this.#items = attempt(() => native.gateItems(this.handle));
  }
}

function checkRequest(request) {
  if (request === null || typeof request !== 'object') {
    throw wrongType('request', request, 'an object of attributes, such as { path, method, client }');
  }
}

/** One who waits to be admitted. */
class Entering {
  #turnstile;
  #id;
  #asked;
  #timer;

  constructor(turnstile, id, asked, wakeAfterMs) {
    this.#turnstile = turnstile;
    this.#id = id;
    this.#asked = asked;
    this.#arm(wakeAfterMs);
    if (asked.signal) listen(asked.signal, this);
  }

  /** The signal is aborted. What was granted by now, and not yet heard of, is given back. */
  abort() {
    gateCancel(this.#turnstile.handle, this.#id);
    this.#leave();
    this.#asked.reject(this.#asked.signal.reason);
  }

  /** Something has changed. */
  hear() {
    if (!waiting.has(this.#id)) return;
    try {
      const came = this.#turnstile.poll(this.#id);
      if (typeof came === 'number') {
        this.#arm(came);
        return;
      }
      this.#leave();
      this.#asked.resolve(this.#asked.settle(came));
    } catch (error) {
      this.#leave();
      this.#asked.reject(error);
    }
  }

  #leave() {
    waiting.delete(this.#id);
    clearTimeout(this.#timer);
    if (this.#asked.signal) stopListening(this.#asked.signal, this);
  }

  /** A timer that keeps nothing alive. */
  #arm(afterMs) {
    clearTimeout(this.#timer);
    if (afterMs === Infinity || this.#turnstile.clock !== undefined) return;
    this.#timer = setTimeout(() => this.hear(), Math.min(Math.ceil(afterMs), LONGEST_TIMER_MS)).unref();
  }
}

module.exports = { Turnstile, text };
