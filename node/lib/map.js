'use strict';

const { wrongType } = require('./errors.js');
const { during } = require('./guard.js');

/**
 * Calls `fn(item, index)` for each item, and resolves with what the calls return, in the order of the items. `enter(signal)` comes
 * before an item is pulled, so that none is pulled before there is room for its call; it returns as `guarded`'s does.
 *
 * After a failure nothing is pulled or waited for any more; rejects with the first one when the calls that run have settled.
 */
async function mapped(iterable, fn, enter, signal) {
  const iterator = iteratorOf(iterable);
  const stop = new AbortController();
  const forward = () => stop.abort(signal.reason);
  if (signal?.aborted) forward();
  signal?.addEventListener('abort', forward);
  const [results, running] = [[], []];
  let failure;
  const failed = (error) => {
    failure ??= { error };
    stop.abort(error);
  };
  /** Whether there was an item; `leave` is called when its call has settled, or there is none. */
  async function next(index, leave) {
    let item;
    try {
      item = await iterator.next();
    } finally {
      if (item === undefined || item.done || failure) leave?.(!failure);
    }
    if (item.done || failure) return !item.done;
    running[index] = during(leave, async () => {
      try {
        results[index] = await fn(item.value, index);
      } catch (error) {
        failed(error); // Before it is left, which would let the next one in.
        throw error;
      }
    }).catch(failed);
    return true;
  }
  // Closed as a loop would that is left, unless it has ended or failed itself.
  let isOpen = true;
  try {
    for (let index = 0; isOpen && !failure; index++) {
      const leave = await enter(stop.signal);
      isOpen = false;
      isOpen = await next(index, leave);
    }
  } catch (error) {
    failed(error);
  }
  signal?.removeEventListener('abort', forward);
  await Promise.all(running);
  if (isOpen) await Promise.resolve(iterator.return?.()).catch(failed);
  if (failure) throw failure.error;
  return results;
}

function iteratorOf(iterable) {
  const iterate = iterable?.[Symbol.asyncIterator] ?? iterable?.[Symbol.iterator];
  if (typeof iterate !== 'function') throw wrongType('iterable', iterable, 'an iterable or an async iterable');
  return iterate.call(iterable);
}

module.exports = { mapped };
