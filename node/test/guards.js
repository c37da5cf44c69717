'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { RefusedError } = require('tidegate');

/** What is true of every guard. `admit` guards a function for one call, `refuse` for none. */
function guardsEachKindOfFunction(admit, refuse) {
  test('keeps this, arguments, result, name and length', () => {
    const thing = {
      factor: 3,
      scale: admit(function scale(a, b, ...more) {
        return [this.factor * a, b, more];
      }),
    };
    assert.deepEqual(thing.scale(2, 'b', 'c', 'd'), [6, 'b', ['c', 'd']]);
    assert.deepEqual([thing.scale.name, thing.scale.length], ['scale', 2]);
    assert.equal(admit((a, b = 1, ...c) => [a, b, c]).length, 1);
  });

  test('passes on what the function throws', () => {
    const failure = new Error('of the work');
    const failing = admit(() => {
      throw failure;
    });
    assert.throws(failing, (error) => error === failure);
  });

  test('guards an async function as one: results are awaited, refusals are rejections', async () => {
    assert.equal(await admit(async (x) => x)(5), 5);
    const rejected = refuse(async () => assert.fail('called though refused'))();
    await assert.rejects(rejected, RefusedError);
    const failure = new Error('of the work');
    await assert.rejects(admit(async () => Promise.reject(failure))(), (error) => error === failure);
  });

  test('guards a function that returns a promise, and one that returns anything with then', async () => {
    assert.equal(await admit((x) => Promise.resolve(x))(5), 5);
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested
    assert.equal(await admit(() => ({ then: (resolve) => resolve(6) }))(), 6);
    assert.throws(
      refuse(() => Promise.resolve()),
      RefusedError,
    );
  });

  test('guards a generator as one', () => {
    const thing = {
      base: 10,
      count: admit(function* count(n) {
        const sent = yield this.base + n;
        return sent;
      }),
    };
    const running = thing.count(1);
    assert.deepEqual(
      [running.next(), running.next('sent')],
      [
        { value: 11, done: false },
        { value: 'sent', done: true },
      ],
    );
    const refused = refuse(function* () {
      yield assert.fail('run though refused');
    });
    assert.throws(() => refused().next(), RefusedError);
  });

  test('guards an async generator as one', async () => {
    const seen = [];
    const numbers = admit(async function* (upTo) {
      for (let n = 0; n < upTo; n++) yield n;
    });
    for await (const n of numbers(3)) seen.push(n);
    assert.deepEqual(seen, [0, 1, 2]);
    const refused = refuse(async function* () {
      yield assert.fail('run though refused');
    });
    await assert.rejects(refused().next(), RefusedError);
  });
}

module.exports = { guardsEachKindOfFunction };
