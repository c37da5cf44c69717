// What it costs to wait for nothing: permits that are free, tokens that are there.

import { Sema } from 'async-sema';
import Bottleneck from 'bottleneck';
import { RateLimiter as PeerRateLimiter } from 'limiter';
import pLimit from 'p-limit';
import pThrottle from 'p-throttle';
import { ConcurrencyLimiter, RateLimiter } from '../../node/index.mjs';
import { ours, peer, plenty, together } from './rounds.mjs';

const permits = 10;
const calls = 20_000;
/** Of a peer that starts each of its jobs from a timer. */
const fewCalls = 25;

function tryAndRelease() {
  const limiter = new ConcurrencyLimiter(permits);
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
  return { ...ours, calls: 100_000, loop };
}

function semaTryAndRelease() {
  const sema = new Sema(permits);
  const loop = (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) {
      const token = sema.tryAcquire();
      if (token !== undefined) {
        admitted += 1;
        sema.release(token);
      }
    }
    return admitted;
  };
  return { ...peer('async-sema'), calls: 100_000, loop };
}

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
  return { ...ours, calls, loop };
}

function semaAcquireAndRelease() {
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
  return { ...peer('async-sema'), calls, loop };
}

function run() {
  const limiter = new ConcurrencyLimiter(permits);
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) admitted += await limiter.run(() => 1);
    return admitted;
  };
  return { ...ours, calls, loop };
}

function limited() {
  const limit = pLimit(permits);
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) admitted += await limit(() => 1);
    return admitted;
  };
  return { ...peer('p-limit'), calls, loop };
}

/** The peer wants functions that return a promise. */
function scheduled(options) {
  const bottleneck = new Bottleneck(options);
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) admitted += await bottleneck.schedule(async () => 1);
    return admitted;
  };
  return { ...peer('bottleneck'), calls: fewCalls, loop };
}

function tokens(limit, seconds) {
  const limiter = new RateLimiter(`${limit}/${seconds}s`);
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) {
      await limiter.acquire();
      admitted += 1;
    }
    return admitted;
  };
  return { ...ours, calls, loop };
}

function removed(limit, seconds) {
  const limiter = new PeerRateLimiter({ tokensPerInterval: limit, interval: seconds * 1_000 });
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) {
      await limiter.removeTokens(1);
      admitted += 1;
    }
    return admitted;
  };
  return { ...peer('limiter'), calls, loop };
}

function runByRate(limit, seconds) {
  const limiter = new RateLimiter(`${limit}/${seconds}s`);
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) admitted += await limiter.run(() => 1);
    return admitted;
  };
  return { ...ours, calls, loop };
}

function throttled(limit, seconds) {
  const one = pThrottle({ limit, interval: seconds * 1_000 })(() => 1);
  const loop = async (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) admitted += await one();
    return admitted;
  };
  return { ...peer('p-throttle'), calls, loop };
}

/** Tokens that come anew all at once, at the end of each period. */
function reservoir(limit) {
  return scheduled({ reservoir: limit });
}

function byRate(limit, seconds) {
  return [
    [tokens, removed],
    [runByRate, throttled, reservoir],
  ].map((makers) => makers.map((make) => make(limit, seconds)));
}

/** Each has as many at once as it lends, and no more. */
async function sameAtOnce() {
  const runs = {
    tidegate: (fn) => limiter.run(fn),
    'p-limit': pLimit(permits),
    bottleneck: (fn) => bottleneck.schedule(fn),
  };
  const [limiter, bottleneck] = [new ConcurrencyLimiter(permits), new Bottleneck({ maxConcurrent: permits })];
  for (const [name, start] of Object.entries(runs)) {
    let [running, most, isFull] = [0, 0, undefined];
    const full = new Promise((resolve) => {
      isFull = resolve;
    });
    const work = async () => {
      running += 1;
      most = Math.max(most, running);
      if (most >= permits) isFull();
      // One peer starts its jobs one by one, from timers.
      await full;
      await new Promise(setImmediate);
      running -= 1;
    };
    await Promise.all(Array.from({ length: 5 * permits }, () => start(work)));
    if (most !== permits) throw new Error(`${name}: ${most} at once; expected ${permits}`);
  }
  const sema = new Sema(permits);
  const held = Array.from({ length: permits }, () => limiter.tryAcquire());
  for (let call = 0; call < permits; call += 1) await sema.acquire();
  if (limiter.tryAcquire() || sema.tryAcquire()) throw new Error(`more than ${permits} permits were out`);
  for (const permit of held) permit.release();
  console.error(`same work: each of ${Object.keys(runs).join(', ')}, async-sema has ${permits} at once`);
}

/** Each admits as many without a wait, and the next one waits. */
async function sameByRate() {
  const limit = 20;
  for (const { name, loop } of byRate(limit, 3_600).flat()) {
    await loop(limit);
    let answered = false;
    const next = loop(1).then(() => {
      answered = true;
    });
    await Promise.race([next, new Promise((done) => setTimeout(done, 5))]);
    if (answered) throw new Error(`${name}: admitted more than ${limit}`);
  }
  console.error(`same work: each of tidegate, limiter, p-throttle, bottleneck admits ${limit} before one waits`);
}

/** Before anything is timed. */
export async function sameWaiting() {
  await sameAtOnce();
  await sameByRate();
}

export async function waiting() {
  await together('concurrency try_acquire + release', true, [tryAndRelease(), semaTryAndRelease()]);
  await together('await acquire + release', true, [acquireAndRelease(), semaAcquireAndRelease()]);
  await together('run(fn)', true, [run(), limited(), scheduled({ maxConcurrent: permits })]);
  const [acquired, ran] = byRate(plenty, 1);
  await together('await acquire, gcra', true, acquired);
  await together('run(fn), gcra', true, ran);
}
