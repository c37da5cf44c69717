'use strict';
// What is a key, and which keys are the same.

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { ConfigError, KeyedConcurrencyLimiter, KeyedRateLimiter, ManualClock, ipKey, keyOf } = require('tidegate');

const SMILE = '\u{1F600}';
/** Strings that are easily taken for one another, or for something else than a key. */
const STRINGS = [
  '',
  '\0',
  'a',
  'a\0',
  'a\0b',
  '\uD83D',
  '\uDE00',
  '\uD83Da',
  '\uDE00\uD83D',
  SMILE,
  '\uFFFD',
  '\uFFFD\uFFFD',
  'é',
  'e\u0301',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'x'.repeat(1_000_000),
  `${'x'.repeat(999_999)}y`,
  `${'x'.repeat(100_000)}\uD83D`,
  `${'x'.repeat(100_000)}\uDE00`,
  // Around the length from which a string is read in another way.
  ...[246, 250, 251, 252, 253, 254, 255, 256, 257, 511, 512].flatMap((length) => [
    `${'k'.repeat(length)}a`,
    `${'k'.repeat(length)}b`,
    `${'k'.repeat(length)}${SMILE}`,
    `${'k'.repeat(length)}\uD83D`,
    `${'k'.repeat(length)}\uDE00`,
    `${'k'.repeat(length)}\uFFFD`,
  ]),
];
/** Bytes that are no string's. */
const BYTES = [[0xff], [0xff, 0xfe], [0xc3], [0x80], [0xed, 0xa0], [0xf5, 0x80, 0x80, 0x80]].map((bytes) =>
  Uint8Array.from(bytes),
);

const limiterOf = () => new KeyedRateLimiter('1/h', { maxKeys: 1000, clock: new ManualClock() });
const wtf8 = (hex) => Buffer.from(hex, 'hex');

describe('keys', () => {
  test('each has a budget of its own, also NUL, lone surrogates, a megabyte, and names that objects have', () => {
    const limiter = limiterOf();
    const lender = new KeyedConcurrencyLimiter(1);
    const all = [...STRINGS, ...BYTES];
    const permits = all.map((key) => lender.tryAcquire(key));
    for (const key of all) assert.equal(limiter.tryAcquire(key), true, `first of ${String(key).slice(-20)}`);
    for (const key of all) assert.equal(limiter.tryAcquire(key), false, `second of ${String(key).slice(-20)}`);
    assert.equal(limiter.size, all.length);
    assert.ok(permits.every(Boolean));
    assert.ok(all.every((key) => lender.tryAcquire(key) === null && lender.inFlight(key) === 1));
    for (const permit of permits) permit.release();
    assert.ok(all.every((key) => lender.inFlight(key) === 0));
  });

  test('a string is the bytes of its UTF-8', () => {
    for (const key of STRINGS.filter((key) => key.isWellFormed())) {
      const limiter = limiterOf();
      assert.equal(limiter.tryAcquire(key), true);
      assert.equal(limiter.tryAcquire(Buffer.from(key)), false, key.slice(-20));
      assert.equal(limiter.peek(new TextEncoder().encode(key)).remaining, 0);
    }
  });

  test('of each length, and with any character in any place', () => {
    const letters = Array.from({ length: 33 }, (_, at) => String.fromCharCode('a'.charCodeAt() + (at % 26)));
    for (let length = 0; length <= letters.length; length += 1) {
      const plain = letters.slice(0, length);
      // é is one byte in an engine's one-byte strings; š ends in the byte of an a.
      const others = plain.flatMap((_, at) => ['é', 'š', SMILE].map((other) => plain.with(at, other)));
      for (const key of [plain, ...others].map((characters) => characters.join(''))) {
        const limiter = limiterOf();
        assert.equal(limiter.tryAcquire(key), true);
        assert.equal(limiter.tryAcquire(Buffer.from(key)), false, key);
      }
    }
  });

  test('a lone surrogate is its WTF-8, and a pair the character', () => {
    for (const [key, bytes] of [
      ['\uD83D', 'eda0bd'],
      ['\uDE00', 'edb880'],
      ['a\uDFFFb', '61edbfbf62'],
      ['\uDE00\uD83D', 'edb880eda0bd'],
      ['\uD800\uFFFD', 'eda080efbfbd'],
      [SMILE, 'f09f9880'],
      [`${'k'.repeat(300)}\uD83D`, `${'6b'.repeat(300)}eda0bd`],
    ]) {
      const limiter = limiterOf();
      assert.equal(limiter.tryAcquire(key), true);
      assert.equal(limiter.tryAcquire(wtf8(bytes)), false, bytes);
    }
  });

  test('two that differ in the last byte after 255 bytes are two', () => {
    const limiter = limiterOf();
    const bytes = (last) => Uint8Array.from([...Array(255).fill(7), last]);
    assert.deepEqual(
      [bytes(1), bytes(2), bytes(1), bytes(2)].map((key) => limiter.tryAcquire(key)),
      [true, true, false, false],
    );
  });

  test('bytes are taken as they are at the time of the call, from where their view begins', () => {
    const limiter = limiterOf();
    const memory = Buffer.from('..ann..');
    assert.equal(limiter.tryAcquire(memory.subarray(2, 5)), true);
    assert.equal(limiter.tryAcquire('ann'), false);
    memory.write('bob', 2);
    assert.equal(limiter.tryAcquire(memory.subarray(2, 5)), true);
    assert.equal(limiter.tryAcquire('bob'), false);
    assert.equal(limiter.tryAcquire(new Uint8Array(0)), true);
    assert.equal(limiter.tryAcquire(''), false);
  });

  test('strings that were joined or cut are the same keys as those that were not', () => {
    const limiter = limiterOf();
    const whole = 'the-tenant-and-then-the-user-of-it';
    assert.equal(limiter.tryAcquire(whole), true);
    assert.equal(limiter.tryAcquire(whole.slice(0, 15) + whole.slice(15)), false);
    assert.equal(limiter.tryAcquire(`..${whole}..`.slice(2, -2)), false);
  });

  test('what is neither a string nor a Uint8Array is refused by name, and takes nothing', () => {
    const limiter = limiterOf();
    const lender = new KeyedConcurrencyLimiter(1);
    const decision = limiter.decide('ann');
    for (const key of [
      undefined,
      null,
      7,
      7n,
      true,
      Symbol('key'),
      {},
      [],
      ['ann'],
      () => 'ann',
      Object('ann'),
      new Uint16Array(2),
      new Uint8ClampedArray(2),
      new DataView(new ArrayBuffer(2)),
      new ArrayBuffer(2),
      new Uint8Array(new SharedArrayBuffer(2)),
      Object.create(Uint8Array.prototype, { buffer: { value: 1 } }),
    ]) {
      const refused = (call) =>
        assert.throws(call, { name: 'TypeError', code: 'ERR_TIDEGATE_INVALID_TYPE', argument: 'key' });
      refused(() => limiter.tryAcquire(key));
      refused(() => limiter.tryAcquire(key, 2));
      refused(() => limiter.tryAcquire(key, 0));
      refused(() => limiter.decide(key));
      refused(() => limiter.peek(key));
      refused(() => limiter.refund(key, decision));
      refused(() => limiter.reset(key));
      refused(() => lender.tryAcquire(key));
      refused(() => lender.inFlight(key));
      refused(() => lender.available(key));
      if (typeof key !== 'function') {
        refused(() => limiter.guard(() => {}, { key }));
        refused(() => lender.guard(() => {}, { key }));
      }
      refused(limiter.guard(() => assert.fail('called'), { key: () => key }));
      assert.throws(() => limiter.tryAcquireMany(['ann', key]), { name: 'TypeError', argument: 'keys[1]' });
      assert.throws(() => keyOf('ann', key), { name: 'TypeError', argument: 'parts[1]' });
    }
    assert.deepEqual([limiter.stats().allowed, limiter.stats().denied], [1, 0]);
    assert.equal(lender.stats().allowed, 0);
  });

  test('a Uint8Array whose memory was given away is empty', () => {
    const limiter = limiterOf();
    const bytes = Uint8Array.of(1, 2, 3);
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    assert.equal(limiter.tryAcquire(bytes), true);
    assert.equal(limiter.tryAcquire(''), false);
  });
});

describe('keyOf', () => {
  const hex = (key) => Buffer.from(key).toString('hex');

  test('puts its length before each part, so that other parts make another key', () => {
    assert.ok(keyOf('a') instanceof Uint8Array);
    assert.equal(hex(keyOf('a', 'b/c')), '010000000000000061' + '0300000000000000622f63');
    const lists = [
      [],
      [''],
      ['', ''],
      ['a', 'b/c'],
      ['a/b', 'c'],
      ['ab', '/c'],
      ['ab/c'],
      ['\0'],
      ['\uD83D', '\uDE00'],
    ];
    assert.equal(new Set(lists.map((parts) => hex(keyOf(...parts)))).size, lists.length);
  });

  test('keeps the keys that it made apart, however long they are', () => {
    const lengths = [0, 1, 240, 247, 248, 249, 250, 5000, 1_000_000];
    const keys = lengths.map((length) => keyOf('x'.repeat(length)));
    for (const [index, length] of lengths.entries()) {
      assert.deepEqual(Buffer.from(keys[index]).subarray(8), Buffer.alloc(length, 'x'));
      assert.equal(Buffer.from(keys[index]).readBigUInt64LE(), BigInt(length));
    }
  });

  test('takes strings and bytes, and keys that it made', () => {
    assert.deepEqual(keyOf('é', Buffer.from('b')), keyOf(Buffer.from('é'), 'b'));
    assert.notDeepEqual(keyOf(keyOf('a', 'b')), keyOf('a', 'b'));
    assert.equal(hex(keyOf('\uD83D')), '0300000000000000eda0bd');
  });
});

describe('ipKey', () => {
  const key = (address, prefix) => Buffer.from(ipKey(address, { prefix })).toString('hex');

  test('takes IPv4 whole and IPv6 by its first 64 bits, unless a prefix says otherwise', () => {
    assert.ok(ipKey('203.0.113.7') instanceof Uint8Array);
    assert.equal(key('203.0.113.7'), 'cb007107');
    assert.equal(key('203.0.113.7', 24), 'cb007100');
    assert.equal(key('203.0.113.7', 0), '00000000');
    assert.equal(key('2001:db8:1:2:3::4'), '20010db8000100020000000000000000');
    assert.equal(key('2001:db8:1:2:3::4', 128), '20010db8000100020003000000000004');
    assert.equal(key('2001:db8:1:2:3::4', 36), '20010db8000000000000000000000000');
  });

  test('takes IPv4 that is written as IPv6 for IPv4', () => {
    assert.equal(key('::ffff:203.0.113.7'), 'cb007107');
    assert.equal(key('::ffff:cb00:7107', 16), 'cb000000');
  });

  test('refuses what is no address, and prefixes that are too long, by name', () => {
    for (const address of ['', 'localhost', '203.0.113', '203.0.113.256', '203.0.113.7 ', '1.2.3.4/24', ':::', '\0']) {
      assert.throws(() => ipKey(address), {
        constructor: ConfigError,
        argument: 'address',
        message: /^address: got "/,
      });
    }
    for (const address of [undefined, null, 7, Buffer.from('1.2.3.4')]) {
      assert.throws(() => ipKey(address), { name: 'TypeError', argument: 'address' });
    }
    for (const [address, prefix] of [
      ['1.2.3.4', 33],
      ['::ffff:1.2.3.4', 96],
      ['::1', 129],
      ['::1', -1],
      ['::1', 1.5],
      ['::1', 2 ** 32 + 64],
      ['::1', Number.NaN],
    ]) {
      assert.throws(() => ipKey(address, { prefix }), { constructor: ConfigError, argument: 'prefix' });
    }
    assert.throws(() => ipKey('::1', { prefix: '64' }), { name: 'TypeError', argument: 'prefix' });
    assert.throws(() => ipKey('::1', { prefx: 64 }), { name: 'TypeError', argument: 'options.prefx' });
    assert.throws(() => ipKey('::1', 64), { name: 'TypeError', argument: 'options' });
  });
});
