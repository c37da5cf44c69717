'use strict';

// Many keys cross to the native library as one string, or one Uint8Array, with their lengths.

/** In bytes, or UTF-16 units: more would only cost memory. */
const MOST_TOGETHER = 2 ** 20;
const MOST_AT_ONCE = 1024;

/** For lengths, and then for what became of each key. Not here while it is in use: an array may have getters, which ask for more. */
let room = new Uint32Array(MOST_AT_ONCE);
/** What most batches come to. */
const [allAllowed, noneAllowed] = [true, false].map((allowed) => new Array(MOST_AT_ONCE).fill(allowed));

/**
 * What `ask` answers for each of many keys, which `join` (below) puts together. `ask(all, lengths, count)` writes 1 or 0 over each length,
 * and returns the sum. Undefined if the keys can't be put together.
 */
function inOneCall(keys, join, ask) {
  const [own, count] = [room, keys.length];
  const lengths = own !== undefined && count <= MOST_AT_ONCE ? own : new Uint32Array(count);
  room = undefined;
  try {
    const all = join(keys, lengths, count);
    return all === undefined ? undefined : answers(ask(all, lengths.buffer, count), lengths, count);
  } finally {
    room = own;
  }
}

/** Undefined if not all keys are strings, or they are too long. */
function joinedStrings(keys, lengths, count) {
  let all = ''; // Faster than join().
  let total = 0;
  for (let index = 0; index < count; index++) {
    const key = keys[index];
    if (typeof key !== 'string') return undefined;
    lengths[index] = key.length;
    total += key.length;
    if (total > MOST_TOGETHER) return undefined;
    all += key;
  }
  return all;
}

/** The same for bytes. */
function joinedBytes(keys, lengths, count) {
  let total = 0;
  for (let index = 0; index < count; index++) {
    const key = keys[index];
    if (typeof key === 'string') return undefined;
    lengths[index] = key.length;
    total += key.length;
    if (total > MOST_TOGETHER) return undefined;
  }
  const all = new Uint8Array(total);
  for (let index = 0, end = 0; index < count; end += lengths[index++]) all.set(keys[index], end);
  return all;
}

function answers(allowed, lengths, count) {
  if (count <= MOST_AT_ONCE) {
    if (allowed === count) return allAllowed.slice(0, count);
    if (allowed === 0) return noneAllowed.slice(0, count);
  }
  return Array.from({ length: count }, (_, index) => lengths[index] === 1);
}

module.exports = { inOneCall, joinedStrings, joinedBytes };
