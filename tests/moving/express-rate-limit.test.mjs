/** Settings of express-rate-limit and what the page puts in their place: the same requests of two applications. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as send } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { evaluate, numbers, Page, require } from './pages.mjs';

const express = require('express');
const { MemoryStore, rateLimit } = require('express-rate-limit');
const { Gate, ipKey, KeyedRateLimiter, RulesError } = require('tidegate');
const { gateMiddleware } = require('tidegate/express');

const page = new Page('express-rate-limit');
const FIVE = { windowMs: 60_000, limit: 5, validate: false };
const RULE = { name: 'limit', key: 'client', quota: '5/60s fixed_window' };
/** Elsewhere there is but one such address, if nobody adds others. */
const CLIENTS = process.platform === 'linux' ? ['127.0.0.1', '127.0.0.2'] : ['127.0.0.1'];
/** The options of the middleware; all else are fields of a rule. */
const OPTIONS = ['attributes', 'trustedHops', 'legacyHeaders'];

/** What is asked of a server, and answered. */
async function ask(server, { path = '/', client = '127.0.0.1', method = 'GET', headers = {} } = {}) {
  const asked = send({
    host: '127.0.0.1',
    port: server.address().port,
    path,
    method,
    headers,
    localAddress: client,
    agent: false,
  });
  asked.end();
  const [response] = await once(asked, 'response');
  const answer = { status: response.statusCode, headers: response.headers, body: await text(response) };
  // What is to happen once a response is finished has then happened.
  await setImmediate();
  return answer;
}

async function statuses(server, times, request) {
  const all = [];
  while (all.length < times) all.push((await ask(server, request)).status);
  return all;
}

/** Serves an application with this in front of all that it has. */
async function served(t, configure) {
  const app = express();
  configure(app);
  app.use((request, response) => response.status(Number(request.get('x-status') ?? 200)).send('go ahead'));
  const server = app.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return server;
}

const theirs = (t, options) => served(t, (app) => app.use(rateLimit({ ...FIVE, ...options })));

function ours(t, clock, settings) {
  const [options, fields] = [{}, {}];
  for (const [name, value] of Object.entries(settings)) (OPTIONS.includes(name) ? options : fields)[name] = value;
  const gate = new Gate([{ ...RULE, ...fields }], { clock: clock.ours });
  return served(t, (app) => {
    app.set('trust proxy', 1);
    app.use(gateMiddleware(gate, options));
  });
}

/** The settings that the codes of a cell are. */
const settings = (codes, names) => evaluate(`{ ${codes.join(', ')} }`, names);

/** Both answer alike to requests that look random, of which some are refused. */
async function assertTheSame(clock, one, other, { paths = ['/'], headers = [{}], forMs = 9_000 } = {}) {
  const choose = numbers(1);
  const seen = new Set();
  for (let requests = 0; requests < 60; requests++) {
    await clock.advance([0, 0, 0, 0, forMs][choose(5)]);
    const of = (options) => options[choose(options.length)];
    const request = { path: of(paths), client: of(CLIENTS), headers: of(headers) };
    const [their, our] = [await ask(one, request), await ask(other, request)];
    assert.equal(our.status, their.status);
    seen.add(our.status);
  }
  assert.deepEqual([...seen].sort(), [200, 429]);
}

let pasted = 0;

/** The server of a block, on a free port; perhaps with other code in the place of some. */
async function running(t, block, [code, other] = ['', '']) {
  const edit = (text) =>
    text.replace(code, other).replace('app.listen(8000)', "export default app.listen(0, '127.0.0.1')");
  // A module of the same address would not run again.
  const { default: server } = await import(`${pathToFileURL(page.paste(block, edit))}?${pasted++}`);
  t.after(() => server.close());
  if (!server.listening) await once(server, 'listening');
  return server;
}

for (const block of [0, 1]) {
  test(`program ${block} admits five of each client, and tells it`, async (t) => {
    const server = await running(t, block);
    for (const client of CLIENTS) {
      for (const left of [4, 3, 2, 1, 0]) {
        const { status, headers } = await ask(server, { client });
        assert.deepEqual([status, headers['x-ratelimit-remaining']], [200, `${left}`]);
      }
      const refused = await ask(server, { client });
      assert.equal(refused.status, 429);
      assert.match(refused.headers['retry-after'], /^(60|5\d)$/);
    }
  });
}

const login = (password) => ({ path: '/login', method: 'POST', headers: { 'x-password': password } });

page.row('`windowMs: 60_000, limit: 5`', 'a limit is a quota', async (row, clock, t) => {
  const [one, other] = [await theirs(t, settings(row.theirs)), await ours(t, clock, settings(row.ours))];
  await assertTheSame(clock, one, other);
});

page.row('`limit: 0`', 'nothing is admitted', async (row, clock, t) => {
  const [one, other] = [await theirs(t, settings(row.theirs)), await ours(t, clock, settings(row.ours))];
  assert.deepEqual(
    [await statuses(one, 2), await statuses(other, 2)],
    [
      [429, 429],
      [429, 429],
    ],
  );
});

const users = { headers: [{ 'x-user': 'ann' }, { 'x-user': 'bob' }, {}] };
const ofUser = { key: 'user', attributes: (request) => ({ user: request.get('x-user') }) };

page.row('`limit: (request)', 'single keys may have more', async (row, clock, t) => {
  const keyGenerator = (request) => request.get('x-user') ?? '';
  const one = await theirs(t, { keyGenerator, ...settings(row.theirs) });
  await assertTheSame(clock, one, await ours(t, clock, { ...ofUser, ...settings(row.ours) }), users);
});

page.row('`keyGenerator:', 'a key may be a header', async (row, clock, t) => {
  const [one, other] = [await theirs(t, settings(row.theirs)), await ours(t, clock, settings(row.ours))];
  await assertTheSame(clock, one, other, users);
});

const proxied = (options) => (app) => app.set('trust proxy', 1).use(rateLimit({ ...FIVE, ...options }));
const forwarded = (address) => ({ headers: { 'x-forwarded-for': address } });

for (const [prefix, near, far] of [
  [64, '2001:db8:0:1::1', '2001:db8:0:2::1'],
  [56, '2001:db8:0:ff::1', '2001:db8:0:100::1'],
]) {
  page.row(`\`ipv6Subnet: ${prefix}\``, `a client is its /${prefix}`, async (row, clock, t) => {
    const other = { trustedHops: 1, ...settings(row.ours, { ipKey }) };
    for (const server of [await served(t, proxied(settings(row.theirs))), await ours(t, clock, other)]) {
      for (const host of [1, 2, 3, 4, 5]) {
        assert.equal((await ask(server, forwarded(`2001:db8:0:${prefix === 56 ? host : 1}::${host}`))).status, 200);
      }
      assert.equal((await ask(server, forwarded(near))).status, 429);
      for (const other of [far, '198.51.100.1', '::ffff:198.51.100.2']) {
        assert.equal((await ask(server, forwarded(other))).status, 200);
      }
    }
  });
}

page.row("`app.set('trust proxy', 1)`", 'the client is as the last proxy says', async (row, clock, t) => {
  const one = await served(t, (app) => {
    evaluate(row.theirs[0], { app });
    app.use(rateLimit(FIVE));
  });
  const told = await ours(t, clock, settings(row.ours));
  for (const server of [one, told]) {
    for (let forged = 0; forged < 5; forged++) {
      assert.equal((await ask(server, forwarded(`192.0.2.${forged}, 198.51.100.1`))).status, 200);
    }
    assert.equal((await ask(server, forwarded('192.0.2.9, 198.51.100.1'))).status, 429);
    assert.equal((await ask(server, forwarded('192.0.2.9, 198.51.100.2'))).status, 200);
  }
  // Express alone was told.
  const untold = await ours(t, clock, {});
  for (let client = 0; client < 6; client++) {
    assert.equal((await ask(untold, forwarded(`198.51.100.${client}`))).status, client < 5 ? 200 : 429);
  }
});

page.row('`skip:', 'what a rule cannot see is an attribute', async (row, clock, t) => {
  const [one, other] = [await theirs(t, settings(row.theirs)), await ours(t, clock, settings(row.ours))];
  await assertTheSame(clock, one, other, { headers: [{ 'x-internal': 'yes' }, {}] });
});

page.row("`app.use('/api', limiter)`", 'a limit may be of some paths', async (row, clock, t) => {
  const one = await served(t, (app) => evaluate(row.theirs[0], { app, limiter: rateLimit(FIVE) }));
  const other = await ours(t, clock, settings(row.ours));
  await assertTheSame(clock, one, other, { paths: ['/api', '/api/', '/api/a/b?c', '/apis', '/'] });
});

const [OPEN, SHUT] = ['open sesame', 'nothing'];

page.row('`skipSuccessfulRequests: true`', 'only failures count', async (row, _, t) => {
  const server = await running(t, 2);
  const one = await theirs(t, settings(row.theirs));
  for (const [good, times] of [
    [true, 7],
    [false, 5],
  ]) {
    for (let requests = 0; requests < times; requests++) {
      const status = good ? 200 : 401;
      assert.equal((await ask(one, { headers: { 'x-status': `${status}` } })).status, status);
      assert.equal((await ask(server, login(good ? OPEN : SHUT))).status, status);
    }
  }
  assert.deepEqual([(await ask(one)).status, (await ask(server, login(OPEN))).status], [429, 503]);
});

page.row('`skipFailedRequests: true`', 'only successes count', async (row, _, t) => {
  const [condition] = row.differs.match(/>= 400/);
  const [one, other] = [await theirs(t, settings(row.theirs)), await running(t, 2, ['< 400', condition])];
  assert.deepEqual(await statuses(one, 7, { headers: { 'x-status': '401' } }), Array(7).fill(401));
  assert.deepEqual(await statuses(other, 7, login(SHUT)), Array(7).fill(401));
  assert.deepEqual(await statuses(one, 6), [200, 200, 200, 200, 200, 429]);
  assert.deepEqual(await statuses(other, 6, login(OPEN)), [200, 200, 200, 200, 200, 503]);
});

page.row('`requestWasSuccessful:', 'what counts is up to you', async (row, _, t) => {
  const one = await theirs(t, { skipSuccessfulRequests: true, ...settings(row.theirs) });
  const other = await running(t, 2, ['< 400', '=== 200']);
  assert.deepEqual(await statuses(one, 6, { headers: { 'x-status': '201' } }), [201, 201, 201, 201, 201, 429]);
  assert.deepEqual(await statuses(other, 7, login(OPEN)), Array(7).fill(200));
});

for (const [beginning, body] of [
  ['`statusCode: 503`', 'Too many requests, please try again later.'],
  ['`handler:', 'slow down'],
]) {
  page.row(beginning, 'by hand the answer is yours', async (row, clock, t) => {
    const [one, other] = [await theirs(t, settings(row.theirs)), await running(t, 2)];
    await statuses(one, 5);
    await statuses(other, 5, login(SHUT));
    const [their, our] = [await ask(one), await ask(other, login(SHUT))];
    assert.deepEqual([their.status, their.body, our.status, our.body], [503, body, 503, 'slow down']);
    const gated = await ours(t, clock, {});
    assert.equal((await statuses(gated, 6))[5], 429);
    assert.throws(() => gateMiddleware(new Gate([RULE]), settings(row.theirs)));
  });
}

page.row('`message:', 'the middleware answers with a problem', async (row, clock, t) => {
  const [one, other] = [await theirs(t, settings(row.theirs)), await ours(t, clock, {})];
  await statuses(one, 5);
  await statuses(other, 5);
  const [their, our] = [await ask(one), await ask(other)];
  assert.deepEqual([their.status, their.body], [our.status, 'slow down']);
  assert.equal(our.headers['content-type'], 'application/problem+json');
});

const figures = (header) =>
  Object.fromEntries([...header.matchAll(/(\w)=(\d+)/g)].map(([, name, value]) => [name, value]));

page.row("`standardHeaders: 'draft-8'`", 'headers have the same figures', async (row, clock, t) => {
  const [one, other] = [await theirs(t, settings(row.theirs)), await ours(t, clock, {})];
  for (let requests = 0; requests < 7; requests++) {
    const [their, our] = [await ask(one), await ask(other)];
    assert.deepEqual(figures(our.headers.ratelimit), figures(their.headers.ratelimit));
    assert.deepEqual(figures(our.headers['ratelimit-policy']), figures(their.headers['ratelimit-policy']));
    assert.match(their.headers['ratelimit-policy'], /pk=/);
    assert.doesNotMatch(our.headers['ratelimit-policy'], /pk=/);
    await clock.advance(2_500);
  }
});

for (const [draft, form] of [
  [7, /^limit=5, remaining=4, reset=60$/],
  [6, /^4$/],
]) {
  page.row(`\`standardHeaders: 'draft-${draft}'\``, `headers have no form of draft ${draft}`, async (row, clock, t) => {
    const [one, other] = [await theirs(t, settings(row.theirs)), await ours(t, clock, {})];
    const [their, our] = [(await ask(one)).headers, (await ask(other)).headers];
    assert.match(draft === 6 ? their['ratelimit-remaining'] : their.ratelimit, form);
    assert.equal(our.ratelimit, '"limit";r=4;t=60');
    assert.equal(our['ratelimit-remaining'], undefined);
  });
}

page.row('`legacyHeaders: true`', 'the older headers are the same', async (row, clock, t) => {
  const [one, other] = [await theirs(t, settings(row.theirs)), await ours(t, clock, settings(row.ours))];
  for (let requests = 0; requests < 7; requests++) {
    const [their, our] = [await ask(one), await ask(other)];
    for (const name of ['limit', 'remaining', 'reset']) {
      assert.equal(our.headers[`x-ratelimit-${name}`], their.headers[`x-ratelimit-${name}`]);
    }
    await clock.advance(2_500);
  }
  assert.equal((await ask(await ours(t, clock, {}))).headers['x-ratelimit-limit'], undefined);
  assert.equal((await ask(await theirs(t, {}))).headers['x-ratelimit-limit'], '5');
});

page.row('`identifier:', 'headers have a name', async (row, clock, t) => {
  const one = await theirs(t, { standardHeaders: 'draft-8', ...settings(row.theirs) });
  const other = await ours(t, clock, settings(row.ours));
  for (const server of [one, other]) assert.match((await ask(server)).headers.ratelimit, /^"search";/);
});

page.row('`retryAfter: 30`', 'a refusal tells when to come back', async (row, clock, t) => {
  const [one, other] = [await theirs(t, settings(row.theirs)), await ours(t, clock, {})];
  await statuses(one, 5);
  await statuses(other, 5);
  await clock.advance(20_000);
  const [their, our] = [await ask(one), await ask(other)];
  assert.deepEqual([their.headers['retry-after'], our.headers['retry-after']], ['30', '40']);
});

page.row('`requestPropertyName:', 'by hand handlers are told', async (row, _, t) => {
  const one = await served(t, (app) => {
    app.use(rateLimit({ ...FIVE, ...settings(row.theirs) }));
    app.use((request, response) => response.send(`${request.rateLimit.remaining} left`));
  });
  const other = await running(t, 2);
  assert.deepEqual([(await ask(one)).body, (await ask(other, login(SHUT))).body.endsWith(' left')], ['4 left', true]);
});

page.row('`store: new MemoryStore()`', 'memory does not grow', async (row, clock) => {
  const { store } = settings(row.theirs, { MemoryStore });
  store.init(FIVE);
  const gate = new Gate([{ ...RULE, ...settings(row.ours) }], { clock: clock.ours });
  for (let client = 0; client < 5_000; client++) {
    assert.equal((await store.increment(`${client}`)).totalHits, 1);
    gate.tryEnter({ client: `${client}` }).release();
  }
  assert.equal(store.current.size, 5_000);
  const [{ capacity, evictedLive }] = gate.stats().rules;
  assert.equal(capacity, 1_000);
  assert.ok(evictedLive > 2_000);
  store.shutdown();
});

/** A store as of Redis, which all who have it share. */
class RedisStore {
  constructor(client) {
    this.client = client;
  }

  async increment() {
    if (this.client === 'down') throw new Error('the store is down');
    this.client.hits += 1;
    return { totalHits: this.client.hits, resetTime: new Date(Date.now() + 60_000) };
  }

  async decrement() {}
  async resetKey() {}
}

page.row('`store: new RedisStore(client)`', 'two gates share no budget', async (row, clock, t) => {
  const client = { hits: 0 };
  const peers = [0, 1].map(() => theirs(t, settings(row.theirs, { RedisStore, client })));
  const gates = [0, 1].map(() => ours(t, clock, {}));
  const admitted = async (servers) => {
    let count = 0;
    for (const server of await Promise.all(servers))
      count += (await statuses(server, 5)).filter((s) => s === 200).length;
    return count;
  };
  assert.deepEqual([await admitted(peers), await admitted(gates)], [5, 10]);
});

page.row('`passOnStoreError: true`', 'there is no store to fail', async (row, clock, t) => {
  const one = await theirs(t, {
    store: new RedisStore('down'),
    logger: { error() {}, warn() {} },
    ...settings(row.theirs),
  });
  assert.deepEqual(await statuses(one, 6), Array(6).fill(200));
  assert.deepEqual(await statuses(await ours(t, clock, {}), 6), [200, 200, 200, 200, 200, 429]);
  assert.throws(() => new Gate([{ ...RULE, ...settings(row.theirs) }]), RulesError);
});

page.row('`limiter.resetKey(key)`', 'a key begins anew', async (row, clock, t) => {
  const peer = rateLimit(FIVE);
  const one = await served(t, (app) => app.use(peer));
  const limiter = new KeyedRateLimiter(RULE.quota, { clock: clock.ours });
  assert.equal((await statuses(one, 6))[5], 429);
  assert.equal(limiter.tryAcquire('127.0.0.1', 5), true);
  await evaluate(row.theirs[0], { limiter: peer, key: '127.0.0.1' });
  evaluate(row.ours[0], { limiter, key: '127.0.0.1' });
  assert.equal((await ask(one)).status, 200);
  assert.equal(limiter.tryAcquire('127.0.0.1', 5), true);
  assert.equal(new Gate([RULE]).reset, undefined);
});

page.row('`limiter.getKey(key)`', 'figures are told without a request', async (row, clock, t) => {
  const peer = rateLimit(FIVE);
  const one = await served(t, (app) => app.use(peer));
  const limiter = new KeyedRateLimiter(RULE.quota, { clock: clock.ours });
  const gate = new Gate([RULE], { clock: clock.ours });
  await statuses(one, 2);
  limiter.tryAcquire('127.0.0.1', 2);
  for (let requests = 0; requests < 2; requests++) gate.tryEnter({ client: '127.0.0.1' }).release();
  const names = { key: '127.0.0.1', gate, request: { client: '127.0.0.1' } };
  const { totalHits } = await evaluate(row.theirs[0], { ...names, limiter: peer });
  const decision = evaluate(row.ours[0], { ...names, limiter });
  assert.equal(decision.limit - decision.remaining, totalHits);
  const [explain] = row.differs.match(/gate\.explain\(.*?\)/);
  // What would be left if it went ahead.
  assert.equal(evaluate(explain, names).rules[0].remaining, decision.remaining);
});

page.row('`validate: false`', 'wrong settings are errors', (row) => {
  const said = [];
  const logger = { error: (fault) => said.push(fault), warn() {} };
  rateLimit({ windowMs: 'a minute', logger });
  assert.ok(said.length > 0);
  const before = said.length;
  rateLimit({ windowMs: 'a minute', logger, ...settings(row.theirs) });
  assert.equal(said.length, before);
  const faults = (rules) => {
    try {
      return new Gate(rules) && [];
    } catch (error) {
      assert.ok(error instanceof RulesError);
      return error.faults.map((fault) => fault.argument);
    }
  };
  assert.equal(faults([{ ...RULE, quota: 'five a minute', mode: 'on' }]).length, 2);
});

page.everyRowIsTested();
