// Requests through a gate, from tryEnter to release. There is no peer that does the same.

import { Gate } from '../../node/index.mjs';
import { ours, together } from './rounds.mjs';

function oneRule() {
  const gate = new Gate([{ name: 'api', match: { path: { prefix: '/api/' } }, concurrency: 100 }]);
  const loop = (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) {
      const entry = gate.tryEnter({ path: '/api/users/17' });
      if (entry.allowed) {
        admitted += 1;
        entry.release();
      }
    }
    return admitted;
  };
  return { ...ours, calls: 50_000, loop };
}

export async function gate() {
  await together('gate, 1 rule', true, [oneRule()]);
}
