'use strict';

const { types } = require('node:util');
const { options: checked, whole } = require('./arguments.js');
const { attempt, misconfigured, wrongType } = require('./errors.js');
const native = require('./native.js');

/** Room for most keys that are made. */
const scratch = Buffer.alloc(256);
const ALLOWED = 'a string or a Uint8Array, not over a SharedArrayBuffer';

function isKey(value) {
  if (typeof value === 'string') return true;
  return types.isUint8Array(value) && !types.isSharedArrayBuffer(value.buffer);
}

/** A key, which the native library reads. */
function keyed(name, value) {
  if (!isKey(value)) throw wrongType(name, value, ALLOWED);
  return value;
}

/** A key that stays as it is: bytes of the caller's may change. */
function ownKey(key) {
  return typeof key === 'object' ? Buffer.from(key) : key;
}

/** The error for a wrong key, or what `other` makes if it is right. */
const wrongKeyOr = (key, other) => thrownBy(() => keyed('key', key)) ?? other();
/** The same of some keys. */
const wrongKeysOr = (keys, other) => thrownBy(() => allKeyed('keys', keys)) ?? other();

function thrownBy(check) {
  try {
    check();
  } catch (error) {
    return error;
  }
}

/** Each of the keys of an array of our own, which has neither getters nor holes. */
function allKeyed(name, keys) {
  for (let index = 0; index < keys.length; index++) if (!isKey(keys[index])) keyed(`${name}[${index}]`, keys[index]);
  return keys;
}

/** The option `key` of what is guarded: a key, or a function that makes one of what the guarded function is called with. */
function keyMaker(value) {
  if (typeof value === 'function') return value;
  if (!isKey(value)) throw wrongType('key', value, `${ALLOWED}, or a function that returns one`);
  return () => value;
}

/** The key that the native library writes to where it is told, of which it tells the length. */
function made(write) {
  const length = attempt(() => write(scratch));
  const key = Buffer.allocUnsafe(length);
  if (length <= scratch.length) scratch.copy(key, 0, 0, length);
  else attempt(() => write(key));
  return key;
}

function keyOf(...parts) {
  allKeyed('parts', parts);
  return made((into) => native.keyOf(parts, into));
}

function ipKey(address, options = {}) {
  if (typeof address !== 'string') throw wrongType('address', address, 'the text of an IPv4 or IPv6 address');
  const { prefix } = checked(options, ['prefix']);
  const key = (bits) => made((into) => native.ipKey(address, bits, into));
  if (prefix === undefined) return key();
  try {
    whole('prefix', prefix, 0, 128, misconfigured);
  } catch (error) {
    key(); // What is wrong with the address goes first.
    throw error;
  }
  return key(prefix);
}

module.exports = { keyed, ownKey, wrongKeyOr, wrongKeysOr, allKeyed, keyMaker, keyOf, ipKey };
