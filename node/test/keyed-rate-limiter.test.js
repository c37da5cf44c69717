'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { ConfigError, ExceedsCapacityError, KeyedRateLimiter, ManualClock, Quota, RefusedError } = require('tidegate');
const { guardsEachKindOfFunction } = require('./guards.js');

/** A limiter on a clock of its own. */
function limiterAt(quotas, options) {
  const clock = new ManualClock();
  return { clock, limiter: new KeyedRateLimiter(quotas, { ...options, clock }) };
}

describe('a keyed rate limiter', () => {
  for (const algorithm of ['gcra', 'fixed_window', 'fixed_window anchor clock', 'sliding_window']) {
    test(`${algorithm}: each key has its own budget, which comes back with time`, () => {
      const { clock, limiter } = limiterAt(`2/s ${algorithm}`);
      const asked = (key) => [1, 2, 3].map(() => limiter.tryAcquire(key));
      assert.deepEqual(asked('ann'), [true, true, false]);
      assert.deepEqual(asked('bob'), [true, true, false]);
      clock.advance(2000);
      assert.deepEqual(asked('ann'), [true, true, false]);
    });
  }

  test('the figures are those of the key', () => {
    const { clock, limiter } = limiterAt('10/s burst 2');
    const { allowed, status, limit, remaining, quota } = limiter.decide('ann', 2);
    assert.deepEqual([allowed, status, limit, remaining, quota], [true, 'allowed', 10, 0, 0]);
    const refused = limiter.decide('ann');
    assert.deepEqual([refused.status, refused.retryAfterMs, refused.resetAfterNs], ['denied', 100, 200_000_000n]);
    assert.equal(limiter.peek('bob').remaining, 2);
    assert.equal(limiter.decide('bob', 3).status, 'exceeds_capacity');
    clock.advance(100);
    assert.equal(limiter.peek('ann').allowed, true);
    assert.equal(limiter.tryAcquire('ann'), true);
  });

  test('several quotas are one decision', () => {
    const { limiter } = limiterAt('5/s; 2/h');
    assert.deepEqual(
      [1, 2, 3].map(() => limiter.tryAcquire('ann')),
      [true, true, false],
    );
    assert.deepEqual([limiter.decide('ann').quota, limiter.peek('ann').remaining], [1, 0]);
    assert.equal(limiter.tryAcquire('bob'), true);
  });

  test('a refund gives back to the key what a decision took, once', () => {
    const { limiter } = limiterAt('2/h');
    const decision = limiter.decide('ann', 2);
    const wrong = (call, value) =>
      assert.throws(call, { code: 'ERR_TIDEGATE_DECISION', argument: 'decision', value, name: 'TidegateError' });
    wrong(() => limiter.refund('bob', decision), 'one of another key');
    wrong(() => limiterAt('2/h').limiter.refund('ann', decision), 'one of another limiter');
    assert.equal(limiter.peek('ann').remaining, 0);
    limiter.refund('ann', decision);
    assert.equal(limiter.peek('ann').remaining, 2);
    wrong(() => limiter.refund('ann', decision), 'one that was refunded before');
    wrong(() => limiter.refund('ann', limiter.decide('ann', 3)), 'one that granted nothing');
    wrong(() => limiter.refund('ann', limiter.peek('ann')), 'one that granted nothing');
    assert.throws(() => limiter.refund('ann', {}), { name: 'TypeError', argument: 'decision' });
  });

  test('a key may be given back as bytes what it took as a string', () => {
    const { limiter } = limiterAt('2/h');
    limiter.refund(Buffer.from('ann'), limiter.decide('ann'));
    assert.equal(limiter.peek('ann').remaining, 2);
  });

  test('reset makes a key unspent and voids its decisions; other keys stay', () => {
    const { limiter } = limiterAt('2/h');
    const decision = limiter.decide('ann', 2);
    limiter.tryAcquire('bob', 2);
    limiter.reset('ann');
    assert.deepEqual([limiter.peek('ann').remaining, limiter.peek('bob').remaining], [2, 0]);
    limiter.tryAcquire('ann', 2);
    limiter.refund('ann', decision);
    assert.equal(limiter.peek('ann').remaining, 0);
  });

  test('reconfigure changes the quota of all keys; what is used stays used', () => {
    const { limiter } = limiterAt('5/min');
    assert.equal(limiter.tryAcquire('ann', 5), true);
    limiter.reconfigure('10/min');
    assert.deepEqual([limiter.tryAcquire('ann', 5), limiter.tryAcquire('ann')], [true, false]);
    assert.equal(limiter.tryAcquire('bob', 10), true);
    assert.deepEqual([String(limiter.quota), limiter.quotas.length], ['10/min', 1]);
    assert.throws(() => limiter.reconfigure('10/min fixed_window'), ConfigError);
    assert.throws(() => limiter.reconfigure('1/s; 2/s'), ConfigError);
    assert.equal(String(limiter.quota), '10/min');
  });

  test('a key may have a quota of its own; what is used stays used, either way', () => {
    const { limiter } = limiterAt('2/h');
    const decision = limiter.decide('ann', 2);
    limiter.setQuota('ann', { limit: 5, perMs: 3_600_000 });
    assert.deepEqual([limiter.peek('ann').remaining, limiter.peek('ann').limit, limiter.peek('bob').limit], [3, 5, 2]);
    limiter.refund('ann', decision);
    assert.equal(limiter.peek(Buffer.from('ann')).remaining, 3);
    limiter.tryAcquire('ann', 3);
    limiter.reconfigure('3/h');
    assert.deepEqual([limiter.peek('ann').limit, limiter.peek('bob').limit], [5, 3]);
    limiter.clearQuota('ann');
    limiter.clearQuota('bob');
    assert.deepEqual([limiter.peek('ann').limit, limiter.peek('ann').remaining], [3, 0]);
  });

  test('a guard that a quota of a key refuses does not name the quota of the others', () => {
    const { limiter } = limiterAt('2/h');
    const greet = limiter.guard(() => 'hello', { key: 'ann' });
    limiter.setQuota('ann', '1/h');
    assert.equal(greet(), 'hello');
    assert.throws(greet, {
      message: "refused: cost 1 asked, 0 remaining; the key's quota allows it in 3600000 ms",
    });
    assert.throws(
      limiter.guard(() => {}, { key: 'ann', cost: 2 }),
      { constructor: ExceedsCapacityError, message: 'cost 2 can never be had: it is more than the burst' },
    );
    limiter.setQuota('ann', '0/h');
    assert.throws(greet, { message: 'refused: cost 1 asked, the limit is 0' });
  });

  test('a quota of a key is as the limiter is, or an error that changes nothing', () => {
    const { limiter } = limiterAt('2/h');
    for (const quotas of ['1/h fixed_window', '1/h; 2/h', 'a lot']) {
      assert.throws(() => limiter.setQuota('ann', quotas), ConfigError);
    }
    assert.throws(() => limiter.setQuota('ann', ['1/h', { limit: -1, perMs: 1 }]), { argument: 'quotas[1].limit' });
    assert.throws(() => limiter.setQuota('ann'), { name: 'TypeError', argument: 'quotas' });
    assert.throws(() => limiter.setQuota(5, '3/h'), { name: 'TypeError', argument: 'key' });
    assert.throws(() => limiter.clearQuota(), { name: 'TypeError', argument: 'key' });
    assert.equal(limiter.peek('ann').limit, 2);
  });

  test('names the keys that are refused most, if asked to count them', () => {
    const { limiter } = limiterAt('1/h', { trackDenied: 2 });
    for (const key of ['a', 'a', 'a', 'b', 'b', 'once']) limiter.tryAcquire(key);
    const top = limiter.topDenied(9).map(({ key, count, error }) => [key.toString(), count, error]);
    assert.deepEqual(top, [
      ['a', 2, 0],
      ['b', 1, 0],
    ]);
    limiter.tryAcquireMany(['c', 'c', 'c']);
    const [first] = limiter.topDenied(1);
    assert.deepEqual([first.key, first.count, first.error], [Buffer.from('c'), 3, 1]);
    assert.deepEqual([limiter.topDenied(0), limiterAt('0/h').limiter.topDenied(5)], [[], []]);
    for (const n of [-1, 0.5, Number.NaN])
      assert.throws(() => limiter.topDenied(n), { name: 'RangeError', argument: 'n' });
    assert.throws(() => limiter.topDenied(), { name: 'TypeError', argument: 'n' });
    for (const trackDenied of [-1, 0.5, 65_537, 2 ** 32]) {
      assert.throws(() => limiterAt('1/h', { trackDenied }), { name: 'ConfigError', argument: 'trackDenied' });
    }
  });

  test('counts calls, live keys and capacity', () => {
    const { clock, limiter } = limiterAt('1/s', { maxKeys: 50 });
    for (const key of ['ann', 'ann', 'bob']) limiter.tryAcquire(key);
    limiter.decide('ann');
    limiter.peek('eve');
    assert.deepEqual(
      { ...limiter.stats() },
      { allowed: 2, denied: 2, timedOut: 0, cancelled: 0, waiting: 0, liveKeys: 2, evictedLive: 0, capacity: 50 },
    );
    assert.deepEqual([limiter.size, limiter.capacity], [2, 50]);
    clock.advance(1000);
    assert.equal(limiter.size, 0);
    assert.equal(new KeyedRateLimiter('1/s').capacity, 100_000);
  });

  test('a victim that is denied stays so under a flood of fresh keys', () => {
    const { limiter } = limiterAt('2/h', { maxKeys: 100 });
    assert.deepEqual(
      [1, 2, 3].map(() => limiter.tryAcquire('victim')),
      [true, true, false],
    );
    for (let i = 0; i < 200; i++) limiter.tryAcquire(`flood ${i}`);
    assert.equal(limiter.tryAcquire('victim'), false);
  });

  test('whenFull says what becomes of a ninth key where there are eight slots', () => {
    const keys = Array.from({ length: 8 }, (_, i) => `key ${i}`);
    const { clock, limiter } = limiterAt('1/h', { maxKeys: 3, whenFull: 'deny_new' });
    assert.ok(keys.every((key) => limiter.tryAcquire(key)));
    const full = limiter.decide('new');
    assert.deepEqual([full.allowed, full.status, limiter.tryAcquire('new')], [false, 'keys_full', false]);
    assert.ok(full.retryAfterMs > 0 && full.retryAfterMs <= 3_600_000);
    const guarded = limiter.guard(() => assert.fail('called'), { key: 'new' });
    assert.throws(guarded, (error) => error.decision.status === 'keys_full' && /no room for another key/.test(error));
    assert.equal(limiter.stats().evictedLive, 0);
    clock.advanceNs(full.retryAfterNs);
    assert.equal(limiter.tryAcquire('new'), true);

    const evicting = limiterAt('1/h', { maxKeys: 3 }).limiter;
    assert.ok([...keys, 'new'].every((key) => evicting.tryAcquire(key)));
    assert.equal(evicting.stats().evictedLive, 1);
  });

  test('a million one-shot keys pass through a limiter whose memory is fixed', () => {
    const { clock, limiter } = limiterAt('1/s', { maxKeys: 1000 });
    let admitted = 0;
    for (let i = 0; i < 1_000_000; i++) {
      if (i % 500 === 0) clock.advance(1000);
      if (limiter.tryAcquire(`one-shot ${i}`)) admitted++;
    }
    assert.deepEqual([admitted, limiter.stats().evictedLive], [1_000_000, 0]);
    assert.equal(limiter.size, 500);
  });

  test('shows what it enforces', () => {
    const limiter = new KeyedRateLimiter(['2/s', new Quota('100/h')], { maxKeys: 10 });
    assert.equal(String(limiter), 'KeyedRateLimiter(2/s; 100/h, 10 keys)');
    assert.equal(require('node:util').inspect(limiter), String(limiter));
  });

  test('mistakes are named, and nothing is spent', () => {
    const { limiter } = limiterAt('2/h');
    for (const method of ['tryAcquire', 'decide', 'peek']) {
      for (const cost of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, 2 ** 64]) {
        assert.throws(() => limiter[method]('ann', cost), { name: 'RangeError', argument: 'cost' });
      }
      for (const cost of ['1', 1n, null, true, {}]) {
        assert.throws(() => limiter[method]('ann', cost), { name: 'TypeError', argument: 'cost' });
      }
    }
    assert.equal(limiter.peek('ann').remaining, 2);
    for (const maxKeys of [0, -1, 1.5, Number.NaN, 2 ** 32 + 1]) {
      assert.throws(() => new KeyedRateLimiter('1/s', { maxKeys }), { constructor: ConfigError, argument: 'maxKeys' });
    }
    assert.throws(() => new KeyedRateLimiter('1/s', { maxKeys: '5' }), { name: 'TypeError', argument: 'maxKeys' });
    assert.throws(() => new KeyedRateLimiter('1/s', { whenFull: 'deny' }), {
      name: 'ConfigError',
      argument: 'whenFull',
    });
    assert.throws(() => new KeyedRateLimiter('1/s', { max_keys: 5 }), { argument: 'options.max_keys' });
    assert.throws(() => new KeyedRateLimiter('1/s sliding_log'), { constructor: ConfigError, argument: 'algorithm' });
    assert.throws(() => new KeyedRateLimiter('1/s', { clock: {} }), { name: 'TypeError', argument: 'clock' });
    assert.throws(() => limiter.guard(() => {}), { name: 'TypeError', argument: 'key' });
    assert.throws(() => limiter.guard(() => {}, { key: 'a', cost: 0 }), { name: 'RangeError', argument: 'cost' });
  });
});

describe('tryAcquireMany', () => {
  test('answers as single calls do, one after the other', () => {
    const kinds = {
      strings: ['a', 'b', 'a', '', 'a', '\0', '', 'é', '\uD83D', '\uDE00', '\uD83D', 'é'],
      bytes: ['a', 'b', 'a', '', 'a', 'b', ''].map((key) => Buffer.from(key)),
      both: ['a', Buffer.from('a'), 'b', Buffer.from('a')],
      long: ['x'.repeat(700_000), 'x'.repeat(700_000), 'y', 'x'.repeat(700_000)],
      one: ['a'],
      none: [],
    };
    for (const [kind, keys] of Object.entries(kinds)) {
      const [many, single] = [1, 2].map(() => limiterAt('2/h', { maxKeys: 1000 }).limiter);
      assert.deepEqual(
        many.tryAcquireMany(keys),
        keys.map((key) => single.tryAcquire(key)),
        kind,
      );
      assert.deepEqual({ ...many.stats() }, { ...single.stats() }, kind);
    }
  });

  test('answers so however long the keys are together', () => {
    // Around the room that many keys have.
    for (let total = 4_090; total <= 4_100; total += 1) {
      for (const last of ['z', 'é', 'š', '\uD83D']) {
        const some = Array.from({ length: 100 }, (_, number) => String(number).padEnd(40, '.'));
        const keys = [...some, 'y'.repeat(total - 4_001) + last, Buffer.from(some[7]), some[8]];
        for (const all of [keys, keys.slice(0, 101), [...keys].reverse()]) {
          const [many, single] = [1, 2].map(() => limiterAt('1/h', { maxKeys: 1000 }).limiter);
          assert.deepEqual(
            many.tryAcquireMany(all),
            all.map((key) => single.tryAcquire(key)),
          );
          assert.ok(all.every((key) => many.peek(key).remaining === 0));
        }
      }
    }
  });

  test('halves of a pair that two neighbours bear stay two keys', () => {
    const { limiter } = limiterAt('1/h');
    const keys = ['\uD83D', '\uDE00'];
    assert.deepEqual(limiter.tryAcquireMany(keys), [true, true]);
    assert.equal(limiter.tryAcquire('\uD83D\uDE00'), true);
    assert.ok(keys.every((key) => !limiter.tryAcquire(key)));
  });

  test('takes a thousand keys at a cost, and leaves the array as it was', () => {
    const { limiter } = limiterAt('3/h');
    const keys = Object.freeze(Array.from({ length: 1000 }, (_, i) => `key ${i % 500}`));
    const allowed = limiter.tryAcquireMany(keys, 2);
    assert.deepEqual(
      allowed,
      keys.map((_, i) => i < 500),
    );
  });

  test('takes any number of keys, and each answer is an array of its own', () => {
    for (const number of [1, 2, 16, 17, 127, 128, 129, 256, 257, 3000]) {
      const { limiter } = limiterAt('2/h', { maxKeys: 10_000 });
      for (const wide of ['', 'é']) {
        const keys = Array.from({ length: number }, (_, i) => `a key of some length ${i}${wide}`);
        const first = limiter.tryAcquireMany(keys);
        assert.deepEqual(first, Array(number).fill(true));
        first.fill(5);
        limiter.tryAcquire(keys[number - 1]);
        const second = limiter.tryAcquireMany(keys);
        assert.deepEqual([second.length, second.lastIndexOf(true), second.at(-1)], [number, number - 2, false]);
        assert.deepEqual(limiter.tryAcquireMany(keys), Array(number).fill(false));
      }
    }
  });

  test('an array whose getters ask for more is answered as any', () => {
    const { limiter } = limiterAt('1/h');
    const keys = ['aaa', 'bb', 'c'];
    const inner = [];
    Object.defineProperty(keys, 1, {
      get: () => {
        inner.push(limiter.tryAcquireMany(['x', 'aaa', 'long', 'c']));
        return 'bb';
      },
    });
    assert.deepEqual(limiter.tryAcquireMany(keys), [false, true, false]);
    assert.deepEqual(inner, [[true, true, true, true]]);
    const fewer = ['f', 'g', 'h'];
    fewer[Symbol.iterator] = function* few() {
      yield this[1];
    };
    assert.deepEqual(limiter.tryAcquireMany(fewer), [true]);
    const failing = ['a', 'b'];
    Object.defineProperty(failing, 0, { get: () => assert.fail('of the array') });
    assert.throws(() => limiter.tryAcquireMany(failing), { message: 'of the array' });
    assert.deepEqual(limiter.tryAcquireMany(['d', 'e']), [true, true]);
  });

  test('a mistake is named, and nothing is spent', () => {
    const { limiter } = limiterAt('1/h');
    const holed = ['a', 'b'];
    holed[3] = 'c';
    assert.throws(() => limiter.tryAcquireMany(holed), { name: 'TypeError', argument: 'keys[2]' });
    for (const keys of [undefined, 'abc', new Set(['a']), { length: 1, 0: 'a' }, Buffer.from('a')]) {
      assert.throws(() => limiter.tryAcquireMany(keys), { name: 'TypeError', argument: 'keys' });
    }
    for (const keys of [['a'], ['a', Buffer.from('b')], []]) {
      assert.throws(() => limiter.tryAcquireMany(keys, 0), { name: 'RangeError', argument: 'cost' });
      assert.throws(() => limiter.tryAcquireMany(keys, '1'), { name: 'TypeError', argument: 'cost' });
    }
    assert.equal(limiter.stats().allowed, 0);
  });
});

describe('a guard of a keyed rate limiter', () => {
  guardsEachKindOfFunction(
    (fn) => new KeyedRateLimiter('1000/s').guard(fn, { key: 'ann' }),
    (fn) => new KeyedRateLimiter('0/s').guard(fn, { key: 'ann' }),
  );

  test('spends from the key that is made of what the call gets', () => {
    const { limiter } = limiterAt('2/h');
    const service = {
      tenant: 't',
      greet: limiter.guard(
        function greet(user, word) {
          return `${this.tenant}: ${word} ${user}`;
        },
        {
          key(user) {
            return `${this.tenant}/${user}`;
          },
          cost: 2,
        },
      ),
    };
    assert.equal(service.greet('ann', 'hello'), 't: hello ann');
    assert.equal(service.greet('bob', 'hello'), 't: hello bob');
    assert.throws(() => service.greet('ann', 'hello'), { name: 'RefusedError', message: /^refused: cost 2 asked/ });
    assert.equal(limiter.peek('t/ann').remaining, 0);
  });

  test('refuses what can never be had, and passes on what the key function throws', async () => {
    const { limiter } = limiterAt('2/h');
    assert.throws(
      limiter.guard(() => assert.fail('called'), { key: 'ann', cost: 3 }),
      ExceedsCapacityError,
    );
    const failure = new Error('no key');
    const key = () => {
      throw failure;
    };
    assert.throws(
      limiter.guard(() => assert.fail('called'), { key }),
      (error) => error === failure,
    );
    await assert.rejects(limiter.guard(async () => assert.fail('called'), { key })(), (error) => error === failure);
    assert.equal(new RefusedError('').decision, undefined);
  });
});
