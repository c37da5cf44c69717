'use strict';
// Guards with a timeout wait for their turn.

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { describe, test } = require('node:test');
const { KeyedConcurrencyLimiter, KeyedRateLimiter, TimedOutError } = require('tidegate');
const { concurrencyKinds, rateKinds } = require('./fixtures/one-key.js');
const { atClock, keepAlive, names, turn } = require('./fixtures/waits.js');

keepAlive();

for (const [kind, Limiter] of concurrencyKinds) {
  describe(`a guard with a timeout, for permits${kind}`, () => {
    test('waits for its turn, and releases when the work is over', async () => {
      const limiter = new Limiter(1);
      const permit = limiter.tryAcquire();
      const guarded = limiter.guard(async (text) => text.toUpperCase(), { timeoutMs: 10_000 });
      const calls = [guarded('a'), guarded('b')];
      assert.deepEqual(await names(calls), ['wait', 'wait']);
      permit.release();
      assert.deepEqual([await Promise.all(calls), limiter.inFlight, limiter.waiting], [['A', 'B'], 0, 0]);
    });

    test('rejects with a TimedOutError, and calls nothing then', async () => {
      const limiter = new Limiter(1);
      const permit = limiter.tryAcquire();
      const never = () => assert.fail('called');
      for (const timeoutMs of [0, 2]) {
        await assert.rejects(limiter.guard(never, { timeoutMs })(), TimedOutError);
        await assert.rejects(limiter.guard(async () => never(), { timeoutMs })(), TimedOutError);
      }
      permit.release();
      assert.deepEqual([limiter.inFlight, limiter.stats().timedOut], [0, 4]);
    });

    test('makes a plain function one that returns a promise, with the same this, name and length', async () => {
      const limiter = new Limiter(2);
      const order = [];
      const thing = {
        base: 3,
        add: limiter.guard(
          function add(a, b) {
            order.push('called');
            return this.base + a + b;
          },
          { timeoutMs: Infinity },
        ),
      };
      const sum = thing.add(1, 2);
      order.push('returned');
      assert.ok(sum instanceof Promise);
      assert.deepEqual([await sum, order], [6, ['called', 'returned']]);
      assert.deepEqual([thing.add.name, thing.add.length], ['add', 2]);
      const failure = new Error('of the work');
      const failing = limiter.guard(
        () => {
          throw failure;
        },
        { timeoutMs: 5 },
      );
      await assert.rejects(failing(), (error) => error === failure);
      assert.deepEqual([limiter.inFlight, limiter.stats().releasedFailed], [0, 1]);
    });

    test('makes an async generator wait at its first next', async () => {
      const limiter = new Limiter(1);
      const count = limiter.guard(
        async function* (upTo) {
          for (let n = 0; n < upTo; n++) yield n;
        },
        { timeoutMs: 10_000 },
      );
      const permit = limiter.tryAcquire();
      const running = count(2);
      const first = running.next();
      assert.deepEqual(await names([first]), ['wait']);
      permit.release();
      const seen = [(await first).value];
      assert.equal(limiter.inFlight, 1);
      for await (const n of running) seen.push(n);
      assert.deepEqual([seen, limiter.inFlight], [[0, 1], 0]);
    });

    test('has the AsyncLocalStorage of its caller', async () => {
      const store = new AsyncLocalStorage();
      const limiter = new Limiter(1);
      const permit = limiter.tryAcquire();
      const guarded = limiter.guard(() => store.getStore(), { timeoutMs: 10_000 });
      const calls = ['a', 'b'].map((name) => store.run(name, () => guarded()));
      store.run('the one that releases', () => permit.release());
      assert.deepEqual(await Promise.all(calls), ['a', 'b']);
    });

    test('mistakes are named when it is made', () => {
      const limiter = new Limiter(1);
      for (const [fn, options, argument] of [
        [() => {}, { timeoutMs: -1 }, 'timeoutMs'],
        [() => {}, { timeoutMs: '5' }, 'timeoutMs'],
        [() => {}, { permits: 0, timeoutMs: 5 }, 'permits'],
        [() => {}, { timeout: 5 }, 'options.timeout'],
        [function* () {}, { timeoutMs: 5 }, 'fn'],
        [5, { timeoutMs: 5 }, 'fn'],
      ]) {
        assert.throws(() => limiter.guard(fn, options), { argument });
      }
      assert.equal(limiter.stats().allowed, 0);
    });
  });
}

for (const [kind, Limiter] of rateKinds) {
  test(`a guard with a timeout waits for tokens${kind}, or rejects at once if it would be too long`, async () => {
    const { clock, limiter } = atClock(Limiter, '1/s');
    const guarded = limiter.guard(async (n) => n * 2, { cost: 1, timeoutMs: 1000 });
    const calls = [guarded(1), guarded(2)];
    assert.deepEqual(await names(calls), ['got', 'wait']);
    await assert.rejects(guarded(3), TimedOutError);
    clock.advance(1000);
    assert.deepEqual(await Promise.all(calls), [2, 4]);
    assert.throws(() => limiter.guard(() => {}, { cost: 0, timeoutMs: 5 }), { argument: 'cost' });
  });
}

test('a guard with keys waits for the key of each call', async () => {
  const limiter = new KeyedConcurrencyLimiter(1);
  const { clock, limiter: keyed } = atClock(KeyedRateLimiter, '1/s');
  const finishers = new Map();
  const service = {
    tenant: 't',
    fetch: limiter.guard((host) => new Promise((resolve) => finishers.set(host, resolve)), {
      key(host) {
        return `${this.tenant}/${host.slice(0, 1)}`;
      },
      timeoutMs: 10_000,
    }),
  };
  const fetched = [service.fetch('a1'), service.fetch('a2'), service.fetch('b')];
  assert.deepEqual([[...finishers.keys()], limiter.waiting('t/a')], [['a1', 'b'], 1]);
  finishers.get('a1')();
  await fetched[0];
  await turn();
  assert.deepEqual([...finishers.keys()], ['a1', 'b', 'a2']);
  for (const finish of finishers.values()) finish();
  await Promise.all(fetched);
  assert.equal(limiter.stats().inFlight, 0);

  const greet = keyed.guard((name) => `hello ${name}`, { key: (name) => name, timeoutMs: 5000 });
  const greetings = [greet('ann'), greet('ann'), greet('bob')];
  assert.deepEqual(await names(greetings), ['got', 'wait', 'got']);
  clock.advance(1000);
  assert.equal(await greetings[1], 'hello ann');
});
