'use strict';

const { refuse, setHeaders } = require('./lib/response.js');
const { Door, Visit } = require('./lib/web.js');

function gateMiddleware(gate, options = {}) {
  const door = new Door(gate, options);
  return function passGate(request, response, next) {
    door.pass(new ExpressVisit(request, response, next));
  };
}

class ExpressVisit extends Visit {
  constructor(request, response, next) {
    super(request, response, request, request.originalUrl ?? request.url);
    this.next = next;
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
