// Hot calls from Node: 1000 of each, then as many more of each as is said. usage: calls.cjs CALL=TIMES...
'use strict';

const { Gate, KeyedRateLimiter, ManualClock, RateLimiter } = require('../../node/index.js');
const { turnstileOf } = require('../../node/lib/gate.js');

const clock = new ManualClock();
const rate = new RateLimiter('1000000/s', { clock });
const keyed = new KeyedRateLimiter('1000000/s', { maxKeys: 64_000, clock });
const gate = new Gate([{ name: 'all', key: 'client', quota: '1000000/s', max_keys: 64_000 }], { clock });
const keys = Array.from({ length: 1000 }, (_, number) => `client-${number}`);

const loops = {
  gcra_allowed(calls) {
    for (let call = 0; call < calls; call++) rate.tryAcquire();
  },
  keyed_allowed(calls) {
    for (let call = 0; call < calls; call++) keyed.tryAcquire(keys[call % keys.length]);
  },
  // What web middleware does of a request.
  gate_passed(calls) {
    const read = (request, name) => request[name];
    for (let call = 0; call < calls; call++) turnstileOf(gate).pass({ client: keys[call % keys.length] }, read, -1);
  },
};

for (const loop of Object.values(loops)) loop(1000);
for (const argument of process.argv.slice(2)) {
  const [call, times] = argument.split('=');
  loops[call](Number(times));
}
