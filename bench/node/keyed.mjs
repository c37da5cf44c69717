// A budget for each key: a few or a million of them, visited as often as each other or by Zipf's law; batches.

import { MemoryStore } from 'express-rate-limit';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { KeyedRateLimiter } from '../../node/index.mjs';
import { ours, peer, plenty, quick, together } from './rounds.mjs';

const sizes = [
  [1, '1 key'],
  [1_000, '1,000 keys'],
  [100_000, '100,000 keys'],
  [1_000_000, '1,000,000 keys'],
];
/** What a key owes from before, of a thousand times `plenty` an hour, so that it stays in the table: six minutes' worth. */
const owed = 100 * plenty;
const hour = 3_600;
/** Calls a round: of ours, and of peers. */
const [ownCalls, peerCalls] = quick ? [40_000, 8_000] : [100_000, 20_000];

const network = Buffer.from('203.0.');
/** Where addresses are written, each over the one before. */
const bytes = Buffer.alloc(32);

/**
 * A key as services have it: an address with a port, in one piece, made of bytes as it comes from the network. Nothing but that string is
 * made anew: what is thrown away besides would drive the tables that are measured out of the caches.
 */
function address(number) {
  let start = digitsBefore(bytes.length, number);
  bytes[--start] = ':'.charCodeAt();
  start = digitsBefore(start, number & 255);
  bytes[--start] = '.'.charCodeAt();
  start = digitsBefore(start, (number >> 8) & 255) - network.length;
  bytes.set(network, start);
  return bytes.latin1Slice(start, bytes.length);
}

/** Writes a number so that it ends before a place; where it begins. */
function digitsBefore(end, number) {
  let [start, rest] = [end, number];
  do {
    bytes[--start] = '0'.charCodeAt() + (rest % 10);
    rest = Math.trunc(rest / 10);
  } while (rest > 0);
  return start;
}

/** A pseudo-random order, the same for each that is made: a linear congruential generator's numbers, from 0 to below 1. */
function randoms() {
  let state = 12_345;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** So many addresses, made anew at each call, of `count` clients that come as often as each other. */
function uniform(count) {
  const random = randoms();
  return (calls) => Array.from({ length: calls }, () => address(Math.floor(random() * count)));
}

/** The same, of clients of which the n-th comes 1/n as often as the first. */
function zipf(count) {
  const random = randoms();
  const cumulated = new Float64Array(count);
  for (let rank = 1, sum = 0; rank <= count; rank += 1) {
    sum += 1 / rank;
    cumulated[rank - 1] = sum;
  }
  return (calls) =>
    Array.from({ length: calls }, () => address(firstAbove(cumulated, random() * cumulated[count - 1])));
}

/** Where in a rising row the first number above this one is, by halves. */
function firstAbove(rising, number) {
  let [from, to] = [0, rising.length - 1];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (rising[middle] > number) to = middle;
    else from = middle + 1;
  }
  return from;
}

function tidegate(count, limit) {
  const limiter = new KeyedRateLimiter(`${limit}/h`, { maxKeys: Math.max(count, 1_000) });
  const loop = (keys) => {
    let admitted = 0;
    for (const key of keys) if (limiter.tryAcquire(key)) admitted += 1;
    return admitted;
  };
  const owes = (key) => limiter.tryAcquire(key, owed);
  return { ...ours, calls: ownCalls, loop, owes };
}

/** The peer tells by a promise, which is rejected where it refuses. */
function flexible(_, points) {
  const windows = new RateLimiterMemory({ points, duration: hour });
  const loop = async (keys) => {
    let admitted = 0;
    for (const key of keys) {
      try {
        await windows.consume(key);
        admitted += 1;
      } catch (refusal) {
        if (refusal instanceof Error) throw refusal;
      }
    }
    return admitted;
  };
  return { ...peer('rate-limiter-flexible'), calls: peerCalls, loop };
}

/** The store of the peer's middleware, which counts; to compare is the middleware's part. */
function store(_, limit) {
  const counts = new MemoryStore();
  counts.init({ windowMs: hour * 1_000 });
  const loop = async (keys) => {
    let admitted = 0;
    for (const key of keys) {
      const { totalHits } = await counts.increment(key);
      if (totalHits <= limit) admitted += 1;
    }
    return admitted;
  };
  return { ...peer('express-rate-limit'), calls: peerCalls, loop };
}

/** All subjects, by name: each makes a limiter for so many keys, of so many calls an hour. */
export const subjects = { tidegate, 'rate-limiter-flexible': flexible, 'express-rate-limit': store };

/** So many, one after the other. */
export function* addresses(count) {
  for (let number = 0; number < count; number += 1) yield address(number);
}

/** All subjects, each with so many keys that owe something. Peers take long to let a million in: a short run goes without them. */
async function filled(count) {
  const own = tidegate(count, 1_000 * plenty);
  for (const key of addresses(count)) own.owes(key);
  const others = quick && count > 100_000 ? [] : [flexible(count, plenty), store(count, plenty)];
  for (const { loop } of others) await loop(addresses(count));
  return [own, ...others];
}

/** All admit as much of each key, before anything is timed. */
export async function sameKeyedWork() {
  const keys = [...addresses(100)];
  for (const [name, make] of Object.entries(subjects)) {
    const { loop } = make(keys.length, 10);
    for (let round = 0; round < 20; round += 1) {
      const [admitted, expected] = [await loop(keys), round < 10 ? keys.length : 0];
      if (admitted !== expected) throw new Error(`${name}, ${round}: admitted ${admitted}; expected ${expected}`);
    }
  }
  const names = Object.keys(subjects).join(', ');
  console.error(`same work: each of ${names} admits 10 of 20 calls on each of 100 keys`);
}

/** A hundred keys in one call, and as many calls; a call of the loop is a hundred keys. */
function hundred() {
  const keys = [...addresses(100)];
  const limiter = () => new KeyedRateLimiter(`${plenty}/s`, { maxKeys: 1_000 });
  const [batch, single] = [limiter(), limiter()];
  const many = (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) if (batch.tryAcquireMany(keys).every(Boolean)) admitted += 1;
    return admitted;
  };
  const each = (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) {
      if (keys.map((key) => single.tryAcquire(key)).every(Boolean)) admitted += 1;
    }
    return admitted;
  };
  const calls = 2_000;
  return [
    { ...ours, calls, loop: many },
    { ...ours, calls, name: 'tidegate single calls', loop: each },
  ];
}

export async function keyed() {
  await together('keyed gcra, 100 keys in one call', true, hundred());
  for (const [count, name] of sizes) {
    const subjects = await filled(count);
    const orders = count > 1 ? { '': uniform, ', Zipf': zipf } : { '': uniform };
    for (const [suffix, order] of Object.entries(orders)) {
      const visited = subjects.map((subject) => ({ ...subject, make: order(count) }));
      await together(`keyed gcra, ${name}${suffix}`, true, visited);
    }
  }
}
