'use strict';

const { callable } = require('./lib/arguments.js');
const { refuse, setHeaders } = require('./lib/response.js');
const { Door, Visit } = require('./lib/web.js');

function gateHandler(gate, handler, options = {}) {
  const door = new Door(gate, options);
  callable('handler', handler);
  return function passGate(request, response) {
    return door.pass(new HttpVisit(request, response, () => handler.call(this, request, response)));
  };
}

class HttpVisit extends Visit {
  constructor(request, response, handle) {
    super(request, response, request);
    this.handle = handle;
  }

  /** A handler that fails perhaps never ends its response. */
  go(headers) {
    setHeaders(this.response, headers);
    try {
      const result = this.handle();
      return typeof result?.then === 'function' ? result.then(undefined, (error) => this.#failed(error)) : result;
    } catch (error) {
      return this.#failed(error);
    }
  }

  refuse(refusal, headers) {
    refuse(this.response, refusal, headers);
  }

  fail(error) {
    throw error;
  }

  #failed(error) {
    this.leave(false);
    throw error;
  }
}

module.exports = { gateHandler };
