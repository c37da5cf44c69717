'use strict';

const { wrongType } = require('./errors.js');

/**
 * A function that enters before each call of `fn` and leaves after it.
 *
 * `enter` gets what the call gets, throws to refuse, or returns what to call when the work is over: `leave(ok)`, or nothing. The work of an async
 * function is over when its promise settles, that of a generator when it has returned or thrown or was closed. If `enter` may return a
 * promise, it `waits`: then the function that is returned does so, too.
 */
function guarded(fn, enter, waits = false) {
  const kind = kindOf(fn);
  if (waits && kind === 'GeneratorFunction')
    throw wrongType('fn', fn, 'an async generator, or any other function, with timeoutMs');
  const wrapper = wrap(waits && kind === 'Function' ? 'AsyncFunction' : kind, fn, enter);
  const { name, length } = Object.getOwnPropertyDescriptors(fn);
  if (name) Object.defineProperty(wrapper, 'name', name);
  if (length) Object.defineProperty(wrapper, 'length', length);
  return wrapper;
}

/** `Function`, `AsyncFunction`, `GeneratorFunction` or `AsyncGeneratorFunction`, of whichever realm. */
function kindOf(fn) {
  return Object.prototype.toString.call(fn).slice('[object '.length, -1);
}

function wrap(kind, fn, enter) {
  switch (kind) {
    case 'AsyncFunction': // So that a refusal is a rejection.
      return async function (...args) {
        const leave = enter.apply(this, args);
        return during(leave instanceof Promise ? await leave : leave, () => fn.apply(this, args));
      };
    case 'GeneratorFunction':
      return function* (...args) {
        const leave = enter.apply(this, args);
        let ok = true;
        try {
          return yield* fn.apply(this, args);
        } catch (error) {
          ok = false;
          throw error;
        } finally {
          leave?.(ok);
        }
      };
    case 'AsyncGeneratorFunction':
      return async function* (...args) {
        const leave = await enter.apply(this, args);
        let ok = true;
        try {
          return yield* fn.apply(this, args);
        } catch (error) {
          ok = false;
          throw error;
        } finally {
          leave?.(ok);
        }
      };
    default:
      return function (...args) {
        return during(enter.apply(this, args), () => fn.apply(this, args));
      };
  }
}

/** Runs the work and leaves after it; if it returned a promise (or anything with `then`), when that settles. */
function during(leave, work) {
  if (leave === undefined) return work();
  let result;
  let isPending;
  try {
    result = work();
    isPending = typeof result?.then === 'function';
  } catch (error) {
    leave(false);
    throw error;
  }
  if (isPending) return afterwards(leave, result);
  leave(true);
  return result;
}

/** Leaves once when the promise settles, whatever its own `then` or `constructor` does: `await` makes their errors a rejection. */
async function afterwards(leave, promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    leave(false);
    throw error;
  }
  leave(true);
  return value;
}

module.exports = { guarded, during };
