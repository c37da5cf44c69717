'use strict';
// Runs vector files on this package and prints their transcripts (docs/design.md, section 12, "Vectors").
// usage: node conformance-driver.cjs FILE...

const { readFileSync } = require('node:fs');
const path = require('node:path');
const { ConcurrencyLimiter, ManualClock, NEVER_NS, Quota, RateLimiter, TidegateError } = require('tidegate');

/** The arguments that go by another name here. */
const ARGUMENTS = { periodNs: 'period' };

/** The objects of one script. */
class Script {
  clock = new ManualClock();
  limiters = new Map();
  /** Decisions and permits by name; a refused permit is null. */
  kept = new Map();
  /** Permits without a name, which are not to be collected while the script runs. */
  nameless = [];

  /** What one command prints after its line's number. */
  run(verb, words) {
    try {
      return commands[verb].call(this, words[0], words.slice(1), fieldsOf(words.slice(1)));
    } catch (error) {
      if (error instanceof TidegateError && error.argument) return `error ${argumentOf(error)}`;
      throw error;
    }
  }

  find(map, name) {
    if (!map.has(name)) throw new Error(`nothing is named ${name}`);
    return map.get(name);
  }

  limiter(name) {
    return this.find(this.limiters, name);
  }
}

const commands = {
  parse(text) {
    return `ok ${Quota.parseList(textOf(text)).join('; ')}`;
  },
  rate(name, words) {
    this.limiters.set(name, new RateLimiter(quotasOf(words), { clock: this.clock }));
    return 'ok';
  },
  conc(name, _words, { limit, track_hold_time }) {
    const options = { trackHoldTime: track_hold_time === '1', clock: this.clock };
    this.limiters.set(name, new ConcurrencyLimiter(Number(limit), options));
    return 'ok';
  },
  advance(ns) {
    this.clock.advanceNs(BigInt(ns));
    return 'ok';
  },
  set_clock(ns) {
    this.clock.setNs(BigInt(ns));
    return 'ok';
  },
  try(name, _words, { cost = '1', as }) {
    const limiter = this.limiter(name);
    const answer = limiter.tryAcquire(Number(cost));
    if (limiter instanceof ConcurrencyLimiter) {
      if (as === undefined) this.nameless.push(answer);
      else this.kept.set(as, answer);
    }
    return answer ? 'allowed' : 'refused';
  },
  decide(name, _words, { cost = '1', as }) {
    const decision = this.limiter(name).decide(Number(cost));
    if (as !== undefined) this.kept.set(as, decision);
    return shown(decision);
  },
  peek(name, _words, { cost = '1' }) {
    return shown(this.limiter(name).peek(Number(cost)));
  },
  refund(name, [kept]) {
    this.limiter(name).refund(this.find(this.kept, kept));
    return 'ok';
  },
  release(kept, [outcome]) {
    const permit = this.find(this.kept, kept);
    if (permit === null) return 'error permit';
    permit.release(outcome !== 'failed');
    return 'ok';
  },
  reset(name) {
    this.limiter(name).reset();
    return 'ok';
  },
  reconfigure(name, words) {
    this.limiter(name).reconfigure(quotasOf(words));
    return 'ok';
  },
  limit(name, [limit]) {
    this.limiter(name).limit = Number(limit);
    return 'ok';
  },
  stats(name) {
    const stats = this.limiter(name).stats();
    const figures = this.limiter(name) instanceof ConcurrencyLimiter ? CONCURRENCY_FIGURES : RATE_FIGURES;
    const known = Object.entries(figures).filter(([figure]) => stats[figure] !== undefined);
    return ['ok', ...known.map(([figure, field]) => `${field}=${stats[figure]}`)].join(' ');
  },
};

const RATE_FIGURES = { allowed: 'allowed', denied: 'denied' };
const CONCURRENCY_FIGURES = {
  limit: 'limit',
  inFlight: 'in_flight',
  available: 'available',
  allowed: 'allowed',
  denied: 'denied',
  releasedOk: 'released_ok',
  releasedFailed: 'released_failed',
  holdTimeTotalNs: 'hold_total',
  holdTimeMaxNs: 'hold_max',
};

/** The argument that was wrong, as the vectors call it: they don't say where in a list it is. */
function argumentOf({ argument }) {
  const name = argument.replace(/^quotas\[\d+\]\.?/, '') || 'quota';
  return ARGUMENTS[name] ?? name;
}

function fieldsOf(words) {
  return Object.fromEntries(words.filter((word) => word.includes('=')).map((word) => word.split(/=(.*)/s, 2)));
}

function textOf(word) {
  return decodeURIComponent(word.replace('text=', ''));
}

/** `limit= per= [burst= algorithm= anchor=] [+ …]`, or `text=`. */
function quotasOf(words) {
  if (words[0].startsWith('text=')) return textOf(words[0]);
  const quotas = words.join(' ').split(' + ');
  return quotas.map((quota) => {
    const { limit, per, burst, ...named } = fieldsOf(quota.split(' '));
    return { limit: Number(limit), periodNs: BigInt(per), burst: burst && Number(burst), ...named };
  });
}

function shown({ status, limit, remaining, retryAfterNs, resetAfterNs, quota }) {
  const retryAfter = retryAfterNs === NEVER_NS ? 'never' : retryAfterNs;
  const figures = `limit=${limit} remaining=${remaining} retry_after=${retryAfter} reset_after=${resetAfterNs}`;
  return `${status} ${figures} quota=${quota}`;
}

function transcriptOf(file) {
  const lines = [`file ${path.basename(file)}`];
  let script;
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const [verb, ...words] = line.trim().split(/ +/);
    if (verb === '' || verb.startsWith('#')) continue;
    if (verb === 'script') {
      script = new Script();
      lines.push(line.trim());
    } else {
      lines.push(`${index + 1} ${script.run(verb, words)}`);
    }
  }
  return lines;
}

for (const file of process.argv.slice(2)) console.log(transcriptOf(file).join('\n'));
