'use strict';

const { refuse, setHeaders } = require('./lib/response.js');
const { Door, Visit, pathOf } = require('./lib/web.js');

function gateMiddleware(gate, options = {}) {
  const door = new Door(gate, options);
  return function passGate(request, response, next) {
    door.pass(new ExpressVisit(request, response, next));
  };
}

class ExpressVisit extends Visit {
  constructor(request, response, next) {
    super(request, response, request);
    this.next = next;
  }

  /** Unless told to be strict, the router takes a path with a slash behind it for the same. */
  path() {
    const path = pathOf(this.request.originalUrl ?? this.request.url);
    const isLoose = path.length > 1 && path.endsWith('/') && !this.request.app?.enabled('strict routing');
    return isLoose ? path.slice(0, -1) : path;
  }

  go(headers) {
    setHeaders(this.response, headers);
    this.next();
  }

  refuse(refusal, headers) {
    refuse(this.response, refusal, headers);
  }

  fail(error) {
    this.next(error);
  }
}

module.exports = { gateMiddleware };
