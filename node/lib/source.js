'use strict';

const { clearTimeout, setTimeout } = require('node:timers');
const { RulesError } = require('./refused.js');
const { attempt } = require('./errors.js');
const native = require('./native.js');

/** Keeps a gate's rules as a source has them, until it is closed or the gate is gone. */
class Watch {
  #close;

  constructor(close) {
    this.#close = close;
  }

  close() {
    this.#close();
  }

  static {
    if (Symbol.dispose) {
      Object.defineProperty(Watch.prototype, Symbol.dispose, {
        value: function dispose() {
          this.close();
        },
        configurable: true,
        writable: true,
      });
    }
  }
}

/** A file, which the native library watches from a thread of its own. `keep` has what is to live as long as the gate. */
function watchedFile(handle, keep) {
  keep.add(handle);
  return new Watch(() => {
    if (keep.delete(handle)) attempt(() => native.gateUnwatch(handle));
  });
}

/**
 * Asks `source` time and again, 10 % sooner or later by chance, so that many processes don't ask all at once. `taker.change(rules)`
 * takes new ones, and `taker.fail(error)` is told of what goes wrong, once for as long as it is the same. Both tell whether to go on.
 */
function pulled(source, everyMs, taker) {
  let timer;
  let isOver = false;
  let last;
  const pull = async () => {
    let came;
    try {
      const rules = await source();
      came = rules === undefined || rules === null ? undefined : textOf(rules);
    } catch (error) {
      came = failure(error);
    }
    if (isOver) return;
    if (came !== undefined && came.key !== last) {
      last = came.key;
      isOver = !(came.error ? taker.fail(came.error) : taker.change(came.rules));
    }
    if (!isOver) timer = setTimeout(pull, everyMs * (0.9 + 0.2 * Math.random())).unref();
  };
  pull();
  return new Watch(() => {
    isOver = true;
    clearTimeout(timer);
  });
}

/** What is the same as long as the rules are. */
function textOf(rules) {
  return { rules, key: `rules ${typeof rules === 'string' ? rules : JSON.stringify(rules)}` };
}

function failure(error) {
  const value = error instanceof Error ? error.message : String(error);
  const allowed = 'rules, or undefined for nothing new';
  const message = `source: got ${value}; allowed: ${allowed}`;
  const told = new RulesError(message, [{ message, argument: 'source', value, allowed }], { cause: error });
  return { error: told, key: `error ${value}` };
}

module.exports = { Watch, pulled, watchedFile };
