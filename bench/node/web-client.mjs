// Asks a server as fast as it answers, on some connections at once. It does no more than it must: what it takes is taken from the server.

import net from 'node:net';
import { parentPort } from 'node:worker_threads';

const connections = 16;
const request = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';
const end = Buffer.from('\r\n\r\n');

/** One connection, which asks again when it has its answer. Resolves with how many answers were 200. */
function asks(port, takesOne) {
  return new Promise((resolve, reject) => {
    let admitted = 0;
    const socket = net.connect(port, '127.0.0.1');
    const ask = () => {
      if (takesOne()) socket.write(request);
      else {
        socket.destroy();
        resolve(admitted);
      }
    };
    let received = Buffer.alloc(0);
    socket.on('connect', ask).on('error', reject);
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const headers = received.indexOf(end);
      if (headers < 0) return;
      const head = received.latin1Slice(0, headers);
      const length = Number(/content-length: (\d+)/i.exec(head)[1]);
      if (received.length < headers + end.length + length) return;
      if (head.startsWith('HTTP/1.1 200')) admitted += 1;
      received = Buffer.alloc(0);
      ask();
    });
  });
}

parentPort.on('message', async ({ port, calls }) => {
  let left = calls;
  const takesOne = () => left-- > 0;
  const admitted = await Promise.all(Array.from({ length: connections }, () => asks(port, takesOne)));
  parentPort.postMessage(admitted.reduce((sum, one) => sum + one));
});
