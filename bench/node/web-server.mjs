// Express that says hello, in a process of its own, as services have it: the engine knows the requests of several applications in one
// process less well. What is in front of it is the first argument, its budget for each client a minute the second. Tells its port.

import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { gateMiddleware } from '../../node/express.js';
import { Gate } from '../../node/index.mjs';

const [, , subject, limit] = process.argv;

/** Those of tidegate and its peer say what is left: in the two headers of the IETF draft, and by default in three of the peer's. */
const middleware = {
  tidegate: () => gateMiddleware(new Gate([{ name: 'all', key: 'client', quota: `${limit}/min` }])),
  'express-rate-limit': () => rateLimit({ limit: Number(limit), windowMs: 60_000 }),
  'Express alone': undefined,
  'Express and an empty layer': () => (_request, _response, next) => next(),
  'Express and two constant headers': () => (_request, response, next) => {
    response.setHeader('RateLimit-Policy', `"all";q=1000000000;w=60`);
    response.setHeader('RateLimit', `"all";r=999999999;t=1`);
    next();
  },
};

const app = express();
if (middleware[subject]) app.use(middleware[subject]());
app.get('/', (_, response) => response.send('hello'));
const server = app.listen(0, '127.0.0.1', () => process.send(server.address().port));
// With whom it was started for.
process.on('disconnect', () => process.exit());
