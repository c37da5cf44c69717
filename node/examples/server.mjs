// An Express service behind a gate, whose rules can be edited while it runs.
//
// npm install tidegate express
// node server.mjs [PORT] [RULES]
// curl -i localhost:8000/search/cats

import { setTimeout } from 'node:timers/promises';
import express from 'express';
import { Gate } from 'tidegate';
import { gateMiddleware } from 'tidegate/express';

const [port = '8000', rules = new URL('rules.toml', import.meta.url)] = process.argv.slice(2);

const gate = Gate.open(rules, { watch: true });
gate.on('reloaded', (reloaded) => console.log(`reloaded: ${JSON.stringify(reloaded)}`));
gate.on('reloadFailed', (error) => console.log(error.message));

const app = express();
app.set('case sensitive routing', true);
app.use(gateMiddleware(gate));

app.get('/search/:what', (request, response) => {
  response.json({ found: request.params.what });
});

app.get('/reports/:number', async (request, response) => {
  await setTimeout(1000);
  response.json({ report: Number(request.params.number) });
});

const server = app.listen(Number(port), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
