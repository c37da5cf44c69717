'use strict';

const { MOST, oneOf, periodFromMs, periodFromNs, record, whole } = require('./arguments.js');
const { at, attempt, misconfigured, wrongType } = require('./errors.js');
const native = require('./native.js');
const { toJson } = require('./printing.js');

const PARTS = ['limit', 'perMs', 'periodNs', 'burst', 'algorithm', 'anchor'];
const ALGORITHMS = ['gcra', 'fixed_window', 'sliding_window', 'sliding_log'];
const ANCHORS = ['first', 'clock'];
const FORMS = "a Quota, its text such as '100/s', or { limit, perMs, burst }";

/** Whether an object is a Quota, not just one that has the prototype of one. */
let isQuota;

class Quota {
  #text;

  constructor(quota) {
    const exact = typeof quota === 'string' ? read(quota) : readParts(quota);
    this.#text = exact.text;
    this.limit = exact.limit;
    this.perMs = Number(exact.periodNs) / 1e6;
    this.periodNs = exact.periodNs;
    this.burst = exact.burst;
    this.algorithm = exact.algorithm;
    this.anchor = exact.anchor;
    Object.freeze(this);
  }

  static parse(text) {
    return new Quota(requireText(text));
  }

  static parseList(text) {
    requireText(text);
    return attempt(() => native.parseQuotas(text)).map((exact) => new Quota(exact.text));
  }

  toString() {
    return this.#text;
  }

  toJSON() {
    return toJson(this);
  }

  static {
    isQuota = (value) => #text in value;
  }
}

function requireText(text) {
  if (typeof text !== 'string') throw wrongType('text', text, "a string such as '100/s' or '5 per 30s'");
  return text;
}

const read = (text) => attempt(() => native.parseQuota(text));

/** A quota that is given by its parts. It goes through its text, which the core reads and checks. */
function readParts(quota) {
  if (quota === null || typeof quota !== 'object' || Array.isArray(quota)) throw wrongType('quota', quota, FORMS);
  if (isQuota(quota)) return read(quota.toString());
  if (quota instanceof Quota) throw wrongType('quota', quota, FORMS);
  const { limit, burst, algorithm = 'gcra', anchor = 'first' } = record('quota', quota, PARTS);
  const words = [`${whole('limit', limit, 0, MOST, misconfigured)}/${periodOf(quota)}ns`];
  if (burst !== undefined) words.push(`burst ${whole('burst', burst, 1, MOST, misconfigured)}`);
  words.push(oneOf('algorithm', algorithm, ALGORITHMS), `anchor ${oneOf('anchor', anchor, ANCHORS)}`);
  try {
    return read(words.join(' '));
  } catch (error) {
    if (error.argument !== 'period') throw error;
    const [name, value] = quota.periodNs === undefined ? ['perMs', quota.perMs] : ['periodNs', quota.periodNs];
    throw misconfigured(name, value, error.allowed);
  }
}

function periodOf({ perMs, periodNs }) {
  if (periodNs === undefined) return periodFromMs('perMs', perMs);
  if (perMs !== undefined) throw misconfigured('perMs', perMs, 'undefined where periodNs is given');
  return periodFromNs('periodNs', periodNs);
}

/** Whatever a rate limiter may be built from, as a list of quotas. */
function quotasOf(quotas) {
  if (typeof quotas === 'string') return Quota.parseList(quotas);
  if (Array.isArray(quotas)) {
    return Array.from(quotas, (quota, index) => at(`quotas[${index}]`, () => new Quota(quota)));
  }
  if (quotas === null || typeof quotas !== 'object') throw wrongType('quotas', quotas, `${FORMS}, or a list of these`);
  return [new Quota(quotas)];
}

module.exports = { Quota, quotasOf };
