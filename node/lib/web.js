'use strict';

const { isIP } = require('node:net');
const { boolean, callable, options: checked, timeoutNs, whole } = require('./arguments.js');
const { attempt, misconfigured, wrongType } = require('./errors.js');
const { AS_RULES_SAY_NS, Gate, enter } = require('./gate.js');
const native = require('./native.js');
const { whenOver } = require('./response.js');

const OPTIONS = ['attributes', 'trustedHops', 'timeoutMs', 'legacyHeaders'];
const MOST_HOPS = 1_000;
const MAPPED = '::ffff:';
/** Why a wait ends when nobody is there any more. */
const GONE = new Error('the connection was closed');

/** How requests over HTTP get through a gate: what all middleware has in common. */
class Door {
  #gate;
  #attributes;
  #trustedHops;
  #timeoutNs;
  #headers;

  constructor(gate, options = {}) {
    if (!(gate instanceof Gate)) throw wrongType('gate', gate, 'a Gate');
    const { attributes, trustedHops = 0, timeoutMs, legacyHeaders = false } = checked(options, OPTIONS);
    if (attributes !== undefined) callable('attributes', attributes);
    this.#gate = gate;
    this.#attributes = attributes;
    this.#trustedHops = whole('trustedHops', trustedHops, 0, MOST_HOPS, misconfigured);
    this.#timeoutNs = timeoutMs === undefined ? AS_RULES_SAY_NS : timeoutNs(timeoutMs);
    this.#headers = { legacy: boolean('legacyHeaders', legacyHeaders) };
  }

  /**
   * Calls `go(entry)` if a request is admitted, whose entry is then held until its response is over; else `refuse(refusal, headers)`; or
   * `fail(error)`. `request` and `response` are those of node:http, and `asked` is what the `attributes` function gets. Returns what
   * is returned by the one that it calls, or a promise of it.
   */
  pass(request, response, asked, url, { go, refuse, fail }) {
    const answer = (entered) => {
      if (!entered.allowed) return refuse(entered, entered.headers(this.#headers));
      // It waited, and nobody waits for it any more.
      if (response.destroyed) return entered.release();
      whenOver(request, response, () => {
        if (!entered.released) entered.release(!response.errored && response.statusCode < 500);
      });
      return go(entered, entered.applies ? entered.headers(this.#headers) : undefined);
    };
    let entered;
    try {
      entered = enter(
        this.#gate,
        this.#request(request, asked, url),
        1,
        this.#timeoutNs,
        new Hangup(request, response),
      );
    } catch (error) {
      return fail(error);
    }
    if (!(entered instanceof Promise)) return answer(entered);
    return entered.then(answer, (error) => (error === GONE ? undefined : fail(error)));
  }

  #request(request, asked, url) {
    const attributes = { method: request.method, path: pathOf(url), client: this.#client(request) };
    return this.#attributes === undefined ? attributes : { ...attributes, ...this.#attributes(asked) };
  }

  /** The peer; or, by the header, whoever asked the outermost trusted proxy. Only what trusted proxies added counts. */
  #client(request) {
    let address = request.socket.remoteAddress;
    if (this.#trustedHops > 0) {
      const forwarded = request.headers['x-forwarded-for'];
      if (forwarded) address = addressOf(forwarded.split(',').slice(-this.#trustedHops)[0]) ?? address;
    }
    return address?.includes(':') ? clientOf(address) : address;
  }
}

/** As much of an AbortSignal as a wait needs: one for each request would cost more than the gate. */
class Hangup {
  #request;
  #response;
  aborted = false;
  reason = GONE;

  constructor(request, response) {
    this.#request = request;
    this.#response = response;
  }

  addEventListener(_, listener) {
    whenOver(this.#request, this.#response, () => listener.handleEvent());
  }

  /** Who is told too late has nothing to do. */
  removeEventListener() {}
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
function clientOf(address) {
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

module.exports = { Door, pathOf };
