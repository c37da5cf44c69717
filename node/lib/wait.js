'use strict';

const { clearTimeout, setTimeout } = require('node:timers');
const { options: checked, signalOf, timeoutNs } = require('./arguments.js');
const { attempt } = require('./errors.js');
const { ownKey } = require('./key.js');
const native = require('./native.js');

const { waitCancel, waitNext, waitPoll } = native;

const ALLOWED = 0;
const POLL_AGAIN = 10;
/** Node takes longer timers for 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The waits that are under way in this thread, by the numbers that the native library knows them by. */
const waiting = new Map();
let lastId = 0;
const nextId = () => ++lastId;

/** Where the native library writes what a wait is told: a status; of a grant, three integers. */
const told = new ArrayBuffer(32);
const [doubles, grant] = [new Float64Array(told, 0, 1), new BigUint64Array(told, 8)];

const WAIT_OPTIONS = ['timeoutMs', 'signal'];
const FOR_EVER = {};
const ready = Promise.resolve();
const waits = attempt(() => native.waits(empty, () => void ready.then(empty)));

/** Settles the waits that the native library has told of since. Called from a microtask, or by Node from its loop. */
function empty() {
  for (let id = waitNext(waits, told); id !== undefined; id = waitNext(waits, told)) {
    waiting.get(id)?.hear(doubles[0]);
  }
}

/**
 * Waiting for one limiter.
 *
 * `limiter` says what differs between kinds: `start(amount, timeoutNs, id, waits, key)` calls the native library, and returns what
 * was taken, or a number; `takenOf(grant)` makes what was taken of three integers; `granted(amount, taken)` makes what the promise is
 * resolved with; `undo(amount, taken, key)` is for what came too late; `refusal(amount, status, elapsedMs, timeoutMs, key)` makes the
 * error. `clock` is the manual one, if there is one: it settles waits itself, as it is moved. Without keys `key` is undefined.
 */
class Desk {
  constructor(limiter, clock) {
    this.limiter = limiter;
    this.clock = clock;
    /** How many wait in this thread. */
    this.waiting = 0;
  }

  /** A promise of what was asked for. */
  acquire(amount, options, key) {
    try {
      return Promise.resolve(this.take(amount, options, key));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** What was asked for, if it can be had now; else a promise of it. Throws what is refused at once. */
  take(amount, options, key) {
    const { limiter } = this;
    const { timeoutMs, signal } = options === undefined ? FOR_EVER : checked(options, WAIT_OPTIONS);
    const ns = timeoutMs === undefined ? Infinity : timeoutNs(timeoutMs);
    if (signal !== undefined && signalOf(signal).aborted) throw signal.reason;
    const id = nextId();
    const answer = limiter.start(amount, ns, id, waits, key);
    const isGranted = typeof answer !== 'number';
    if (!isGranted && answer > 0) throw limiter.refusal(amount, answer, 0, timeoutMs, key);
    try {
      if (isGranted) return limiter.granted(amount, answer);
      return new Promise((resolve, reject) => {
        const wait = new Wait(this, id, { amount, key: ownKey(key), timeoutMs, signal, resolve, reject }, -answer);
        waiting.set(id, wait);
        this.waiting++;
      });
    } catch (error) {
      // No room on the stack for a Permit or a Wait.
      if (isGranted) limiter.undo(amount, answer, key);
      else waitCancel(waits, id);
      throw error;
    }
  }

  nowMs() {
    return this.clock === undefined ? performance.now() : Number(this.clock.nowNs()) / 1e6;
  }
}

/** The waits that a signal ends. It gets one listener, for of many Node warns. */
class Abortable {
  waits = new Set();

  handleEvent() {
    for (const wait of [...this.waits]) wait.abort();
  }
}

/** By signal. */
const abortable = new WeakMap();

function listen(signal, wait) {
  let all = abortable.get(signal);
  if (all === undefined) {
    all = new Abortable();
    abortable.set(signal, all);
    signal.addEventListener('abort', all);
  }
  all.waits.add(wait);
}

function stopListening(signal, wait) {
  const all = abortable.get(signal);
  all.waits.delete(wait);
  if (all.waits.size > 0) return;
  abortable.delete(signal);
  signal.removeEventListener('abort', all);
}

/** One that waits. */
class Wait {
  #desk;
  #id;
  #asked;
  #beganMs;
  #timer;
  #isAborted = false;

  constructor(desk, id, asked, wakeAfterMs) {
    this.#desk = desk;
    this.#id = id;
    this.#asked = asked;
    this.#beganMs = desk.nowMs();
    this.#arm(wakeAfterMs);
    if (asked.signal) listen(asked.signal, this);
  }

  /** The signal is aborted. What was granted by now, and not yet heard of, is given back. */
  abort() {
    this.#isAborted = true;
    waitCancel(waits, this.#id);
  }

  /** Of the native library, which has just written to `grant`. */
  hear(status) {
    const { limiter } = this.#desk;
    const { amount, key, timeoutMs, signal, resolve, reject } = this.#asked;
    try {
      if (status === POLL_AGAIN) {
        this.#poll();
        return;
      }
      waiting.delete(this.#id);
      this.#desk.waiting--;
      clearTimeout(this.#timer);
      if (signal) stopListening(signal, this);
      if (this.#isAborted) {
        if (status === ALLOWED) limiter.undo(amount, limiter.takenOf(grant), key);
        reject(signal.reason);
      } else if (status === ALLOWED) {
        resolve(limiter.granted(amount, limiter.takenOf(grant)));
      } else {
        reject(limiter.refusal(amount, status, this.#desk.nowMs() - this.#beganMs, timeoutMs, key));
      }
    } catch (error) {
      reject(error);
    }
  }

  #poll() {
    const wakeAfterMs = waitPoll(waits, this.#id);
    if (wakeAfterMs !== undefined) this.#arm(wakeAfterMs);
  }

  /** A timer that keeps nothing alive. One that comes too soon, or was cut short, is armed again. */
  #arm(afterMs) {
    clearTimeout(this.#timer);
    if (afterMs === Infinity || this.#desk.clock !== undefined) return;
    this.#timer = setTimeout(() => this.#poll(), Math.min(Math.ceil(afterMs), LONGEST_TIMER_MS)).unref();
  }
}

module.exports = { Desk, LONGEST_TIMER_MS, WAIT_OPTIONS, listen, nextId, stopListening, waiting, waits };
