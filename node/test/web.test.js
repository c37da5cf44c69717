'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const { describe, test } = require('node:test');
const { Gate, ManualClock } = require('tidegate');
const express = require('express');
const { gateMiddleware } = require('tidegate/express');
const { gateHandler } = require('tidegate/http');
const { pathOf } = require('../lib/web.js');
const { kinds, serve } = require('./fixtures/servers.js');

const turn = () => new Promise((resolve) => setTimeout(resolve, 1));
const inFlight = (gate) => gate.stats().rules[0].inFlight;

async function until(condition) {
  for (let tries = 0; !condition(); tries++) {
    assert.ok(tries < 20_000, `never: ${condition}`);
    await turn();
  }
}

/** Work that takes until it is told to go on. */
function slow() {
  const calls = [];
  const work = (response) => new Promise((resolve) => calls.push({ response, resolve }));
  return { calls, work };
}

for (const kind of kinds) {
  describe(kind, () => {
    test('requests get through, and the response says what is left', async (t) => {
      const rules = [
        { name: 'search', match: { path: { prefix: '/search' } }, key: 'client', quota: ['10/min', '100/h'] },
        { name: 'inside', concurrency: 5 },
      ];
      const { get } = await serve(t, kind, new Gate(rules, { clock: new ManualClock() }), () => 'found');
      const response = await get('/search/cats?limit=5');
      assert.deepEqual([response.status, await response.text()], [200, 'found']);
      const { headers } = response;
      assert.equal(headers.get('ratelimit-policy'), '"search/1";q=10;w=60, "search/2";q=100;w=3600');
      assert.match(headers.get('ratelimit'), /^"search\/1";r=9;t=\d+$/);
      assert.equal(headers.get('x-ratelimit-limit'), null);
      const other = await get('/other');
      assert.deepEqual([other.status, other.headers.get('ratelimit')], [200, null]);
    });

    test('a refusal is 429 with a problem and headers, also the older ones by option', async (t) => {
      const gate = new Gate([{ name: 'all', key: 'client', quota: '2/min' }], { clock: new ManualClock() });
      let calls = 0;
      const { get } = await serve(t, kind, gate, () => `${++calls}`, { legacyHeaders: true });
      const admitted = await get('/');
      assert.equal(admitted.headers.get('x-ratelimit-remaining'), '1');
      await get('/');
      const response = await get('/');
      assert.deepEqual([response.status, calls], [429, 2]);
      const problem = await response.json();
      const { headers } = response;
      assert.match(headers.get('content-type'), /^application\/problem\+json/);
      assert.deepEqual(
        [problem.status, problem.title, problem.rule, problem.reason, problem.limit, problem.remaining],
        [429, 'Too Many Requests', 'all', 'denied', 2, 0],
      );
      assert.equal(problem.retry_after, 30);
      assert.deepEqual(
        ['retry-after', 'ratelimit-policy', 'ratelimit', 'x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) =>
          headers.get(name),
        ),
        ['30', '"all";q=2;w=60', '"all";r=0;t=30', '2', '0'],
      );
      const reset = Number(headers.get('x-ratelimit-reset')) - Date.now() / 1e3;
      assert.ok(reset > 0 && reset <= 31, `${reset}`);
    });

    test('of a burst no more remains than the older headers have for the limit', async (t) => {
      const gate = new Gate([{ name: 'all', quota: '2/min burst 4' }], { clock: new ManualClock() });
      const { get } = await serve(t, kind, gate, () => 'done', { legacyHeaders: true });
      for (const [status, limit, remaining, rateLimit] of [
        [200, '4', '3', '"all";r=2;t=30'],
        [200, '4', '2', '"all";r=2;t=60'],
        [200, '4', '1', '"all";r=1;t=90'],
        [200, '4', '0', '"all";r=0;t=120'],
        [429, '4', '0', '"all";r=0;t=30'],
      ]) {
        const { status: got, headers } = await get('/');
        assert.deepEqual(
          [got, ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'ratelimit'].map((name) => headers.get(name))],
          [status, limit, remaining, rateLimit],
        );
      }
    });

    test('a permit is held until the response is finished, not only begun', async (t) => {
      const gate = new Gate([{ name: 'all', concurrency: 1 }]);
      const { get } = await serve(t, kind, gate, (response) => {
        response.writeHead(200);
        response.write('begun');
        begun(response);
      });
      let begun;
      const running = new Promise((resolve) => (begun = resolve));
      const first = await get('/');
      assert.equal((await get('/')).status, 429);
      (await running).end(', done');
      assert.equal(await first.text(), 'begun, done');
      await until(() => inFlight(gate) === 0);
      assert.deepEqual([gate.stats().releasedOk, gate.stats().releasedFailed], [1, 0]);
    });

    test('a permit comes back when the client aborts, and when the handler fails', async (t) => {
      const gate = new Gate([{ name: 'all', concurrency: 1 }]);
      const { calls, work } = slow();
      const { get } = await serve(t, kind, gate, work);
      const controller = new AbortController();
      const aborted = get('/', { signal: controller.signal });
      await until(() => calls.length === 1);
      assert.equal(inFlight(gate), 1);
      controller.abort();
      await assert.rejects(aborted, { name: 'AbortError' });
      await until(() => inFlight(gate) === 0);
      const failing = get('/');
      await until(() => calls.length === 2);
      calls[1].resolve(Promise.reject(new Error('oh no')));
      assert.equal((await failing).status, 500);
      await until(() => inFlight(gate) === 0);
      assert.equal(gate.stats().releasedFailed, 1);
      const destroyed = get('/');
      await until(() => calls.length === 3);
      calls[2].response.destroy(new Error('lost'));
      await assert.rejects(destroyed);
      await until(() => inFlight(gate) === 0);
    });

    test('who holds no permits leaves nothing to release, however its response ends', async (t) => {
      const gate = new Gate([{ name: 'all', key: 'client', quota: '100/h' }]);
      const { calls, work } = slow();
      const { get } = await serve(t, kind, gate, work);
      const first = get('/');
      await until(() => calls.length === 1);
      calls[0].resolve('done');
      const answer = await first;
      assert.deepEqual([await answer.text(), answer.headers.get('ratelimit')], ['done', '"all";r=99;t=36']);
      const failing = get('/');
      await until(() => calls.length === 2);
      calls[1].resolve(Promise.reject(new Error('oh no')));
      assert.equal((await failing).status, 500);
      const { admitted, releasedOk, releasedFailed } = gate.stats();
      assert.deepEqual([admitted, releasedOk, releasedFailed], [2, 0, 0]);
    });

    test('who may wait waits, and leaves the queue when the client goes', async (t) => {
      const gate = new Gate([{ name: 'all', concurrency: 1, timeout: 'call' }]);
      const { calls, work } = slow();
      const { get } = await serve(t, kind, gate, work, { timeoutMs: 60_000 });
      const first = get('/');
      await until(() => calls.length === 1);
      const controller = new AbortController();
      const gone = get('/', { signal: controller.signal });
      const waiting = () => gate.stats().rules[0].waiting;
      await until(() => waiting() === 1);
      const second = get('/');
      await until(() => waiting() === 2);
      controller.abort();
      await assert.rejects(gone, { name: 'AbortError' });
      await until(() => waiting() === 1);
      calls[0].resolve('first');
      assert.equal(await (await first).text(), 'first');
      await until(() => calls.length === 2);
      calls[1].resolve('second');
      assert.equal(await (await second).text(), 'second');
      await until(() => inFlight(gate) === 0);
    });

    test('a wait that is too long is a refusal', async (t) => {
      const gate = new Gate([{ name: 'all', concurrency: 0, timeout: '20ms' }]);
      const { get } = await serve(t, kind, gate, () => 'inside');
      const response = await get('/');
      assert.deepEqual([response.status, (await response.json()).reason], [429, 'timed_out']);
      assert.equal(response.headers.get('retry-after'), null);
    });

    test('HEAD and requests with a body are refused without harm to the connection', async (t) => {
      const gate = new Gate([{ name: 'all', concurrency: 0 }]);
      const { get, port } = await serve(t, kind, gate, () => 'inside');
      assert.equal((await get('/', { method: 'POST', body: 'x'.repeat(100_000) })).status, 429);
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      for (let call = 0; call < 3; call++) {
        const status = await new Promise((resolve, reject) => {
          const options = { host: '127.0.0.1', port, method: 'HEAD', agent };
          const request = http.request(options, (response) => resolve(response.resume().statusCode));
          request.on('error', reject).end();
        });
        assert.equal(status, 429);
      }
      agent.destroy();
    });

    test('permits of pipelined requests come back when the connection goes before their turn', async (t) => {
      const gate = new Gate([{ name: 'all', concurrency: 3 }]);
      const { calls, work } = slow();
      const { port } = await serve(t, kind, gate, work);
      const socket = net.connect(port, '127.0.0.1');
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3));
      await until(() => calls.length === 3);
      assert.equal(inFlight(gate), 3);
      socket.destroy();
      await until(() => inFlight(gate) === 0);
    });

    test('the attributes are path, method, client, and what a function adds', async (t) => {
      const seen = [];
      const gate = new Gate({
        show_keys: true,
        rules: [{ name: 'all', key: ['path', 'method', 'client', 'user'], concurrency: 0 }],
      });
      const attributes = (request) => {
        seen.push(request.url);
        return { user: request.headers['x-user'] };
      };
      const { get } = await serve(t, kind, gate, () => 'inside', { attributes });
      const keyOf = async (path, init) => (await (await get(path, init)).json()).key;
      assert.equal(
        await keyOf('/a%20b?c', { method: 'PUT', headers: { 'x-user': 'ann' } }),
        '/a b, PUT, 127.0.0.1, ann',
      );
      assert.deepEqual(seen, ['/a%20b?c']);
      // Without trusted hops a header says nothing.
      assert.match(await keyOf('/', { headers: { 'x-forwarded-for': '203.0.113.7' } }), /127\.0\.0\.1/);
    });

    test('an attributes function that fails is an error of the request, and takes nothing', async (t) => {
      const gate = new Gate([{ name: 'all', concurrency: 1 }]);
      const attributes = () => {
        throw new Error('oh no');
      };
      const { get } = await serve(t, kind, gate, () => 'inside', { attributes });
      assert.equal((await get('/')).status, 500);
      assert.equal(inFlight(gate), 0);
    });

    test('the client is who asked the outermost proxy that is trusted', async (t) => {
      const rules = { show_keys: true, rules: [{ name: 'all', key: 'client', concurrency: 0 }] };
      for (const [trustedHops, forwarded, client] of [
        [1, '198.51.100.1, 203.0.113.7', '203.0.113.7'],
        [2, '198.51.100.1, 203.0.113.7', '198.51.100.1'],
        [3, '198.51.100.1, 203.0.113.7', '198.51.100.1'],
        [1, '203.0.113.7:4711', '203.0.113.7'],
        [1, '2001:db8:1:2:3::4', '2001:db8:1:2::/64'],
        [1, '[2001:db8:1:2:3::4]:4711', '2001:db8:1:2::/64'],
        [1, '::ffff:203.0.113.7', '203.0.113.7'],
        [1, '::ffff:cb00:7107', '203.0.113.7'],
        [1, 'unknown', '127.0.0.1'],
        [1, '', '127.0.0.1'],
      ]) {
        const { get } = await serve(t, kind, new Gate(rules), () => 'inside', { trustedHops });
        const response = await get('/', { headers: { 'x-forwarded-for': forwarded } });
        assert.equal((await response.json()).key, client, `${trustedHops} of ${forwarded}`);
      }
    });

    test('an IPv6 peer counts by its network, one that is IPv4 by its address', async (t) => {
      const rules = { show_keys: true, rules: [{ name: 'all', key: 'client', concurrency: 0 }] };
      const { get, port } = await serve(t, kind, new Gate(rules), () => 'inside', {}, '::');
      assert.equal((await (await get('/')).json()).key, '::/64');
      assert.equal((await (await fetch(`http://127.0.0.1:${port}/`)).json()).key, '127.0.0.1');
    });
  });
}

test('the path is what frameworks look up, however it is written', () => {
  for (const [url, path] of [
    ['/', '/'],
    ['/a/b?c=/d#e', '/a/b'],
    ['/a#b?c', '/a'],
    ['/%61dmin', '/admin'],
    ['/a%2Fb', '/a%2Fb'],
    ['/%zz%61', '/%zz%61'],
    ['http://example.org/a?b', '/a'],
    ['http://example.org', '/'],
    ['*', '*'],
  ]) {
    assert.equal(pathOf(url), path);
  }
});

test('a middleware inside a router of Express sees the whole path', async (t) => {
  const app = express();
  const gate = new Gate({ show_keys: true, rules: [{ name: 'all', key: 'path', concurrency: 0 }] });
  app.use('/api', gateMiddleware(gate));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const response = await fetch(`http://127.0.0.1:${server.address().port}/api/users?x`);
  assert.equal((await response.json()).key, '/api/users');
});

for (const [routing, path] of [
  [false, '/slow'],
  [true, '/slow/'],
]) {
  test(`Express with strict routing ${routing ? 'on' : 'off'} has the gate see what its router looks up`, async (t) => {
    const app = express();
    app.set('strict routing', routing);
    const gate = new Gate({ show_keys: true, rules: [{ name: 'all', key: 'path', concurrency: 0 }] });
    app.use(gateMiddleware(gate));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const response = await fetch(`http://127.0.0.1:${server.address().port}/slow/?a=b`);
    assert.equal((await response.json()).key, path);
  });
}

test('a handler that fails at once has left, as failed, and fails as it would', () => {
  const gate = new Gate([{ name: 'all', concurrency: 1 }]);
  const fails = gateHandler(gate, () => {
    throw new Error('oh no');
  });
  const request = { method: 'GET', url: '/', socket: {}, headers: {} };
  const response = new http.ServerResponse(request);
  response.assignSocket(new net.Socket());
  assert.throws(() => fails(request, response), /oh no/);
  assert.equal(inFlight(gate), 0);
  response.emit('close');
  const { releasedOk, releasedFailed } = gate.stats();
  assert.deepEqual([inFlight(gate), releasedOk, releasedFailed], [0, 0, 1]);
});

test('a wrong option is named', () => {
  const gate = new Gate();
  for (const [options, argument] of [
    [{ attributes: 1 }, 'attributes'],
    [{ trustedHops: -1 }, 'trustedHops'],
    [{ trustedHops: true }, 'trustedHops'],
    [{ timeoutMs: 'long' }, 'timeoutMs'],
    [{ legacyHeaders: 1 }, 'legacyHeaders'],
    [{ trustedHop: 1 }, 'options.trustedHop'],
  ]) {
    assert.throws(() => gateMiddleware(gate, options), { argument });
    assert.throws(() => gateHandler(gate, () => {}, options), { argument });
  }
  assert.throws(() => gateMiddleware({}), { argument: 'gate' });
  assert.throws(() => gateHandler(gate), { argument: 'handler' });
});
