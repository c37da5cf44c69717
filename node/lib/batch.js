'use strict';

/** The most keys of a native call, each of which is an argument of its own; `src/keyed_rate_limiter.rs` has the same. */
const MOST_AT_ONCE = 128;

/** Where the native library writes what became of each key: 1 if it was allowed. Nothing else is called until it is read. */
const allowed = new Uint8Array(MOST_AT_ONCE);
/** What most batches come to. */
const [allAllowed, noneAllowed] = [true, false].map((allowed) => new Array(MOST_AT_ONCE).fill(allowed));

/** The answers for so many keys, of which so many were allowed. */
function answers(count, total) {
  if (total === count) return allAllowed.slice(0, count);
  if (total === 0) return noneAllowed.slice(0, count);
  return Array.from({ length: count }, (_, index) => allowed[index] === 1);
}

/** What `ask(keys)` answers, at most for so many at once. */
function inPieces(keys, ask) {
  const all = [];
  for (let start = 0; start < keys.length; start += MOST_AT_ONCE) {
    for (const answer of ask(keys.slice(start, start + MOST_AT_ONCE))) all.push(answer);
  }
  return all;
}

module.exports = { MOST_AT_ONCE, allowed: allowed.buffer, answers, inPieces };
