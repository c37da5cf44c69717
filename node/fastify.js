'use strict';

const { PROBLEM } = require('./lib/response.js');
const { Door, Visit } = require('./lib/web.js');

function gatePlugin(fastify, { gate, prefix: _, ...options }, done) {
  const door = new Door(gate, options);
  fastify.addHook('onRequest', (request, reply, next) => {
    door.pass(new FastifyVisit(request, reply, next));
  });
  done();
}

// For the whole instance that it is registered with, not for a context of its own.
gatePlugin[Symbol.for('skip-override')] = true;
gatePlugin[Symbol.for('fastify.display-name')] = 'tidegate';
gatePlugin[Symbol.for('plugin-meta')] = { name: 'tidegate', fastify: '>=4' };

class FastifyVisit extends Visit {
  constructor(request, reply, next) {
    super(request.raw, reply.raw, request);
    this.reply = reply;
    this.next = next;
  }

  go(headers) {
    this.reply.headers(headers);
    this.next();
  }

  refuse(refusal, headers) {
    this.reply.code(429).headers(headers).type(PROBLEM).send(refusal.problem());
  }

  fail(error) {
    this.next(error);
  }
}

module.exports = { gatePlugin };
