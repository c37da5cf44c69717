'use strict';

const { isIP } = require('node:net');
const { boolean, callable, options: checked, timeoutNs, whole } = require('./arguments.js');
const { text } = require('./entering.js');
const { Entry } = require('./entry.js');
const { attempt, misconfigured, wrongType } = require('./errors.js');
const { AS_RULES_SAY_NS, Gate, turnstileOf } = require('./gate.js');
const native = require('./native.js');
const { Refusal } = require('./refused.js');
const { whenOver } = require('./response.js');

const OPTIONS = ['attributes', 'trustedHops', 'timeoutMs', 'legacyHeaders'];
const MOST_HOPS = 1_000;
const NO_HEADERS = {};
const asItIs = (entered) => entered;
const MAPPED = '::ffff:';
/** Why a wait ends when nobody is there any more. */
const GONE = new Error('the connection was closed');

/** How requests over HTTP get through a gate: what all middleware has in common. */
class Door {
  #turnstile;
  #attributes;
  #trustedHops;
  #timeoutNs;
  /** What headers are asked for besides those of the draft, if any: their figures are an entry's. */
  #headers;

  constructor(gate, options = {}) {
    if (!(gate instanceof Gate)) throw wrongType('gate', gate, 'a Gate');
    const { attributes, trustedHops = 0, timeoutMs, legacyHeaders = false } = checked(options, OPTIONS);
    if (attributes !== undefined) callable('attributes', attributes);
    // Whose watched files end with it.
    this.gate = gate;
    this.#turnstile = turnstileOf(gate);
    this.#attributes = attributes;
    this.#trustedHops = whole('trustedHops', trustedHops, 0, MOST_HOPS, misconfigured);
    this.#timeoutNs = timeoutMs === undefined ? AS_RULES_SAY_NS : timeoutNs(timeoutMs);
    this.#headers = boolean('legacyHeaders', legacyHeaders) ? { legacy: true } : undefined;
  }

  /** Has a visit go on, if it is admitted, be refused, or fail. Returns what it returns, or a promise of it. */
  pass(visit) {
    visit.trustedHops = this.#trustedHops;
    let came;
    try {
      came = this.#ask(visit);
    } catch (error) {
      return visit.fail(error);
    }
    if (!(came instanceof Promise)) return this.#answer(visit, came);
    return came.then(
      (came) => this.#answer(visit, came),
      (error) => (error === GONE ? undefined : visit.fail(error)),
    );
  }

  /** An Entry or a Refusal, or the headers of the response if there would be nothing to release; or a promise of it. */
  #ask(visit) {
    const own = this.#attributes === undefined ? undefined : this.#attributesOf(visit);
    if (this.#headers !== undefined) {
      return this.#turnstile.enter(own ?? new Asked(visit), 1, this.#timeoutNs, visit, asItIs);
    }
    if (own !== undefined) return this.#turnstile.pass(own, text, this.#timeoutNs, visit);
    return this.#turnstile.pass(visit, attributeOf, this.#timeoutNs, visit);
  }

  #answer(visit, came) {
    if (came instanceof Refusal) return visit.refuse(came, came.headers(this.#headers));
    if (!(came instanceof Entry)) return visit.go(came);
    // It waited, and nobody waits for it any more.
    if (visit.response.destroyed) return came.release();
    visit.entry = came;
    whenOver(visit.request, visit.response, () => visit.leave(wentWell(visit.response)));
    return visit.go(came.applies ? came.headers(this.#headers) : NO_HEADERS);
  }

  #attributesOf(visit) {
    const of = (name) => attributeOf(visit, name);
    return { method: of('method'), path: of('path'), client: of('client'), ...this.#attributes(visit.asked) };
  }
}

/** An attribute that every request has, looked up when a rule asks for it. */
function attributeOf(visit, name) {
  switch (name) {
    case 'method':
      return visit.request.method;
    case 'path':
      return visit.path();
    case 'client':
      return clientOf(visit.request, visit.trustedHops);
    default:
      return undefined;
  }
}

/** The same as attributes of a request. */
class Asked {
  #visit;

  constructor(visit) {
    this.#visit = visit;
  }

  get method() {
    return attributeOf(this.#visit, 'method');
  }

  get path() {
    return attributeOf(this.#visit, 'path');
  }

  get client() {
    return attributeOf(this.#visit, 'client');
  }
}

/**
 * A request that comes to a door. `request` and `response` are those of node:http, `asked` is what the `attributes` function gets. How it
 * goes on, each kind says: `go(headers)`, `refuse(refusal, headers)`, `fail(error)`.
 *
 * It is as much of an AbortSignal as a wait needs: one for each request would cost more than the gate.
 */
class Visit {
  constructor(request, response, asked) {
    this.request = request;
    this.response = response;
    this.asked = asked;
    /** As its door has it. */
    this.trustedHops = 0;
    /** What it holds until its response is over. */
    this.entry = undefined;
  }

  get aborted() {
    return false;
  }

  get reason() {
    return GONE;
  }

  /** It is over; perhaps it was before. */
  leave(ok) {
    if (this.entry !== undefined && !this.entry.released) this.entry.release(ok);
  }

  /** As the framework looks it up. */
  path() {
    return pathOf(this.request.url);
  }

  addEventListener(_, listener) {
    whenOver(this.request, this.response, () => listener.handleEvent());
  }

  /** Who is told too late has nothing to do. */
  removeEventListener() {}
}

function wentWell(response) {
  return response.statusCode < 500 && !response.errored;
}

/** The peer; or, by the header, whoever asked the outermost trusted proxy. Only what trusted proxies added counts. */
function clientOf(request, trustedHops) {
  let address = request.socket.remoteAddress;
  if (trustedHops > 0) {
    const forwarded = request.headers['x-forwarded-for'];
    if (forwarded) address = addressOf(forwarded.split(',').slice(-trustedHops)[0]) ?? address;
  }
  return address?.includes(':') ? budgetOf(address) : address;
}

/** The path that a framework would look up: without query, and decoded but for what has a meaning in URLs. */
function pathOf(url) {
  let path = url;
  if (url[0] !== '/') {
    const host = url.indexOf('://');
    const start = host < 0 ? -1 : url.indexOf('/', host + 3);
    if (host >= 0) path = start < 0 ? '/' : url.slice(start);
  }
  const end = path.search(/[?#]/);
  if (end >= 0) path = path.slice(0, end);
  if (!path.includes('%')) return path;
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** An IPv6 address as budgets are kept by: its network, since whoever has one address of it has them all. */
function budgetOf(address) {
  if (address.startsWith(MAPPED) && address.includes('.')) return address.slice(MAPPED.length);
  return attempt(() => native.clientOf(address)) ?? address;
}

/** The address in an entry of X-Forwarded-For, which may have a port; undefined if there is none. */
function addressOf(entry) {
  let address = entry.trim();
  if (address.startsWith('[')) address = address.slice(1).split(']')[0];
  else if (address.split(':').length === 2) address = address.split(':')[0];
  return isIP(address) ? address : undefined;
}

module.exports = { Door, Visit, pathOf };
