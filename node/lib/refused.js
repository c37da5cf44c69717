'use strict';

const { boolean, options: checked } = require('./arguments.js');
const { RefusedError, TidegateError, attempt, wrongType } = require('./errors.js');
const native = require('./native.js');
const { printsAsText } = require('./printing.js');

const OURS = Symbol('made by a gate');

/** A request that a gate refused. */
class Refusal {
  #handle;
  #figures;

  constructor(ours, handle) {
    if (ours !== OURS) throw wrongType('Refusal', ours, 'tryEnter, which makes refusals');
    this.#handle = handle;
  }

  get allowed() {
    return false;
  }

  get status() {
    return this.#told.status;
  }

  get rule() {
    return this.#told.rule;
  }

  get key() {
    return this.#told.key ?? null;
  }

  get limit() {
    return this.#told.limit;
  }

  get remaining() {
    return this.#told.remaining;
  }

  get quota() {
    return this.#told.quota ?? null;
  }

  get quotas() {
    return this.#told.quotas;
  }

  get retryAfterMs() {
    return this.#told.retryAfterMs ?? null;
  }

  get inFlight() {
    return this.#told.inFlight;
  }

  get waiting() {
    return this.#told.waiting;
  }

  get elapsedMs() {
    return this.#told.elapsedMs;
  }

  get timeoutMs() {
    return this.#told.timeoutMs;
  }

  headers(options = undefined) {
    const isAsked = isLegacy(options);
    const { retryAfter, rateLimit, legacy } = attempt(() => native.refusalHeaders(this.#handle));
    const headers = headersOf(rateLimit, isAsked ? legacy : undefined);
    return retryAfter === undefined ? headers : { 'Retry-After': String(retryAfter), ...headers };
  }

  problem() {
    return attempt(() => native.refusalProblem(this.#handle));
  }

  toString() {
    return this.#told.message;
  }

  toJSON() {
    const { message, ...figures } = this.#told;
    return { ...figures, message };
  }

  /** The figures, which most who are told of a refusal never look at. */
  get #told() {
    this.#figures ??= attempt(() => native.refusalFigures(this.#handle));
    return this.#figures;
  }

  static {
    if (Symbol.dispose) {
      // So that `using entry = gate.tryEnter(request)` is right whatever it is.
      Object.defineProperty(Refusal.prototype, Symbol.dispose, {
        value: function dispose() {},
        configurable: true,
        writable: true,
      });
    }
  }
}

printsAsText(Refusal);

/**
 * The headers of a response, by their names: those of the IETF draft, with a line break between them, and the older ones, unless they are
 * undefined.
 */
function headersOf(rateLimit, legacy) {
  const headers = {};
  if (rateLimit !== undefined) {
    const end = rateLimit.indexOf('\n');
    headers['RateLimit-Policy'] = rateLimit.slice(0, end);
    headers.RateLimit = rateLimit.slice(end + 1);
  }
  if (legacy) {
    const { limit, remaining, resetMs } = legacy;
    headers['X-RateLimit-Limit'] = String(limit);
    headers['X-RateLimit-Remaining'] = String(remaining);
    if (resetMs !== undefined) headers['X-RateLimit-Reset'] = String(Math.ceil((Date.now() + resetMs) / 1e3));
  }
  return headers;
}

/** Whether the older headers are asked for, too. */
function isLegacy(options) {
  return options !== undefined && boolean('legacy', checked(options, ['legacy']).legacy ?? false);
}

const refusal = (handle) => new Refusal(OURS, handle);

/** The error of a refusal, which bears its figures. */
function refusedError(refused) {
  const error = new RefusedError(`refused: ${refused}`);
  const { status, rule, key, limit, remaining, retryAfterMs, inFlight, waiting, elapsedMs, timeoutMs } = refused;
  const figures = { status, rule, key, limit, remaining, retryAfterMs, inFlight, waiting, elapsedMs, timeoutMs };
  Object.defineProperty(error, 'refusal', { value: refused, configurable: true, writable: true });
  return Object.assign(error, figures);
}

/** All that is wrong with rules; nothing was changed. */
class RulesError extends TidegateError {
  constructor(message, faults = [], options = undefined) {
    super(message, 'ERR_TIDEGATE_RULES', options);
    this.faults = faults;
  }

  static {
    Object.defineProperty(RulesError.prototype, 'name', { value: 'RulesError', configurable: true, writable: true });
  }
}

/** The error of faults that the native library tells, or undefined if it tells something else. Of objects, lines mean nothing. */
function rulesError(told, isWithoutLines = false) {
  if (!Array.isArray(told)) return undefined;
  const faults = isWithoutLines ? told.map(withoutLine) : told;
  return new RulesError(faults.map(({ message }) => message).join('\n'), faults);
}

function withoutLine({ line, message, ...fault }) {
  return { message: message.replace(`line ${line}: `, ''), ...fault };
}

module.exports = { Refusal, RulesError, headersOf, isLegacy, refusal, refusedError, rulesError };
