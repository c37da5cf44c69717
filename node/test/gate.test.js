'use strict';

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { describe, test } = require('node:test');
const { inspect } = require('node:util');
const { Entry, Gate, ManualClock, Refusal, RefusedError, RulesError, TidegateError } = require('tidegate');

const prefix = (text) => ({ path: { prefix: text } });
const one = { name: 'one', match: prefix('/one'), concurrency: 1 };

describe('a gate', () => {
  test('tells admitted, refused and no rule apart', () => {
    const gate = new Gate([one]);
    const entry = gate.tryEnter({ path: '/one/a' });
    assert.ok(entry instanceof Entry);
    assert.deepEqual([entry.allowed, entry.applies, entry.status, entry.rules], [true, true, 'allowed', ['one']]);
    const refused = gate.tryEnter({ path: '/one/b' });
    assert.ok(refused instanceof Refusal);
    assert.deepEqual([refused.allowed, refused.status, refused.rule], [false, 'denied', 'one']);
    const unmatched = gate.tryEnter({ path: '/two' });
    assert.deepEqual(
      [unmatched.allowed, unmatched.applies, unmatched.status, unmatched.rules],
      [true, false, 'no_rule', []],
    );
    entry.release();
    unmatched.release(false);
    assert.ok(gate.tryEnter({ path: '/one' }).applies);
    const { admitted, refused: denied, unmatched: none, releasedOk, releasedFailed, rules } = gate.stats();
    // Who holds no permits has nothing to release.
    assert.deepEqual([admitted, denied, none, releasedOk, releasedFailed], [2, 1, 1, 1, 0]);
    assert.deepEqual([rules[0].name, rules[0].mode, rules[0].inFlight, rules[0].limit], ['one', 'enforce', 1, 1]);
  });

  test('gives back all that was taken before a rule refused (G1)', () => {
    const rules = [
      { name: 'permits', concurrency: 4 },
      { name: 'wide', quota: '10/h' },
      { name: 'used up', quota: '1/h' },
    ];
    const gate = new Gate({ rules }, { clock: new ManualClock() });
    gate.tryEnter({}).release();
    for (let call = 0; call < 20; call++) assert.equal(gate.tryEnter({}).rule, 'used up');
    const [permits] = gate.stats().rules;
    assert.equal(permits.inFlight, 0);
    assert.equal(gate.explain({}).rules[1].remaining, 9);
  });

  test('reads TOML, JSON and YAML, and rules as objects, the same', () => {
    const texts = {
      toml: '[[rules]]\nname = "one"\nmatch = { path = { prefix = "/one" } }\nconcurrency = 1\n',
      json: JSON.stringify({ rules: [one] }),
      yaml: 'rules:\n- name: one\n  match: { path: { prefix: /one } }\n  concurrency: 1\n',
    };
    const { rules } = new Gate({ rules: [one] });
    assert.equal(rules.rules[0].name, 'one');
    for (const [format, text] of Object.entries(texts)) assert.deepEqual(new Gate(text, { format }).rules, rules);
    assert.deepEqual(new Gate(rules).rules, rules);
  });

  test('keeps a budget for each key, and hashes what it shows unless it may show it', () => {
    const rule = { name: 'each', key: 'client', quota: '1/h', overrides: { vip: '2/h' } };
    const clock = new ManualClock();
    const gate = new Gate([rule], { clock });
    const status = (client) => gate.tryEnter({ client }).status;
    assert.deepEqual(['ann', 'bob', 'ann', 'vip', 'vip', 'vip'].map(status), [
      'allowed',
      'allowed',
      'denied',
      'allowed',
      'allowed',
      'denied',
    ]);
    assert.match(gate.tryEnter({ client: 'ann' }).key, /^#[0-9a-f]{16}$/);
    gate.reload({ show_keys: true, rules: [rule] });
    assert.equal(gate.tryEnter({ client: 'ann' }).key, 'ann');
    clock.advance(3_600_000);
    assert.equal(status('ann'), 'allowed');
  });

  test('takes bytes, numbers, bigints and booleans, and takes null for nothing', () => {
    const gate = new Gate([{ name: 'each', key: 'value', quota: '1/h' }]);
    const status = (value) => gate.tryEnter({ value }).status;
    assert.deepEqual([42, '42', 42n, true, 'true', Buffer.from('42')].map(status), [
      'allowed',
      'denied',
      'denied',
      'allowed',
      'denied',
      'denied',
    ]);
    assert.deepEqual([null, undefined, ''].map(status), ['allowed', 'denied', 'denied']);
    for (const value of [{}, [], Symbol('s'), () => 1, new Uint8Array(new SharedArrayBuffer(2))]) {
      assert.throws(() => gate.tryEnter({ value }), { code: 'ERR_TIDEGATE_INVALID_TYPE', argument: 'request.value' });
    }
    assert.equal(gate.tryEnter({ value: 'a', other: {} }).status, 'allowed');
  });

  test('looks at as many attributes as the rules ask for, before and after a change', () => {
    for (let most = 0; most <= 7; most++) {
      const names = Array.from({ length: most }, (_, index) => `a${index}`);
      const gate = new Gate([{ name: 'first', concurrency: 1 }]);
      const match = Object.fromEntries(names.map((name) => [name, { exact: `is ${name}` }]));
      gate.reload([{ name: 'all', match, quota: '1000/s' }]);
      const request = Object.fromEntries(names.map((name) => [name, `is ${name}`]));
      assert.deepEqual(gate.tryEnter(request).rules, ['all']);
      for (const name of names) assert.equal(gate.tryEnter({ ...request, [name]: 'other' }).applies, false, name);
      for (const name of names) assert.equal(gate.tryEnter({ ...request, [name]: undefined }).applies, false, name);
    }
  });

  test('matches long and broken strings by their text', () => {
    const gate = new Gate([{ name: 'long', match: { path: { prefix: '/ü' } }, concurrency: 1000 }]);
    for (const path of ['/ü', `/ü${'x'.repeat(10_000)}`, `/ü${'€'.repeat(100)}`, '/ü\ud800']) {
      assert.equal(gate.tryEnter({ path }).applies, true, path);
    }
    assert.equal(gate.tryEnter({ path: 'ü' }).applies, false);
  });

  test('charges what a request costs', () => {
    const gate = new Gate([{ name: 'tokens', quota: '10/h' }], { clock: new ManualClock() });
    assert.ok(gate.tryEnter({}, { cost: 7 }).allowed);
    const refused = gate.tryEnter({}, { cost: 7 });
    assert.deepEqual([refused.limit, refused.remaining, refused.quota], [10, 3, '10/h']);
    assert.equal(refused.retryAfterMs, 4 * 360_000);
    const never = gate.tryEnter({}, { cost: 11 });
    assert.deepEqual([never.status, never.retryAfterMs], ['exceeds_capacity', Infinity]);
    for (const cost of [0, -1, 1.5, NaN, 2 ** 53]) {
      assert.throws(() => gate.tryEnter({}, { cost }), { name: 'RangeError', argument: 'cost' });
    }
    assert.throws(() => gate.tryEnter({}, { cost: '1' }), { name: 'TypeError', argument: 'cost' });
  });

  test('names a wrong argument', () => {
    const gate = new Gate();
    for (const request of [null, undefined, 'path', 1]) {
      assert.throws(() => gate.tryEnter(request), { name: 'TypeError', argument: 'request' });
    }
    assert.throws(() => gate.tryEnter({}, { costs: 1 }), /options\.costs: got 1; allowed: cost/);
    const path = /got ["']rules\.toml["']; allowed: the text of rules; .*open.* is for those of a file/;
    assert.throws(() => new Gate('rules.toml'), path);
    assert.throws(() => gate.reload('rules.toml', { format: 'yaml' }), path);
    assert.throws(() => new Gate('rules: []'), /format: got undefined; allowed: toml, json, yaml/);
    assert.throws(() => new Gate('', { format: 'ini' }), /format: got 'ini'; allowed: toml, json, yaml/);
    assert.throws(() => new Gate(1), { argument: 'rules' });
    assert.throws(() => new Gate([], { clock: 1 }), { argument: 'clock' });
    assert.throws(() => gate.on('refuse', () => {}), { argument: 'event' });
    assert.throws(() => gate.on('refused', 1), { argument: 'listener' });
    assert.throws(() => gate.pull(1, { everyMs: 1 }), { argument: 'source' });
    assert.throws(() => gate.pull(() => {}, { everyMs: 0 }), { argument: 'everyMs' });
    assert.throws(() => new Entry(), TypeError);
    assert.throws(() => new Refusal(), TypeError);
  });

  test('prints what it is', () => {
    const gate = new Gate([one, { name: 'two', concurrency: 9 }]);
    assert.equal(inspect(gate), 'Gate(one, two)');
    const entry = gate.tryEnter({ path: '/one' });
    assert.equal(inspect(entry), 'Entry(allowed, held)');
    const text = 'denied by rule one: 1 permit, 0 available';
    const refused = gate.tryEnter({ path: '/one' });
    assert.equal(`${refused}`, text);
    assert.equal(JSON.parse(JSON.stringify(refused)).rule, 'one');
    entry.release();
    assert.equal(`${entry}`, 'Entry(allowed, released)');
  });
});

describe('an entry', () => {
  test('is released once', () => {
    const gate = new Gate([one]);
    const entry = gate.tryEnter({ path: '/one' });
    assert.throws(() => entry.release('yes'), { argument: 'ok' });
    assert.equal(entry.released, false);
    entry.release();
    assert.equal(entry.released, true);
    const next = gate.tryEnter({ path: '/one' });
    assert.throws(() => entry.release(), { code: 'ERR_TIDEGATE_ENTRY' });
    assert.equal(gate.tryEnter({ path: '/one' }).allowed, false, 'the next one is still inside');
    next.release();
  });

  test('ends with its scope, and may have ended before', () => {
    const gate = new Gate([one]);
    const entry = gate.tryEnter({ path: '/one' });
    gate.tryEnter({ path: '/one' })[Symbol.dispose]();
    entry[Symbol.dispose]();
    entry[Symbol.dispose]();
    assert.equal(gate.stats().releasedOk, 1);
  });

  test('outlives the rule that it is of, and many come and go in any order', () => {
    const gate = new Gate([{ name: 'many', concurrency: 100 }]);
    const inside = Array.from({ length: 100 }, () => gate.tryEnter({}));
    assert.equal(gate.tryEnter({}).allowed, false);
    gate.reload([]);
    for (let place = 0; place < 100; place += 2) inside[place].release();
    gate.reload([{ name: 'many', concurrency: 7 }]);
    for (let place = 1; place < 100; place += 2) inside[place].release(false);
    assert.equal(gate.stats().rules[0].inFlight, 0);
    assert.deepEqual([gate.stats().releasedOk, gate.stats().releasedFailed], [50, 50]);
  });
});

describe('waiting', () => {
  const waits = { name: 'waits', concurrency: 1, timeout: 'call' };

  test('a request that may wait is admitted when another leaves, in the order of coming', async () => {
    const gate = new Gate([waits]);
    const first = await gate.enter({});
    const order = [];
    const others = [1, 2, 3].map((number) =>
      gate.enter({}, { timeoutMs: 60_000 }).then((entry) => {
        order.push(number);
        entry.release();
      }),
    );
    assert.equal(gate.stats().rules[0].waiting, 3);
    first.release();
    await Promise.all(others);
    assert.deepEqual(order, [1, 2, 3]);
  });

  test('a rule without a timeout, or a call without one where it counts, is refused at once', async () => {
    const gate = new Gate([waits, { name: 'strict', match: prefix('/s'), concurrency: 0 }]);
    const entry = gate.tryEnter({});
    await assert.rejects(gate.enter({ path: '/s' }, { timeoutMs: 60_000 }), { rule: 'strict' });
    await assert.rejects(gate.enter({}), { rule: 'waits', status: 'denied' });
    entry.release();
  });

  test('what outlasts the timeout of its rule or its call is refused with figures', async () => {
    const clock = new ManualClock();
    const gate = new Gate([{ ...waits, timeout: '50ms' }], { clock });
    const entry = gate.tryEnter({});
    const waiting = gate.enter({});
    clock.advance(49);
    assert.equal(gate.stats().rules[0].waiting, 1);
    clock.advance(1);
    await assert.rejects(waiting, (error) => {
      assert.ok(error instanceof RefusedError && error instanceof TidegateError);
      const { code, status, rule, limit, remaining, retryAfterMs, elapsedMs, key, refusal } = error;
      assert.deepEqual(
        { code, status, rule, limit, remaining, retryAfterMs, elapsedMs, key },
        {
          code: 'ERR_TIDEGATE_REFUSED',
          status: 'timed_out',
          rule: 'waits',
          limit: 1,
          remaining: 0,
          retryAfterMs: null,
          elapsedMs: 50,
          key: null,
        },
      );
      assert.equal(error.message, `refused: ${refusal}`);
      return true;
    });
    const shorter = gate.enter({}, { timeoutMs: 10 });
    clock.advance(10);
    await assert.rejects(shorter, { elapsedMs: 10, timeoutMs: 10 });
    entry.release();
    (await gate.enter({})).release();
  });

  test('real timers end a wait, too', async () => {
    const gate = new Gate([waits]);
    const entry = gate.tryEnter({});
    const alive = setInterval(() => {}, 1e6);
    await assert.rejects(gate.enter({}, { timeoutMs: 20 }), { status: 'timed_out' });
    clearInterval(alive);
    entry.release();
  });

  test('tokens are waited for until they are due', async () => {
    const clock = new ManualClock();
    const gate = new Gate([{ name: 'paced', quota: '1/s', timeout: '10s' }], { clock });
    gate.tryEnter({}).release();
    let isIn = false;
    const waiting = gate.enter({}).then((entry) => {
      isIn = true;
      return entry;
    });
    clock.advance(999);
    await new Promise(setImmediate);
    assert.equal(isIn, false);
    clock.advance(1);
    assert.deepEqual((await waiting).rules, ['paced']);
  });

  test('an abort ends a wait with its reason, and leaves nothing behind', async () => {
    const gate = new Gate([waits]);
    const reason = new Error('over');
    const options = (signal) => ({ timeoutMs: 60_000, signal });
    await assert.rejects(gate.enter({}, options(AbortSignal.abort(reason))), reason);
    const entry = gate.tryEnter({});
    const controller = new AbortController();
    const aborted = [1, 2].map(() => gate.enter({}, options(controller.signal)));
    const other = gate.enter({}, options());
    controller.abort(reason);
    for (const one of aborted) await assert.rejects(one, reason);
    assert.equal(gate.stats().rules[0].waiting, 1);
    entry.release();
    (await other).release();
    assert.equal(gate.stats().rules[0].inFlight, 0);
  });

  test('a grant that is not heard of yet goes to the next when it is aborted', async () => {
    const gate = new Gate([waits]);
    const entry = gate.tryEnter({});
    const controller = new AbortController();
    const reason = new Error('over');
    const first = gate.enter({}, { timeoutMs: 60_000, signal: controller.signal });
    const second = gate.enter({}, { timeoutMs: 60_000 });
    entry.release();
    controller.abort(reason);
    await assert.rejects(first, reason);
    (await second).release();
    assert.equal(gate.stats().rules[0].inFlight, 0);
  });

  test('AsyncLocalStorage is that of the caller', async () => {
    const storage = new AsyncLocalStorage();
    const gate = new Gate([waits]);
    const entry = storage.run('first', () => gate.tryEnter({}));
    const seen = storage.run('second', async () => {
      const next = await gate.enter({}, { timeoutMs: 60_000 });
      next.release();
      return storage.getStore();
    });
    storage.run('third', () => entry.release());
    assert.equal(await seen, 'second');
  });

  test('a raised limit admits who waits, and a full queue refuses', async () => {
    const gate = new Gate([{ ...waits, max_waiters: 1 }]);
    const entry = gate.tryEnter({});
    const waiting = gate.enter({}, { timeoutMs: 60_000 });
    await assert.rejects(gate.enter({}, { timeoutMs: 60_000 }), { status: 'queue_full', waiting: 1 });
    gate.reload([{ ...waits, concurrency: 2 }]);
    (await waiting).release();
    entry.release();
  });

  test('run holds an entry while its function runs, and begins at once if there is room', async () => {
    const gate = new Gate([waits]);
    let calls = 0;
    const results = [1, 2, 3].map((value) =>
      gate.run(
        {},
        async () => {
          calls++;
          await new Promise(setImmediate);
          return value;
        },
        { timeoutMs: 60_000 },
      ),
    );
    assert.equal(calls, 1);
    assert.deepEqual(await Promise.all(results), [1, 2, 3]);
    await assert.rejects(
      gate.run({}, () => Promise.reject(new Error('mine'))),
      /mine/,
    );
    await assert.rejects(
      gate.run({}, () => {
        throw new Error('mine');
      }),
      /mine/,
    );
    assert.deepEqual([gate.stats().releasedOk, gate.stats().releasedFailed], [3, 2]);
    const entry = gate.tryEnter({});
    await assert.rejects(
      gate.run({}, () => 1),
      { rule: 'waits' },
    );
    entry.release();
    await assert.rejects(gate.run({}, 1), { argument: 'fn' });
  });
});

describe('rules that change', () => {
  test('a change keeps what is used, and counts from the next request on (G4, G5)', () => {
    const clock = new ManualClock();
    const rules = (limit) => [
      { name: 'tokens', quota: `${limit}/h` },
      { name: 'other', match: prefix('/other'), concurrency: 1 },
    ];
    const gate = new Gate(rules(10), { clock });
    for (let call = 0; call < 10; call++) gate.tryEnter({}).release();
    assert.deepEqual(gate.reload(rules(10)).unchanged, ['tokens', 'other']);
    assert.equal(gate.tryEnter({}).allowed, false);
    assert.deepEqual(gate.reload(rules(12)), {
      unchanged: ['other'],
      changed: ['tokens'],
      restarted: [],
      added: [],
      removed: [],
    });
    assert.equal(gate.tryEnter({}).allowed, true);
  });

  test('what is wrong is told all at once, and changes nothing (G3)', () => {
    const gate = new Gate([one]);
    const text = '[[rules]]\nname = "bad"\nquota = "often"\n\n[[rules]]\nname = "worse"\nlimit = 1\n';
    assert.throws(
      () => gate.reload(text, { format: 'toml' }),
      (error) => {
        assert.ok(error instanceof RulesError && error instanceof TidegateError);
        assert.equal(error.code, 'ERR_TIDEGATE_RULES');
        const told = error.faults.map(({ line, rule, argument, value }) => [line, rule, argument, value]);
        assert.deepEqual(told[0].slice(0, 3), [3, 'bad', 'quota']);
        assert.ok(told.some(([line, rule]) => line === 7 && rule === 'worse'));
        assert.equal(error.message, error.faults.map(({ message }) => message).join('\n'));
        return true;
      },
    );
    assert.deepEqual(
      gate.rules.rules.map(({ name }) => name),
      ['one'],
    );
    assert.throws(
      () => new Gate([{ name: 'bad', quota: 'often' }]),
      ({ faults, message }) =>
        faults.length > 0 && !/line/.test(message) && faults.every((fault) => !('line' in fault)),
    );
  });

  test('explain tells what each rule says and why, and spends nothing (G2)', () => {
    const gate = new Gate([
      { name: 'glob', match: { path: { glob: 'ass*' } }, quota: '1/h' },
      { name: 'all', quota: '5/h' },
    ]);
    for (let call = 0; call < 3; call++) {
      const { status, rules } = gate.explain({ path: '/assign/sso/user' });
      assert.equal(status, 'allowed');
      assert.deepEqual([rules[0].matched, rules[0].conditions[0].mode], [false, 'glob']);
      assert.deepEqual([rules[1].matched, rules[1].remaining, rules[1].limit], [true, 5, 5]);
    }
    const explanation = gate.explain({ path: '/assign' }, { cost: 6 });
    assert.equal(explanation.status, 'exceeds_capacity');
    assert.match(`${explanation}`, /rule glob: does not match, since path "\/assign" is not glob ass\*/);
  });

  test('a rule in shadow refuses nothing, and counts', () => {
    const gate = new Gate([{ name: 'shadow', concurrency: 0, mode: 'shadow' }]);
    assert.ok(gate.tryEnter({}).applies);
    assert.deepEqual([gate.stats().rules[0].mode, gate.stats().rules[0].refused], ['shadow', 1]);
  });
});
