'use strict';

const { PROBLEM } = require('./lib/response.js');
const { Door } = require('./lib/web.js');

function gatePlugin(fastify, { gate, prefix: _, ...options }, done) {
  const door = new Door(gate, options);
  fastify.addHook('onRequest', (request, reply, next) => {
    door.pass(request.raw, reply.raw, request, request.raw.url, {
      go(_, headers) {
        if (headers) reply.headers(headers);
        next();
      },
      refuse(refusal, headers) {
        reply.code(429).headers(headers).type(PROBLEM).send(refusal.problem());
      },
      fail: next,
    });
  });
  done();
}

// For the whole instance that it is registered with, not for a context of its own.
gatePlugin[Symbol.for('skip-override')] = true;
gatePlugin[Symbol.for('fastify.display-name')] = 'tidegate';
gatePlugin[Symbol.for('plugin-meta')] = { name: 'tidegate', fastify: '>=4' };

module.exports = { gatePlugin };
