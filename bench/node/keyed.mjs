// A budget for each key, beside rate-limiter-flexible's.

import { RateLimiterMemory } from 'rate-limiter-flexible';
import { KeyedRateLimiter } from '../../node/index.mjs';
import { plenty, together, version } from './rounds.mjs';

const sizes = [
  [1, '1 key'],
  [1_000, '1,000 keys'],
  [100_000, '100,000 keys'],
];

/** A key as services have it: an address with a port, in one piece, as it comes from the network. */
function address(number) {
  return Buffer.from(`203.0.${(number >> 8) & 255}.${number & 255}:${number}`).toString('latin1');
}

/** So many addresses, made anew at each call, of `count` clients in a pseudo-random order (a linear congruential generator). */
function visits(count) {
  let state = 12_345;
  return (calls) =>
    Array.from({ length: calls }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return address(Math.floor((state / 2 ** 32) * count));
    });
}

function tidegate(count, limit, per) {
  const limiter = new KeyedRateLimiter(`${limit}/${per}`, { maxKeys: Math.max(count, 1_000) });
  const loop = (keys) => {
    let admitted = 0;
    for (const key of keys) if (limiter.tryAcquire(key)) admitted += 1;
    return admitted;
  };
  return { name: 'tidegate', version: version('../../node'), calls: 200_000, make: visits(count), loop };
}

/** The peer tells by a promise, which is rejected where it refuses. */
function flexible(count, points, duration) {
  const windows = new RateLimiterMemory({ points, duration });
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
  const peer = { name: 'rate-limiter-flexible', version: version('node_modules/rate-limiter-flexible') };
  return { ...peer, calls: 20_000, make: visits(count), loop };
}

function everyone(count) {
  return Array.from({ length: count }, (_, number) => address(number));
}

/** Both admit as much of each key, before anything is timed. */
export async function sameKeyedWork() {
  const keys = everyone(100);
  for (const { name, loop } of [tidegate(keys.length, 10, 'h'), flexible(keys.length, 10, 3_600)]) {
    for (let round = 0; round < 20; round += 1) {
      const [admitted, expected] = [await loop(keys), round < 10 ? keys.length : 0];
      if (admitted !== expected) throw new Error(`${name}, ${round}: admitted ${admitted}; expected ${expected}`);
    }
  }
  console.error('same work: each of tidegate, rate-limiter-flexible admits 10 of 20 calls of each of 100 keys');
}

/** A hundred keys in one call, and as many calls; a call of the loop is a hundred keys. */
function hundred() {
  const keys = everyone(100);
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
  const shared = { version: version('../../node'), calls: 2_000 };
  return [
    { name: 'tidegate', loop: many, ...shared },
    { name: 'tidegate single calls', loop: each, ...shared },
  ];
}

export async function keyed() {
  for (const [count, name] of sizes) {
    const subjects = [tidegate(count, plenty, 's'), flexible(count, plenty, 1)];
    for (const { loop } of subjects) await loop(everyone(count));
    await together(`keyed gcra, ${name}`, true, subjects);
  }
  await together('keyed gcra, 100 keys in one call', true, hundred());
}
