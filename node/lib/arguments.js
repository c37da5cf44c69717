'use strict';

const { misconfigured, outOfRange, wrongType } = require('./errors.js');

/** The largest cost, number of permits, limit or burst. */
const MOST = Number.MAX_SAFE_INTEGER;
/** The latest time of a clock, in nanoseconds. */
const LAST_NS = 2n ** 64n - 1n;
/** The most permits that may be out. */
const MOST_PERMITS = 2 ** 31 - 1;
/** The most keys that there may be room for. */
const MOST_KEYS = 2 ** 32;
/** The most that may wait at once. */
const MOST_WAITERS = 2 ** 32 - 2;
const NS_PER_MS = 1_000_000;

/** A whole number in a range; `refuse` makes the error if it is outside. */
function whole(name, value, least, most, refuse = outOfRange) {
  const allowed = `a whole number from ${least} to ${most}`;
  if (typeof value !== 'number') throw wrongType(name, value, allowed);
  if (!Number.isInteger(value) || value < least || value > most) throw refuse(name, value, allowed);
  return value;
}

/** A cost or a number of permits. */
function count(name, value) {
  return whole(name, value, 1, MOST);
}

/** The error for a cost or a number of permits that the native library has found to be wrong. */
function wrongCount(name, value) {
  try {
    count(name, value);
  } catch (error) {
    return error;
  }
  return outOfRange(name, value, 'none');
}

/** Milliseconds as nanoseconds, rounded up. */
function nsFromMs(ms) {
  const ns = ms * NS_PER_MS;
  const nearest = Math.round(ns);
  // 1.1 ms are 1,100,000 ns, though the double is a little above: what is off by no more than the double itself is exact.
  return BigInt(Math.abs(ns - nearest) <= ns * Number.EPSILON ? nearest : Math.ceil(ns));
}

/** A period in milliseconds, as nanoseconds; the longest is the core's to refuse. */
function periodFromMs(name, value) {
  const allowed = 'a number of milliseconds above 0';
  if (typeof value !== 'number') throw wrongType(name, value, allowed);
  if (!(value > 0 && value < Infinity)) throw misconfigured(name, value, allowed);
  return nsFromMs(value);
}

/** A period in nanoseconds; the longest is the core's to refuse. */
function periodFromNs(name, value) {
  const allowed = `a bigint from 1, or a whole number from 1 to ${MOST}`;
  return nanoseconds(name, value, (ns) => ns >= 1, allowed, misconfigured);
}

/** How long to wait at most, in milliseconds, as nanoseconds; `Infinity` for ever. */
function timeoutNs(value, name = 'timeoutMs') {
  const allowed = 'a number of milliseconds, 0 or above; Infinity for ever';
  if (typeof value !== 'number') throw wrongType(name, value, allowed);
  if (!(value >= 0)) throw outOfRange(name, value, allowed);
  return value === Infinity ? value : Number(nsFromMs(value));
}

/** An AbortSignal, of whichever realm. */
function signalOf(value) {
  const isSignal = typeof value?.aborted === 'boolean' && typeof value.addEventListener === 'function';
  if (!isSignal) throw wrongType('signal', value, 'an AbortSignal');
  return value;
}

/** The `maxWaiters` option. */
function maxWaitersOf(value = MOST_WAITERS) {
  return whole('maxWaiters', value, 0, MOST_WAITERS, misconfigured);
}

/** The `shared` option: a name, which is for limiters on the machine's clock. */
function sharedName(value, clock) {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw wrongType('shared', value, 'a name, as a string');
  if (clock !== undefined) throw misconfigured('clock', clock, 'undefined for a limiter that is shared');
  return value;
}

/** A time of a clock in milliseconds, as nanoseconds: at most the last one. */
function timeFromMs(name, value) {
  const allowed = 'a number of milliseconds, 0 or above and finite';
  if (typeof value !== 'number') throw wrongType(name, value, allowed);
  if (!(value >= 0 && value < Infinity)) throw outOfRange(name, value, allowed);
  return value * NS_PER_MS >= Number(LAST_NS) ? LAST_NS : nsFromMs(value);
}

/** A time of a clock in nanoseconds: at most the last one. */
function timeFromNs(name, value) {
  const allowed = `a bigint from 0, or a whole number from 0 to ${MOST}`;
  const ns = nanoseconds(name, value, (ns) => ns >= 0, allowed, outOfRange);
  return ns < LAST_NS ? ns : LAST_NS;
}

/** A bigint, or a number that is exact. */
function nanoseconds(name, value, isAllowed, allowed, refuse) {
  if (typeof value !== 'bigint' && typeof value !== 'number') throw wrongType(name, value, allowed);
  const isExact = typeof value === 'bigint' || Number.isSafeInteger(value);
  if (!isExact || !isAllowed(value)) throw refuse(name, value, allowed);
  return BigInt(value);
}

function oneOf(name, value, names) {
  const allowed = names.join(', ');
  if (typeof value !== 'string') throw wrongType(name, value, allowed);
  if (!names.includes(value)) throw misconfigured(name, value, allowed);
  return value;
}

function boolean(name, value) {
  if (typeof value !== 'boolean') throw wrongType(name, value, 'true, false');
  return value;
}

function callable(name, value) {
  if (typeof value !== 'function') throw wrongType(name, value, 'a function');
  return value;
}

/** Options: a plain object. One of a class, such as a clock that was meant to be an option, would have none of them. */
function options(value, known) {
  if (!isPlain(value)) throw wrongType('options', value, `a plain object { ${known.join(', ')} }`);
  return record('options', value, known);
}

/** Whether this is an object as `{}` makes it, in whichever realm. */
function isPlain(value) {
  if (value === null || typeof value !== 'object') return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** An object whose properties are all known: a name that is misspelt is not to be passed over. */
function record(name, value, known) {
  for (const property of Object.keys(value)) {
    if (!known.includes(property)) throw wrongType(`${name}.${property}`, value[property], known.join(', '));
  }
  return value;
}

module.exports = {
  MOST,
  MOST_KEYS,
  MOST_PERMITS,
  whole,
  count,
  wrongCount,
  periodFromMs,
  periodFromNs,
  timeoutNs,
  signalOf,
  maxWaitersOf,
  sharedName,
  timeFromMs,
  timeFromNs,
  oneOf,
  boolean,
  callable,
  options,
  record,
};
