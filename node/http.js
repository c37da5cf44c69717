'use strict';

const { callable } = require('./lib/arguments.js');
const { refuse, setHeaders } = require('./lib/response.js');
const { Door } = require('./lib/web.js');

function gateHandler(gate, handler, options = {}) {
  const door = new Door(gate, options);
  callable('handler', handler);
  return function passGate(request, response) {
    return door.pass(request, response, request, request.url, {
      go: (entry, headers) => {
        if (headers) setHeaders(response, headers);
        return handled(entry, () => handler.call(this, request, response));
      },
      refuse: (refusal, headers) => refuse(response, refusal, headers),
      fail(error) {
        throw error;
      },
    });
  };
}

/** Runs a handler. One that fails perhaps never ends its response. */
function handled(entry, handler) {
  const failed = (error) => {
    if (!entry.released) entry.release(false);
    throw error;
  };
  try {
    const result = handler();
    return typeof result?.then === 'function' ? result.then(undefined, failed) : result;
  } catch (error) {
    return failed(error);
  }
}

module.exports = { gateHandler };
