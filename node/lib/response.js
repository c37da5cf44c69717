'use strict';

/**
 * The requests of a connection whose responses have yet to come to it, since others are before them (HTTP pipelining): to such a response
 * Node tells nothing when the connection closes. By socket.
 */
const queued = new WeakMap();

/** Calls `over` when a response is finished or its connection is closed; perhaps twice. */
function whenOver(request, response, over) {
  response.on('close', over);
  // In HTTP/2, responses have a socket from the start.
  if (response.socket !== null) return;
  const { socket } = request;
  let all = queued.get(socket);
  if (all === undefined) {
    all = new Set();
    queued.set(socket, all);
    socket.once('close', () => {
      for (const one of all) one();
    });
  }
  all.add(over);
  response.on('close', () => all.delete(over));
}

const PROBLEM = 'application/problem+json';

/** Answers a refusal. */
function refuse(response, refusal, headers) {
  response.statusCode = 429;
  setHeaders(response, headers);
  response.setHeader('Content-Type', PROBLEM);
  response.end(refusal.problem());
}

function setHeaders(response, headers) {
  // Looked up once: each response of Express has a map of its own, so that compiled code can't know where it is.
  const { setHeader } = response;
  for (const name in headers) setHeader.call(response, name, headers[name]);
}

module.exports = { PROBLEM, refuse, setHeaders, whenOver };
