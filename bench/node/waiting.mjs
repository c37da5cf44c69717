// What it costs to wait for nothing: permits that are free, beside async-sema's and p-limit's.

import { Sema } from 'async-sema';
import pLimit from 'p-limit';
import { ConcurrencyLimiter, RateLimiter } from '../../node/index.mjs';
import { plenty, together, version } from './rounds.mjs';

const permits = 10;
const calls = 20_000;
const ours = { name: 'tidegate', version: version('../../node'), calls };

function acquireAndRelease() {
  const limiter = new ConcurrencyLimiter(permits);
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) {
      const permit = await limiter.acquire();
      admitted += 1;
      permit.release();
    }
    return admitted;
  };
  return { ...ours, loop };
}

function semaphore() {
  const sema = new Sema(permits);
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) {
      const token = await sema.acquire();
      admitted += 1;
      sema.release(token);
    }
    return admitted;
  };
  return { name: 'async-sema', version: version('node_modules/async-sema'), calls, loop };
}

function run() {
  const limiter = new ConcurrencyLimiter(permits);
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) admitted += await limiter.run(() => 1);
    return admitted;
  };
  return { ...ours, loop };
}

function limited() {
  const limit = pLimit(permits);
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) admitted += await limit(() => 1);
    return admitted;
  };
  return { name: 'p-limit', version: version('node_modules/p-limit'), calls, loop };
}

function tokens() {
  const limiter = new RateLimiter(`${plenty}/s`);
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) {
      await limiter.acquire();
      admitted += 1;
    }
    return admitted;
  };
  return { ...ours, loop };
}

/** Each has as many at once as it lends, and no more, before anything is timed. */
export async function sameWaiting() {
  for (const [name, runs] of [
    ['tidegate', (limiter) => (fn) => limiter.run(fn)],
    ['p-limit', () => pLimit(permits)],
  ]) {
    const start = runs(new ConcurrencyLimiter(permits));
    let [running, most] = [0, 0];
    const work = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
    };
    await Promise.all(Array.from({ length: 5 * permits }, () => start(work)));
    if (most !== permits) throw new Error(`${name}: ${most} at once; expected ${permits}`);
  }
  const [limiter, sema] = [new ConcurrencyLimiter(permits), new Sema(permits)];
  for (let call = 0; call < permits; call += 1) await Promise.all([limiter.acquire(), sema.acquire()]);
  if (limiter.tryAcquire() || sema.tryAcquire()) throw new Error(`more than ${permits} permits were out`);
  console.error(`same work: each of tidegate, async-sema, p-limit has ${permits} at once of ${5 * permits}`);
}

export async function waiting() {
  await together('await acquire + release', true, [acquireAndRelease(), semaphore()]);
  await together('run(fn)', true, [run(), limited()]);
  await together('await acquire, gcra', true, [tokens()]);
}
