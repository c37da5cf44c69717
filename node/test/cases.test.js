'use strict';
// Cases behind public bug reports on limiters in every language: time, arithmetic and reported figures.

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { ManualClock, NEVER_NS, RateLimiter } = require('tidegate');

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ALGORITHMS = ['gcra', 'fixed_window', 'sliding_window', 'sliding_log'];

/** A limiter on a clock of its own. */
function limiterAt(quotas) {
  const clock = new ManualClock();
  return { clock, limiter: new RateLimiter(quotas, { clock }) };
}

/** How many of `calls` calls are admitted now. */
function admitted(limiter, calls) {
  let count = 0;
  for (let call = 0; call < calls; call++) if (limiter.tryAcquire()) count++;
  return count;
}

describe('time and refill', () => {
  test('5/s used up and idle for 2 s admits 5, not 6', () => {
    const { clock, limiter } = limiterAt('5/s');
    assert.equal(admitted(limiter, 5), 5);
    clock.advance(2 * SECOND);
    assert.equal(admitted(limiter, 6), 5);
  });

  test('a bucket of 5 that is idle for an hour at 0.5/s holds 5', () => {
    const { clock, limiter } = limiterAt({ limit: 1, perMs: 2 * SECOND, burst: 5 });
    clock.advance(HOUR);
    assert.equal(admitted(limiter, 100), 5);
  });

  for (const algorithm of ALGORITHMS) {
    for (const back of [15 * MINUTE, HOUR]) {
      test(`${algorithm}: a step back of ${back / MINUTE} min counts as no time, and later progress counts`, () => {
        const { clock, limiter } = limiterAt({ limit: 10, perMs: MINUTE, algorithm });
        clock.set(10 * HOUR);
        assert.equal(admitted(limiter, 11), 10);
        clock.set(10 * HOUR - back);
        assert.equal(limiter.tryAcquire(), false);
        clock.advance(2 * MINUTE);
        assert.equal(admitted(limiter, 11), 10);
      });
    }

    test(`${algorithm}: a jump of 584 years leaves everything unspent`, () => {
      const { clock, limiter } = limiterAt({ limit: 10, perMs: MINUTE, algorithm });
      assert.equal(admitted(limiter, 11), 10);
      clock.advance(584 * 365 * DAY);
      assert.equal(limiter.peek().remaining, 10);
      assert.equal(admitted(limiter, 11), 10);
    });
  }

  test('1e9/s idle for 12 h is full, without overflow', () => {
    const { clock, limiter } = limiterAt({ limit: 1e9, perMs: SECOND });
    assert.equal(limiter.tryAcquire(1e9), true);
    clock.advance(12 * HOUR);
    assert.equal(limiter.peek().remaining, 1e9);
  });

  test('refused calls neither move the refill nor charge', () => {
    for (const algorithm of ALGORITHMS) {
      const { clock, limiter } = limiterAt({ limit: 1, perMs: SECOND, algorithm });
      assert.equal(limiter.tryAcquire(), true);
      for (let at = 100; at < 1000; at += 100) {
        clock.advance(100);
        assert.equal(limiter.tryAcquire(), false, `${algorithm} at ${at} ms`);
      }
      // Two counters see the old window until its successor is over as well.
      clock.advance(algorithm === 'sliding_window' ? 1100 : 100);
      assert.equal(limiter.tryAcquire(), true, algorithm);
    }
  });

  test('30/min asked once a second for 120 s: 89 by gcra, 60 by fixed and 59 by sliding windows', () => {
    const total = (algorithm) => {
      const { clock, limiter } = limiterAt({ limit: 30, perMs: MINUTE, algorithm });
      let count = 0;
      for (let second = 0; second < 120; second++, clock.advance(SECOND)) count += admitted(limiter, 1);
      return count;
    };
    assert.ok(Math.abs(total('gcra') - 89) <= 1);
    assert.equal(total('fixed_window'), 60);
    assert.equal(total('sliding_window'), 59);
  });

  test('1 call at 0 s, 9 at 0.99 s, 10 at 1 s: a fixed window of 10/s admits 19 in 10 ms, the others do not', () => {
    const lastBatch = (algorithm) => {
      const { clock, limiter } = limiterAt({ limit: 10, perMs: SECOND, algorithm });
      admitted(limiter, 1);
      clock.advance(990);
      const before = admitted(limiter, 9);
      clock.advance(10);
      return before + admitted(limiter, 10);
    };
    assert.equal(lastBatch('fixed_window'), 19);
    assert.equal(lastBatch('sliding_log'), 10);
    assert.ok(lastBatch('sliding_window') <= 10);
    assert.ok(lastBatch('gcra') <= 11);
  });

  test('sliding log of 2 per 1000 ms: calls at 0, 600 and 1100 ms are admitted at once', () => {
    const { clock, limiter } = limiterAt('2/1000ms sliding_log');
    assert.equal(limiter.tryAcquire(), true);
    clock.advance(600);
    assert.equal(limiter.tryAcquire(), true);
    clock.advance(500);
    assert.equal(limiter.tryAcquire(), true);
  });

  for (const perMs of [30 * DAY, 365 * DAY, 2 ** 31 + 1000]) {
    for (const algorithm of ['gcra', 'fixed_window', 'sliding_log']) {
      test(`${algorithm}: a period of ${perMs} ms is honoured to the nanosecond`, () => {
        const { clock, limiter } = limiterAt({ limit: 1, perMs, algorithm });
        assert.equal(limiter.tryAcquire(), true);
        assert.equal(limiter.peek().retryAfterMs, perMs);
        clock.advanceNs(BigInt(perMs) * 1_000_000n - 1n);
        assert.equal(limiter.tryAcquire(), false);
        clock.advanceNs(1);
        assert.equal(limiter.tryAcquire(), true);
      });
    }
  }

  for (const [limit, seconds] of [
    [10, 3],
    [2, 3],
    [1, 5],
  ]) {
    test(`${limit} per ${seconds} s gives exactly so many in each window, never an average per second`, () => {
      const { clock, limiter } = limiterAt(`${limit} per ${seconds}s fixed_window`);
      for (let window = 0; window < 5; window++) {
        assert.equal(admitted(limiter, 2 * limit), limit);
        clock.advance(seconds * SECOND - 1);
        assert.equal(limiter.tryAcquire(), false);
        clock.advance(1);
      }
    });
  }
});

describe('arithmetic and configuration', () => {
  test('limit 0 denies all, for ever', () => {
    for (const algorithm of ALGORITHMS) {
      const { limiter } = limiterAt({ limit: 0, perMs: SECOND, algorithm });
      const { status, remaining, retryAfterMs, retryAfterNs, resetAfterMs } = limiter.decide();
      assert.deepEqual(
        [status, remaining, retryAfterMs, retryAfterNs, resetAfterMs],
        ['denied', 0, Infinity, NEVER_NS, 0],
      );
    }
  });

  test('a burst of 1 limits at any rate', () => {
    for (const limit of [6000, 3]) {
      const { clock, limiter } = limiterAt({ limit, perMs: SECOND, burst: 1 });
      assert.equal(admitted(limiter, 10), 1);
      const wait = limiter.peek().retryAfterNs;
      assert.equal(wait, (1_000_000_000n + BigInt(limit) - 1n) / BigInt(limit));
      clock.advanceNs(wait - 1n);
      assert.equal(admitted(limiter, 10), 0);
      clock.advanceNs(1);
      assert.equal(admitted(limiter, 10), 1);
    }
  });

  test('a limit lowered below what is used, or raised, leaves remaining at 0 or above', () => {
    for (const algorithm of ALGORITHMS) {
      const { limiter } = limiterAt({ limit: 10, perMs: MINUTE, algorithm });
      assert.equal(admitted(limiter, 8), 8);
      limiter.reconfigure({ limit: 5, perMs: MINUTE, algorithm });
      assert.equal(limiter.peek().remaining, 0);
      assert.equal(limiter.tryAcquire(), false);
      limiter.reconfigure({ limit: 20, perMs: MINUTE, algorithm });
      assert.equal(limiter.peek().remaining, 15);
    }
  });

  test('5/min used up, reconfigured to 10/min: 5 more; the same once more: none', () => {
    for (const algorithm of ALGORITHMS) {
      const { limiter } = limiterAt({ limit: 5, perMs: MINUTE, algorithm });
      assert.equal(admitted(limiter, 6), 5);
      for (const more of [5, 0]) {
        limiter.reconfigure({ limit: 10, perMs: MINUTE, algorithm });
        assert.equal(admitted(limiter, 11), more, algorithm);
      }
    }
  });

  test('a new period carries over what is used, at most the new burst, from the next call on', () => {
    const { clock, limiter } = limiterAt('10/min');
    assert.equal(admitted(limiter, 8), 8);
    limiter.reconfigure('4/s');
    assert.deepEqual(limiter.quotas.map(String), ['4/s']);
    assert.equal(limiter.tryAcquire(), false);
    clock.advance(250);
    assert.equal(admitted(limiter, 2), 1);
  });

  test('10 and 1 per 60 s together: the second call is denied and the first limit charged once', () => {
    const { limiter } = limiterAt('10/60s; 1/60s');
    assert.equal(limiter.tryAcquire(), true);
    const { status, quota, limit } = limiter.decide();
    assert.deepEqual([status, quota, limit], ['denied', 1, 1]);
    limiter.reconfigure('10/60s; 100/60s');
    assert.equal(limiter.peek().remaining, 9);
  });
});

describe('reported figures', () => {
  test('the first call on 10/s leaves 9', () => {
    assert.equal(limiterAt('10/s').limiter.decide().remaining, 9);
  });

  test('1/s used and asked again 200 ms later says to retry after 800 ms', () => {
    const { clock, limiter } = limiterAt('1/s');
    limiter.tryAcquire();
    clock.advance(200);
    const { retryAfterMs, retryAfterNs } = limiter.decide();
    assert.deepEqual([retryAfterMs, retryAfterNs], [800, 800_000_000n]);
  });

  test('a wait put into coarser units is never 0, negative or too short', () => {
    const { limiter } = limiterAt('5/s burst 1');
    limiter.tryAcquire();
    assert.equal(Math.ceil(limiter.decide().retryAfterMs / SECOND), 1);
    const { limiter: fast } = limiterAt({ limit: 1e6, perMs: SECOND, burst: 1 });
    fast.tryAcquire();
    const { retryAfterMs, retryAfterNs, resetAfterMs, resetAfterNs } = fast.decide();
    assert.deepEqual([retryAfterMs, retryAfterNs, resetAfterMs, resetAfterNs], [1, 1000n, 1, 1000n]);
  });

  test('remaining falls by one a call, by the manual clock and by the real one', () => {
    const remaining = (limiter) => Array.from({ length: 3 }, () => limiter.decide().remaining);
    const quota = { limit: 2, perMs: 90, algorithm: 'fixed_window' };
    assert.deepEqual(remaining(limiterAt(quota).limiter), [1, 0, 0]);
    let started;
    let seen;
    do {
      started = performance.now(); // Again if the machine took a nap in between.
      seen = remaining(new RateLimiter(quota));
    } while (performance.now() - started >= quota.perMs);
    assert.deepEqual(seen, [1, 0, 0]);
  });

  test('a cost of 100 of 10 can never be had, and leaves the figures unchanged', () => {
    for (const algorithm of ALGORITHMS) {
      const { limiter } = limiterAt({ limit: 10, perMs: SECOND, algorithm });
      limiter.tryAcquire(3);
      const before = limiter.peek();
      const { allowed, status, remaining, retryAfterMs, retryAfterNs, resetAfterNs } = limiter.decide(100);
      assert.deepEqual([allowed, status, retryAfterMs, retryAfterNs], [false, 'exceeds_capacity', Infinity, NEVER_NS]);
      assert.deepEqual([remaining, resetAfterNs], [7, before.resetAfterNs]);
      assert.deepEqual(limiter.peek(), before);
    }
  });

  test('8 of 10, then 5 refused, then 1 admitted', () => {
    const { limiter } = limiterAt('10/s');
    assert.deepEqual(
      [8, 5, 1].map((cost) => limiter.tryAcquire(cost)),
      [true, false, true],
    );
  });

  test('sliding log of 2/min, hit at 0 and 10 s, refused at 20 s: retry after 40 s', () => {
    const { clock, limiter } = limiterAt('2/min sliding_log');
    limiter.tryAcquire();
    clock.advance(10 * SECOND);
    limiter.tryAcquire();
    clock.advance(10 * SECOND);
    assert.equal(limiter.decide().retryAfterMs, 40 * SECOND);
  });

  for (const algorithm of ALGORITHMS) {
    test(`${algorithm}: peek shows n or more remaining exactly when n can be had`, () => {
      let seed = 1;
      const random = (below) => {
        seed = (seed * 48_271) % 2_147_483_647;
        return seed % below;
      };
      const { clock, limiter } = limiterAt({ limit: 7, perMs: SECOND, algorithm });
      for (let round = 0; round < 2000; round++) {
        clock.advance(random(300));
        const cost = 1 + random(7);
        const { allowed, remaining, retryAfterNs } = limiter.peek(cost);
        assert.equal(remaining >= cost, allowed);
        assert.equal(retryAfterNs === 0n, allowed);
        assert.equal(limiter.tryAcquire(cost), allowed);
      }
    });
  }

  test('a refund after the window has ended has no effect', () => {
    for (const algorithm of ALGORITHMS) {
      const { clock, limiter } = limiterAt({ limit: 5, perMs: SECOND, algorithm });
      const decision = limiter.decide(3);
      clock.advance(3 * SECOND);
      assert.equal(admitted(limiter, 4), 4);
      limiter.refund(decision);
      assert.equal(limiter.peek().remaining, 1, algorithm);
    }
  });

  test('a refund twice, by another limiter, or of what granted nothing is an error and changes nothing', () => {
    const { limiter } = limiterAt('5/s');
    const { limiter: other } = limiterAt('5/s');
    other.tryAcquire(2);
    const decision = limiter.decide(3);
    const wrong = (got) => ({
      name: 'TidegateError',
      code: 'ERR_TIDEGATE_DECISION',
      argument: 'decision',
      message: got,
    });
    assert.throws(() => other.refund(decision), wrong(/^decision: got one of another limiter; allowed: /));
    limiter.refund(decision);
    assert.equal(limiter.peek().remaining, 5);
    assert.throws(() => limiter.refund(decision), wrong(/^decision: got one that was refunded before; allowed: /));
    for (const nothing of [limiter.peek(), limiter.decide(6)]) {
      assert.throws(() => limiter.refund(nothing), wrong(/^decision: got one that granted nothing; allowed: /));
    }
    assert.throws(() => limiter.refund({ ...decision }), { name: 'TypeError', code: 'ERR_TIDEGATE_INVALID_TYPE' });
    assert.deepEqual([limiter.peek().remaining, other.peek().remaining], [5, 3]);
  });
});
