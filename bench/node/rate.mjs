// One rate limiter for all calls: allowed, refused, with figures, by several quotas.

import { MemoryStore } from 'express-rate-limit';
import { TokenBucket } from 'limiter';
import { RateLimiterMemory, RateLimiterUnion } from 'rate-limiter-flexible';
import { RateLimiter } from '../../node/index.mjs';
import { ours, peer, plenty, together } from './rounds.mjs';

// Each subject has a loop of its own: one loop for all would see calls of many kinds and inline none.

const hour = 3_600;
const sameCalls = 2_000;

function tidegate(quotas, name = 'tidegate') {
  const limiter = new RateLimiter(quotas);
  const loop = (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) if (limiter.tryAcquire()) admitted += 1;
    return admitted;
  };
  return { ...ours, name, calls: 400_000, loop };
}

/** The peer fills its bucket with time; ours and the others start full, so this one is filled by hand. */
function bucket(tokens, seconds, parentBucket) {
  const options = { bucketSize: tokens, tokensPerInterval: tokens, interval: seconds * 1_000, parentBucket };
  const filled = new TokenBucket(options);
  filled.content = tokens;
  return filled;
}

function limiter(tokens, seconds) {
  return limiterOf(bucket(tokens, seconds));
}

function limiterOf(bucket) {
  const loop = (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) if (bucket.tryRemoveTokens(1)) admitted += 1;
    return admitted;
  };
  return { ...peer('limiter'), calls: 200_000, loop };
}

/** The peer tells by a promise, which is rejected where it refuses; it keeps one window a key. */
function flexible(points, duration) {
  return flexibleOf(new RateLimiterMemory({ points, duration }));
}

function flexibleOf(windows) {
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) {
      try {
        await windows.consume('key');
        admitted += 1;
      } catch (refusal) {
        if (refusal instanceof Error) throw refusal;
      }
    }
    return admitted;
  };
  return { ...peer('rate-limiter-flexible'), calls: 20_000, loop };
}

/** The store of the peer's middleware, which counts; to compare is the middleware's part. */
function store(limit, seconds) {
  const counts = new MemoryStore();
  counts.init({ windowMs: seconds * 1_000 });
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) {
      const { totalHits } = await counts.increment('key');
      if (totalHits <= limit) admitted += 1;
    }
    return admitted;
  };
  return { ...peer('express-rate-limit'), calls: 100_000, loop };
}

function everyone(limit, seconds) {
  const quota = `${limit}/${seconds}s`;
  return [
    tidegate(quota),
    tidegate(`${quota} fixed_window`, 'tidegate fixed_window'),
    limiter(limit, seconds),
    flexible(limit, seconds),
    store(limit, seconds),
  ];
}

// What is left and how long to wait, read from each answer. They are added up: what nobody uses might not be computed.

function decide(limit, seconds) {
  const limiter = new RateLimiter(`${limit}/${seconds}s`);
  const loop = (calls) => {
    let [admitted, sum] = [0, 0];
    for (let call = 0; call < calls; call += 1) {
      const decision = limiter.decide();
      if (decision.allowed) admitted += 1;
      sum += decision.remaining + decision.retryAfterMs;
    }
    return sum >= 0 ? admitted : 0;
  };
  return { ...ours, calls: 50_000, loop };
}

function limiterFigures(tokens, seconds) {
  const filled = bucket(tokens, seconds);
  const loop = (calls) => {
    let [admitted, sum] = [0, 0];
    for (let call = 0; call < calls; call += 1) {
      if (filled.tryRemoveTokens(1)) admitted += 1;
      sum += filled.content + filled.getWaitTime(1);
    }
    return sum >= 0 ? admitted : 0;
  };
  return { ...peer('limiter'), calls: 50_000, loop };
}

function flexibleFigures(points, duration) {
  const windows = new RateLimiterMemory({ points, duration });
  const loop = async (calls) => {
    let [admitted, sum] = [0, 0];
    for (let call = 0; call < calls; call += 1) {
      try {
        const result = await windows.consume('key');
        admitted += 1;
        sum += result.remainingPoints + result.msBeforeNext;
      } catch (refusal) {
        if (refusal instanceof Error) throw refusal;
        sum += refusal.remainingPoints + refusal.msBeforeNext;
      }
    }
    return sum >= 0 ? admitted : 0;
  };
  return { ...peer('rate-limiter-flexible'), calls: 20_000, loop };
}

function storeFigures(limit, seconds) {
  const counts = new MemoryStore();
  counts.init({ windowMs: seconds * 1_000 });
  const loop = async (calls) => {
    let [admitted, sum] = [0, 0];
    for (let call = 0; call < calls; call += 1) {
      const { totalHits, resetTime } = await counts.increment('key');
      if (totalHits <= limit) admitted += 1;
      sum += Math.max(limit - totalHits, 0) + resetTime.getTime();
    }
    return sum >= 0 ? admitted : 0;
  };
  return { ...peer('express-rate-limit'), calls: 50_000, loop };
}

function figures(limit, seconds) {
  return [decide, limiterFigures, flexibleFigures, storeFigures].map((make) => make(limit, seconds));
}

/** So many quotas as one decision; the first is the strictest for who comes all at once. */
function quotas(count, limit) {
  const each = [1, 24, 168].slice(0, count).map((hours, index) => [limit * (index + 1), hours * hour]);
  const text = each.map(([most, seconds]) => `${most}/${seconds}s`).join('; ');
  const chain = each.reduce((parent, [most, seconds]) => bucket(most, seconds, parent), undefined);
  const windows = each.map(
    ([points, duration]) => new RateLimiterMemory({ points, duration, keyPrefix: `${duration}` }),
  );
  const union = flexibleOf(new RateLimiterUnion(...windows));
  return [tidegate(text), limiterOf(chain), { ...union, calls: 5_000 }];
}

/** Each admits as many of the same calls, before anything is timed. */
export async function sameWork() {
  const limit = 1_000;
  for (const [what, subjects] of [
    ['', everyone(limit, hour)],
    ['with figures, ', figures(limit, hour)],
    ['by three quotas, ', quotas(3, limit)],
  ]) {
    for (const { name, loop } of subjects) {
      const admitted = await loop(sameCalls);
      // The next token comes after 3.6 s, and this is over long before.
      if (admitted !== limit) throw new Error(`${name}: admitted ${admitted} of ${sameCalls}; expected ${limit}`);
    }
    const names = subjects.map(({ name }) => name).join(', ');
    console.error(`same work: ${what}each of ${names} admits ${limit} of ${sameCalls} calls`);
  }
}

async function usedUp() {
  const subjects = everyone(1, hour);
  for (const { name, loop } of subjects) {
    if ((await loop(1)) !== 1) throw new Error(`${name}: refused the first call`);
  }
  return subjects;
}

export async function rate() {
  await together('gcra allowed', true, everyone(plenty, 1));
  await together('gcra refused', false, await usedUp());
  await together('check with figures', true, figures(plenty, 1));
  for (const count of [2, 3]) await together(`${count} quotas`, true, quotas(count, plenty));
}
