'use strict';

const { refuse, setHeaders } = require('./lib/response.js');
const { Door } = require('./lib/web.js');

function gateMiddleware(gate, options = {}) {
  const door = new Door(gate, options);
  return function passGate(request, response, next) {
    door.pass(request, response, request, request.originalUrl ?? request.url, {
      go(_, headers) {
        if (headers) setHeaders(response, headers);
        next();
      },
      refuse: (refusal, headers) => refuse(response, refusal, headers),
      fail: next,
    });
  };
}

module.exports = { gateMiddleware };
