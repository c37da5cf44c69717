/** Settings of rate-limiter-flexible, in memory, and what the page puts in their place, on the same calls. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { evaluate, numbers, Page, require, settled } from './pages.mjs';

const peers = require('rate-limiter-flexible');
const {
  ConfigError,
  ExceedsCapacityError,
  KeyedRateLimiter,
  keyOf,
  QueueFullError,
  TimedOutError,
} = require('tidegate');

const page = new Page('rate-limiter-flexible');
const FIVE = { points: 5, duration: 60 };
const FIVE_TEXT = '5/60s fixed_window';

/** Whether a limiter of theirs admits. */
const admits = (limiter, ...call) =>
  limiter.consume(...call).then(
    () => true,
    () => false,
  );

const both = (clock) => [new peers.RateLimiterMemory(FIVE), new KeyedRateLimiter(FIVE_TEXT, { clock: clock.ours })];

/** Both admit the same of some hundred calls at times that look random, and refuse some. */
async function assertTheSame(clock, one, other) {
  const choose = numbers(1);
  const seen = new Set();
  for (let calls = 0; calls < 300; calls++) {
    await clock.advance([0, 0, 0, 500, 9_000][choose(5)]);
    const key = ['ann', 'bob'][choose(2)];
    const [theirs, ours] = [await one(key), other(key)];
    assert.equal(ours, theirs);
    seen.add(theirs);
  }
  assert.equal(seen.size, 2);
}

/** When the calls that are made now begin, in ms from now; those that are refused are left out. */
async function beginnings(clock, calls, forMs) {
  const times = [];
  let now = 0;
  for (const call of calls) {
    call().then(
      () => times.push(now),
      () => {},
    );
    await settled();
  }
  for (; now < forMs; ) {
    now += 500;
    await clock.advance(500);
  }
  return times;
}

test('both programs say the same', () => {
  const said = [0, 1].map((block) => execFileSync(process.execPath, [page.paste(block)], { encoding: 'utf8' }));
  // A second may pass meanwhile.
  const [one, other] = said.map((text) => text.replace(/in (60|5\d) s/, 'in a minute'));
  assert.equal(other, one);
  assert.match(one, /^go ahead, 4 left\n(go ahead.*\n){4}too many requests, come back in a minute\n$/);
});

page.row('`{ points: 5, duration: 60 }`', 'a refusal takes nothing', async ({ theirs, ours }, clock) => {
  const one = new peers.RateLimiterMemory(evaluate(theirs[0]));
  const other = new KeyedRateLimiter(evaluate(ours[0]), { clock: clock.ours });
  await assertTheSame(
    clock,
    (key) => admits(one, key),
    (key) => other.tryAcquire(key),
  );
  for (const [cost, admitted] of [
    [3, true],
    [3, false],
  ]) {
    assert.equal(await admits(one, 'eve', cost), admitted);
    assert.equal(other.tryAcquire('eve', cost), admitted);
  }
  assert.equal(await admits(one, 'eve', 2), false);
  assert.equal(other.tryAcquire('eve', 2), true);
});

page.row('`{ points: 5, duration: 0 }`', 'a period is at most 730 days', async ({ theirs, ours }, clock) => {
  const one = new peers.RateLimiterMemory(evaluate(theirs[0]));
  const other = new KeyedRateLimiter(evaluate(ours[0]), { clock: clock.ours });
  for (let calls = 0; calls < 6; calls++) assert.equal(other.tryAcquire('ann'), await admits(one, 'ann'));
  await clock.advance(730 * 86_400_000 - 1);
  assert.deepEqual([await admits(one, 'ann'), other.tryAcquire('ann')], [false, false]);
  await clock.advance(1);
  assert.deepEqual([await admits(one, 'ann'), other.tryAcquire('ann')], [false, true]);
  assert.throws(() => new KeyedRateLimiter('5/731 days fixed_window'), ConfigError);
});

page.row(
  '`{ points: 5, duration: 60, blockDuration: 300 }`',
  'refused clients are not blocked',
  async ({ theirs }, clock) => {
    const one = new peers.RateLimiterMemory(evaluate(theirs[0]));
    const [, other] = both(clock);
    for (let calls = 0; calls < 6; calls++) assert.equal(other.tryAcquire('ann'), await admits(one, 'ann'));
    await clock.advance(60_000);
    assert.deepEqual([await admits(one, 'ann'), other.tryAcquire('ann')], [false, true]);
    await clock.advance(240_000);
    assert.equal(await admits(one, 'ann'), true);
  },
);

page.row(
  '`{ points: 5, duration: 60, execEvenly: true }`',
  'calls are spread',
  async ({ theirs, ours, differs }, clock) => {
    const one = new peers.RateLimiterMemory(evaluate(theirs[0]));
    const limiter = new KeyedRateLimiter(evaluate(ours[0]), { clock: clock.ours });
    const acquire = evaluate(`async () => ${ours[1]}`, { limiter, key: 'ann' });
    const told = [...differs.matchAll(/after ([\d, and]+) s/g)].map(([, times]) =>
      times.match(/\d+/g).map((s) => s * 1000),
    );
    assert.deepEqual(
      await beginnings(
        clock,
        Array(6).fill(() => one.consume('ann')),
        55_000,
      ),
      told[0],
    );
    assert.deepEqual(await beginnings(clock, Array(6).fill(acquire), 70_000), told[1]);
  },
);

page.row(
  '`{ points: 5, duration: 60, execEvenly: true, execEvenlyMinDelayMs',
  'calls keep a distance',
  async (row, clock) => {
    const one = new peers.RateLimiterMemory(evaluate(row.theirs[0]));
    const other = new KeyedRateLimiter(evaluate(row.ours[0]), { clock: clock.ours });
    const three = (call) => Array(3).fill(call);
    assert.deepEqual(
      await beginnings(
        clock,
        three(() => one.consume('ann')),
        90_000,
      ),
      [0, 40_000, 60_000],
    );
    assert.deepEqual(
      await beginnings(
        clock,
        three(() => other.acquire('ann')),
        90_000,
      ),
      [0, 20_000, 40_000],
    );
  },
);

page.row(
  '`{ points: 5, duration: 60, keyPrefix',
  'keys of two purposes are told apart',
  async ({ theirs, ours }, clock) => {
    const one = new peers.RateLimiterMemory(evaluate(theirs[0]));
    const [, other] = both(clock);
    assert.equal(one.getKey('ann'), 'login:ann');
    for (let calls = 0; calls < 6; calls++) {
      assert.equal(other.tryAcquire(evaluate(ours[0], { keyOf, key: 'ann' })), await admits(one, 'ann'));
    }
    assert.equal(other.tryAcquire('ann'), true);
  },
);

/** A limiter over a store that isn't there, or isn't asked. */
class Stored extends peers.RateLimiterRedis.prototype.constructor {
  asked = 0;

  async _upsert(_, points) {
    this.asked += 1;
    if (this.client === 'down') throw new Error('the store is down');
    this.used = (this.used ?? 0) + points;
    return [this.used, 60_000];
  }
}

page.row('`{ points: 5, duration: 60, insuranceLimiter', 'there is no store to fail', async ({ theirs }, clock) => {
  const [other, ours] = both(clock);
  const one = new Stored({ ...evaluate(theirs[0], { other }), storeClient: 'down' });
  for (let calls = 0; calls < 6; calls++) assert.equal(ours.tryAcquire('ann'), await admits(one, 'ann'));
  assert.throws(() => new KeyedRateLimiter(FIVE_TEXT, { insuranceLimiter: ours }), /insuranceLimiter/);
});

page.row('`{ points: 5, duration: 60, inMemoryBlockOnConsumed', 'a refusal asks nobody', async ({ theirs }, clock) => {
  const one = new Stored({ ...evaluate(theirs[0]), storeClient: 'up' });
  const [, other] = both(clock);
  for (let calls = 0; calls < 9; calls++) assert.equal(other.tryAcquire('ann'), await admits(one, 'ann'));
  assert.equal(one.asked, 5);
  assert.throws(() => new KeyedRateLimiter(FIVE_TEXT, { inMemoryBlockOnConsumed: 5 }), /inMemoryBlockOnConsumed/);
});

page.row('`{ points: 5, duration: 60, storeClient', 'a budget is shared within a process', async ({ theirs, ours }) => {
  const stored = new Stored(evaluate(theirs[0], { redis: 'up' }));
  for (let calls = 0; calls < 6; calls++) assert.equal(await admits(stored, 'ann'), calls < 5);
  const [one, other] = [0, 1].map(() => new KeyedRateLimiter(FIVE_TEXT, evaluate(ours[0])));
  for (let calls = 0; calls < 6; calls++) assert.equal([one, other][calls % 2].tryAcquire('ann'), calls < 5);
});

page.row('`limiter.consume(key)`', 'a call is a boolean', async ({ theirs, ours }, clock) => {
  const [one, other] = both(clock);
  for (let calls = 0; calls < 6; calls++) {
    const promise = evaluate(theirs[0], { limiter: one, key: 'ann' });
    assert.ok(promise instanceof Promise);
    const admitted = await promise.then(Boolean, () => false);
    assert.equal(evaluate(ours[0], { limiter: other, key: 'ann' }), admitted);
  }
});

page.row('`limiter.consume(key, 2)`', 'a call may cost more', async ({ theirs, ours }, clock) => {
  const [one, other] = both(clock);
  for (const admitted of [true, true, false]) {
    assert.equal(await evaluate(theirs[0], { limiter: one, key: 'ann' }).then(Boolean, () => false), admitted);
    assert.equal(evaluate(ours[0], { limiter: other, key: 'ann' }), admitted);
  }
});

page.row(
  '`limiter.consume(key, 1, { customDuration',
  'a key may have a period of its own',
  async ({ theirs, ours }, clock) => {
    const [one, other] = both(clock);
    evaluate(ours[0], { limiter: other, key: 'ann' });
    for (let windows = 0; windows < 3; windows++) {
      for (let calls = 0; calls < 6; calls++) {
        const admitted = await evaluate(theirs[0], { limiter: one, key: 'ann' }).then(Boolean, () => false);
        assert.equal(admitted, calls < 5);
        assert.equal(other.tryAcquire('ann'), admitted);
      }
      await clock.advance(5_000);
    }
    other.clearQuota('ann');
    assert.equal(other.tryAcquire('ann', 5), true);
    await clock.advance(5_000);
    assert.equal(other.tryAcquire('ann'), false);
  },
);

/** What both say of six calls, one each second. */
async function said(clock) {
  const [one, other] = both(clock);
  const pairs = [];
  for (let calls = 0; calls < 7; calls++) {
    pairs.push({ res: await one.consume('ann').catch((res) => res), decision: other.decide('ann') });
    await clock.advance(1_000);
  }
  return pairs;
}

for (const figure of ['remainingPoints', 'msBeforeNext']) {
  page.row(`\`res.${figure}\``, `${figure} has a name here`, async ({ theirs, ours }, clock) => {
    for (const pair of await said(clock)) assert.equal(evaluate(ours[0], pair), evaluate(theirs[0], pair));
  });
}

page.row('`res.consumedPoints`', 'what is used is never more than the limit', async ({ theirs, ours }, clock) => {
  const pairs = await said(clock);
  assert.deepEqual(
    pairs.map((pair) => evaluate(theirs[0], pair)),
    [1, 2, 3, 4, 5, 6, 7],
  );
  assert.deepEqual(
    pairs.map((pair) => evaluate(ours[0], pair)),
    [1, 2, 3, 4, 5, 5, 5],
  );
  for (const { decision } of pairs.slice(5)) assert.equal(decision.retryAfterMs, decision.resetAfterMs);
});

page.row('`limiter.get(key)`', 'figures are told without a call', async ({ theirs, ours }, clock) => {
  const [one, other] = both(clock);
  const told = async () => [
    await evaluate(theirs[0], { limiter: one, key: 'ann' }),
    evaluate(ours[0], { limiter: other, key: 'ann' }),
  ];
  const [nothing, all] = await told();
  assert.deepEqual([nothing, all.remaining], [null, 5]);
  await one.consume('ann', 2);
  other.tryAcquire('ann', 2);
  const [res, decision] = await told();
  assert.deepEqual([res.remainingPoints, res.msBeforeNext], [decision.remaining, decision.resetAfterMs]);
});

page.row('`limiter.penalty(', 'a penalty takes what is there', async ({ theirs, ours, differs }, clock) => {
  const [one, other] = both(clock);
  for (const remaining of [3, 1]) {
    assert.equal((await evaluate(theirs[0], { limiter: one, key: 'ann' })).remainingPoints, remaining);
    assert.equal(evaluate(ours[0], { limiter: other, key: 'ann' }), true);
    assert.equal(other.peek('ann').remaining, remaining);
  }
  assert.equal((await evaluate(theirs[0], { limiter: one, key: 'ann' })).consumedPoints, 6);
  assert.equal(evaluate(ours[0], { limiter: other, key: 'ann' }), false);
  assert.equal(other.peek('ann').remaining, 1);
  const limiter = new KeyedRateLimiter('5/60s', { clock: clock.ours });
  limiter.tryAcquire('ann', 5);
  const [reserve] = differs.match(/limiter\.reserve\(.*?\)/);
  assert.equal(evaluate(reserve, { limiter, key: 'ann' }).waitMs, 24_000);
  assert.equal(limiter.peek('ann').retryAfterMs, 36_000);
});

page.row('`limiter.reward(', 'what was taken is given back once', async ({ theirs, ours }, clock) => {
  const [one, other] = both(clock);
  await one.consume('ann', 5);
  other.decide('ann', 3);
  const decision = other.decide('ann', 2);
  assert.equal((await evaluate(theirs[0], { limiter: one, key: 'ann' })).remainingPoints, 2);
  evaluate(ours[0], { limiter: other, key: 'ann', decision });
  assert.equal(other.peek('ann').remaining, 2);
  await evaluate(theirs[0], { limiter: one, key: 'ann' });
  assert.throws(() => evaluate(ours[0], { limiter: other, key: 'ann', decision }));
});

page.row('`limiter.set(', 'a key may be set', async ({ theirs, ours }, clock) => {
  const [one, other] = both(clock);
  await one.consume('ann', 5);
  other.tryAcquire('ann', 5);
  await evaluate(theirs[0], { limiter: one, key: 'ann' });
  for (const code of ours) evaluate(code, { limiter: other, key: 'ann' });
  assert.equal(other.peek('ann').remaining, 2);
  assert.equal((await one.get('ann')).remainingPoints, 2);
});

page.row('`limiter.block(', 'a key may be blocked', async ({ theirs, ours, differs }, clock) => {
  const [one, other] = both(clock);
  await evaluate(theirs[0], { limiter: one, key: 'ann' });
  evaluate(ours[0], { limiter: other, key: 'ann' });
  await clock.advance(299_000);
  assert.deepEqual([await admits(one, 'ann'), other.tryAcquire('ann')], [false, false]);
  assert.equal(other.tryAcquire('bob'), true);
  await clock.advance(1_000);
  assert.deepEqual([await admits(one, 'ann'), other.tryAcquire('ann')], [true, false]);
  evaluate(differs.match(/limiter\.clearQuota\(.*?\)/)[0], { limiter: other, key: 'ann' });
  assert.equal(other.tryAcquire('ann'), true);
});

page.row('`limiter.delete(key)`', 'a key begins anew', async ({ theirs, ours }, clock) => {
  const [one, other] = both(clock);
  await one.consume('ann', 5);
  other.tryAcquire('ann', 5);
  await evaluate(theirs[0], { limiter: one, key: 'ann' });
  evaluate(ours[0], { limiter: other, key: 'ann' });
  assert.deepEqual([await admits(one, 'ann', 5), other.tryAcquire('ann', 5)], [true, true]);
});

page.row('`limiter.points = 7`', 'a limit changes in use', async ({ theirs, ours }, clock) => {
  const [one, other] = both(clock);
  await one.consume('ann', 5);
  other.tryAcquire('ann', 5);
  evaluate(theirs[0], { limiter: one });
  evaluate(ours[0], { limiter: other });
  for (const admitted of [true, true, false]) {
    assert.deepEqual([await admits(one, 'ann'), other.tryAcquire('ann')], [admitted, admitted]);
  }
});

page.row('`limiter.dump()`', 'counts are not saved', async ({ theirs }, clock) => {
  const [one, other] = both(clock);
  await one.consume('ann');
  assert.equal(evaluate(theirs[0], { limiter: one }).storage.length, 1);
  assert.equal(other.dump, undefined);
});

page.row('`new RateLimiterUnion', 'of several quotas none is charged where one refuses', async ({ ours }, clock) => {
  const one = new peers.RateLimiterUnion(
    new peers.RateLimiterMemory({ keyPrefix: 'second', points: 2, duration: 1 }),
    new peers.RateLimiterMemory({ keyPrefix: 'minute', points: 5, duration: 60 }),
  );
  const other = new KeyedRateLimiter(evaluate(ours[0]), { clock: clock.ours });
  for (let calls = 0; calls < 5; calls++) assert.equal(other.tryAcquire('ann'), await admits(one, 'ann'));
  await clock.advance(1_000);
  // Five were charged to the minute there, two here.
  assert.deepEqual([await admits(one, 'ann'), other.tryAcquire('ann')], [false, true]);
});

page.row('`new BurstyRateLimiter', 'a burst is a second limiter', async ({ ours }, clock) => {
  const steadily = { points: 2, duration: 1 };
  const more = { keyPrefix: 'more', points: 5, duration: 10 };
  const one = new peers.BurstyRateLimiter(...[steadily, more].map((options) => new peers.RateLimiterMemory(options)));
  const limiter = (quota) => new KeyedRateLimiter(quota, { clock: clock.ours });
  const [steady, extra] = [limiter('2/1s fixed_window'), limiter('5/10s fixed_window')];
  await assertTheSame(
    clock,
    (key) => admits(one, key),
    (key) => evaluate(ours[0], { steady, extra, key }),
  );
  const asOne = limiter('2/s burst 7');
  for (let calls = 0; calls < 8; calls++) assert.equal(asOne.tryAcquire('ann'), calls < 7);
  await clock.advance(3_500);
  for (let calls = 0; calls < 8; calls++) assert.equal(asOne.tryAcquire('ann'), calls < 7);
});

page.row('`new RateLimiterQueue', 'calls wait in a line', async ({ theirs, ours }, clock) => {
  const queue = evaluate(theirs[0], { ...peers, limiter: new peers.RateLimiterMemory({ points: 2, duration: 1 }) });
  const limiter = new KeyedRateLimiter('2/1s fixed_window', { clock: clock.ours, ...evaluate(ours[0]) });
  const acquire = evaluate(`async () => ${ours[1]}`, { limiter, key: 'ann' });
  const sixth = [];
  const calls = (call, kind) =>
    Array(6).fill(() =>
      call().catch((error) => {
        sixth.push(error instanceof kind);
        throw error;
      }),
    );
  const times = [0, 0, 1_000, 1_000, 2_000];
  assert.deepEqual(
    await beginnings(
      clock,
      calls(() => queue.removeTokens(1), peers.RateLimiterQueueError),
      5_000,
    ),
    times,
  );
  assert.deepEqual(await beginnings(clock, calls(acquire, QueueFullError), 5_000), times);
  assert.deepEqual(sixth, [true, true]);
  await assert.rejects(queue.removeTokens(3), peers.RateLimiterQueueError);
  await assert.rejects(limiter.acquire('ann', 3), ExceedsCapacityError);
  limiter.tryAcquire('ann', 2);
  await assert.rejects(limiter.acquire('ann', 1, { timeoutMs: 10 }), TimedOutError);
});

page.row('`new RLWrapperBlackAndWhite', 'some keys have nothing, some have all', async ({ theirs, ours }, clock) => {
  const [limiter, other] = both(clock);
  const one = evaluate(theirs[0], { ...peers, limiter });
  for (const code of ours) evaluate(code, { limiter: other });
  for (let calls = 0; calls < 30; calls++) {
    const key = ['ann', 'bob', 'eve'][calls % 3];
    const admitted = await admits(one, key);
    assert.equal(admitted, key === 'ann' || (key === 'bob' && calls < 15));
    assert.equal(other.tryAcquire(key), admitted);
  }
});

page.row('`RateLimiterCluster`', 'processes share no budget', ({ theirs }) => {
  assert.equal(typeof evaluate(theirs[0], peers), 'function');
  const program = `
    const { KeyedRateLimiter } = require('tidegate');
    const limiter = new KeyedRateLimiter('5/60s fixed_window');
    console.log(Array.from({ length: 6 }, () => limiter.tryAcquire('ann')).filter(Boolean).length);
  `;
  const cwd = new URL('../../build/moving/node/', import.meta.url);
  const admitted = [0, 1].map(() => execFileSync(process.execPath, ['-e', program], { cwd, encoding: 'utf8' }));
  assert.deepEqual(admitted, ['5\n', '5\n']);
});

page.everyRowIsTested();
