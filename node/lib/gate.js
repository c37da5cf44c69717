'use strict';

const { fileURLToPath } = require('node:url');
const { callable, count, oneOf, options: checked, signalOf, timeoutNs } = require('./arguments.js');
const { clockHandle } = require('./clock.js');
const { Turnstile } = require('./entering.js');
const { attempt, misconfigured, outOfRange, wrongType } = require('./errors.js');
const { during } = require('./guard.js');
const { Happenings } = require('./happenings.js');
const native = require('./native.js');
const { printsAsText } = require('./printing.js');
const { Refusal, refusedError, rulesError } = require('./refused.js');
const { pulled, watchedFile } = require('./source.js');

const FORMATS = ['toml', 'json', 'yaml'];
const LONGEST_EVERY_MS = 2 ** 31 / 1.1 - 1;
/** To the native library: as long as the rules say. */
const AS_RULES_SAY_NS = -1;
const NO_RULES = { rules: [] };
/** What is rather the path of a file than the text of rules. */
const PATH = /^[^\n]+\.(toml|json|ya?ml)$/i;

/** The way into a gate, for web middleware. */
let turnstileOf;
/** Who takes rules that are pulled, or hears that there are none, as long as there is the gate. */
let takerFor;

class Gate {
  #turnstile;
  #happenings;
  /** Watched files, for as long as there is the gate. */
  #watches = new Set();

  constructor(rules = NO_RULES, options = {}) {
    const { format, clock } = checked(options, ['format', 'clock']);
    this.#turnstile = new Turnstile(clock, clockHandle(clock));
    this.#happenings = new Happenings(this.#turnstile.handle);
    this.reload(rules, format === undefined ? undefined : { format });
  }

  static open(path, options = {}) {
    const { watch = false, clock } = checked(options, ['watch', 'clock']);
    const gate = new Gate(NO_RULES, { clock });
    if (watch) gate.watchFile(path);
    else gate.reloadFile(path);
    return gate;
  }

  static {
    // Of the gate it holds nothing: a function that is made elsewhere might.
    takerFor = (gate, format) => ({
      change: (rules) => gate.deref()?.#change(rules, format) ?? false,
      fail: (error) => gate.deref()?.#fail(error) ?? false,
    });
    turnstileOf = (gate) => gate.#turnstile;
  }

  tryEnter(request, options = undefined) {
    const cost = options === undefined ? 1 : (checked(options, ['cost']).cost ?? 1);
    return this.#turnstile.tryEnter(request, cost);
  }

  enter(request, options = undefined) {
    try {
      return Promise.resolve(this.#begin(request, options));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async run(request, fn, options = undefined) {
    callable('fn', fn);
    const entered = this.#begin(request, options);
    const entry = entered instanceof Promise ? await entered : entered;
    return during((ok) => entry.release(ok), fn);
  }

  reload(rules, options = undefined) {
    const { format } = options === undefined ? {} : checked(options, ['format']);
    const handle = this.#turnstile.handle;
    if (typeof rules === 'string') {
      if (format === undefined && PATH.test(rules)) {
        throw misconfigured('rules', rules, 'the text of rules; Gate.open is for those of a file');
      }
      oneOf('format', format, FORMATS);
      return orFaults(attempt(() => native.gateReload(handle, rules, format)));
    }
    if (format !== undefined) throw wrongType('rules', rules, `a text in ${format}`);
    return orFaults(
      attempt(() => native.gateReload(handle, jsonOf(rules), 'json')),
      true,
    );
  }

  reloadFile(path) {
    const file = pathOf(path);
    return orFaults(attempt(() => native.gateReloadFile(this.#turnstile.handle, file)));
  }

  watchFile(path) {
    const file = pathOf(path);
    const watch = orFaults(attempt(() => native.gateWatchFile(this.#turnstile.handle, file)));
    return watchedFile(watch, this.#watches);
  }

  pull(source, options) {
    callable('source', source);
    const { everyMs, format } = checked(options, ['everyMs', 'format']);
    const allowed = 'a number of milliseconds above 0, at most 22 days';
    if (typeof everyMs !== 'number') throw wrongType('everyMs', everyMs, allowed);
    if (!(everyMs > 0 && everyMs <= LONGEST_EVERY_MS)) throw outOfRange('everyMs', everyMs, allowed);
    if (format !== undefined) oneOf('format', format, FORMATS);
    return pulled(source, everyMs, takerFor(new WeakRef(this), format));
  }

  explain(request, options = undefined) {
    const { cost = 1 } = options === undefined ? {} : checked(options, ['cost']);
    count('cost', cost);
    const attributes = this.#turnstile.attributes(request);
    const [names, values] = [attributes.map(([name]) => name), attributes.map(([, value]) => value)];
    const { json, text } = attempt(() => native.gateExplain(this.#turnstile.handle, names, values, cost));
    const { status, rules } = JSON.parse(json);
    const explanation = { status, rules: rules.map(inMs) };
    return Object.defineProperty(explanation, 'toString', { value: () => text, configurable: true, writable: true });
  }

  get rules() {
    return JSON.parse(attempt(() => native.gateRules(this.#turnstile.handle)));
  }

  stats() {
    return this.#turnstile.stats();
  }

  on(event, listener) {
    this.#happenings.on(event, listener);
    return this;
  }

  off(event, listener) {
    this.#happenings.off(event, listener);
    return this;
  }

  toString() {
    return `Gate(${this.rules.rules.map(({ name }) => name).join(', ')})`;
  }

  #begin(request, options) {
    if (options === undefined) return this.#turnstile.enter(request, 1, AS_RULES_SAY_NS, undefined, orThrow);
    const { cost = 1, timeoutMs, signal } = checked(options, ['cost', 'timeoutMs', 'signal']);
    const ns = timeoutMs === undefined ? AS_RULES_SAY_NS : timeoutNs(timeoutMs);
    if (signal !== undefined) signalOf(signal);
    return this.#turnstile.enter(request, cost, ns, signal, orThrow);
  }

  /** Takes rules that were pulled. What is wrong with them is told to those who listen. */
  #change(rules, format) {
    try {
      this.reload(rules, typeof rules === 'string' ? { format: format ?? 'json' } : undefined);
    } catch (error) {
      // All but faults, which the native library tells.
      if (error.faults === undefined) this.#fail(error);
    }
    return true;
  }

  #fail(error) {
    this.#happenings.tell('reloadFailed', error);
    return true;
  }
}

printsAsText(Gate);

function orThrow(entered) {
  if (entered instanceof Refusal) throw refusedError(entered);
  return entered;
}

/** What the native library did, unless it tells what is wrong. An object has no lines. */
function orFaults(told, isObject = false) {
  const error = rulesError(told, isObject);
  if (error) throw error;
  return told;
}

/** Rules as they are, or a list of them, as JSON. */
function jsonOf(rules) {
  if (rules === null || typeof rules !== 'object') {
    throw wrongType('rules', rules, 'a text, { rules: [...] } as in a file, or a list of rules');
  }
  return JSON.stringify(Array.isArray(rules) ? { rules } : rules);
}

function pathOf(path) {
  if (path instanceof URL) return fileURLToPath(path);
  if (typeof path !== 'string') throw wrongType('path', path, 'a string, or a file: URL');
  return path;
}

function inMs({ retry_after_ns, ...rule }) {
  return { ...rule, retryAfterMs: retry_after_ns === null ? null : retry_after_ns / 1e6 };
}

module.exports = { AS_RULES_SAY_NS, Gate, turnstileOf };
