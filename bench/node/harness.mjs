// tidegate's npm package beside its peers, interleaved in one process. Prints JSON lines; `bench/run.py` reads them.

import { TokenBucket } from 'limiter';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { ConcurrencyLimiter, RateLimiter } from '../../node/index.mjs';
import { gate } from './gate.mjs';
import { keyed, sameKeyedWork } from './keyed.mjs';
import { plenty, together, version } from './rounds.mjs';
import { sameWaiting, waiting } from './waiting.mjs';
import { web } from './web.mjs';

// Each subject has a loop of its own: one loop for all would see calls of many kinds and inline none.

function tidegate(quota, name = 'tidegate') {
  const limiter = new RateLimiter(quota);
  const loop = (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) if (limiter.tryAcquire()) admitted += 1;
    return admitted;
  };
  return { name, version: version('../../node'), calls: 400_000, loop };
}

/** The peer fills its bucket with time; ours and the others start full, so this one is filled by hand. */
function limiter(tokens, interval) {
  const bucket = new TokenBucket({ bucketSize: tokens, tokensPerInterval: tokens, interval });
  bucket.content = tokens;
  const loop = (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) if (bucket.tryRemoveTokens(1)) admitted += 1;
    return admitted;
  };
  return { name: 'limiter', version: version('node_modules/limiter'), calls: 200_000, loop };
}

/** The peer tells by a promise, which is rejected where it refuses; it keeps one window a key. */
function flexible(points, duration) {
  const windows = new RateLimiterMemory({ points, duration });
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
  return { name: 'rate-limiter-flexible', version: version('node_modules/rate-limiter-flexible'), calls: 20_000, loop };
}

/** Each admits as many of the same calls, before anything is timed. */
async function sameWork() {
  const [calls, limit] = [2_000, 1_000];
  const subjects = [tidegate(`${limit}/h`), limiter(limit, 'hour'), flexible(limit, 3_600)];
  for (const { name, loop } of subjects) {
    const admitted = await loop(calls);
    // The next token comes after 3.6 s, and this is over long before.
    if (admitted !== limit) throw new Error(`${name}: admitted ${admitted} of ${calls}; expected ${limit}`);
  }
  const names = subjects.map(({ name }) => name).join(', ');
  console.error(`same work: each of ${names} admits ${limit} of ${calls} calls`);
}

async function usedUp() {
  const subjects = [tidegate('1/h'), limiter(1, 'hour'), flexible(1, 3_600)];
  for (const { name, loop } of subjects) {
    if ((await loop(1)) !== 1) throw new Error(`${name}: refused the first call`);
  }
  return subjects;
}

function concurrency() {
  const limiter = new ConcurrencyLimiter(10);
  const loop = (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) {
      const permit = limiter.tryAcquire();
      if (permit) {
        admitted += 1;
        permit.release();
      }
    }
    return admitted;
  };
  return { name: 'tidegate', version: version('../../node'), calls: 100_000, loop };
}

await sameWork();
await sameKeyedWork();
await sameWaiting();
await together('gcra allowed', true, [
  tidegate(`${plenty}/s`),
  tidegate(`${plenty}/s fixed_window`, 'tidegate fixed_window'),
  limiter(plenty, 'second'),
  flexible(plenty, 1),
]);
await together('gcra refused', false, await usedUp());
await keyed();
await together('concurrency try_acquire + release', true, [concurrency()]);
await waiting();
await gate();
await web();
