'use strict';
// Runs vector files on this package and prints their transcripts (docs/design.md, section 12, "Vectors").
// usage: node conformance-driver.cjs FILE...

const { readFileSync } = require('node:fs');
const path = require('node:path');
const {
  ConcurrencyLimiter,
  KeyedConcurrencyLimiter,
  KeyedRateLimiter,
  ManualClock,
  NEVER_NS,
  Quota,
  RateLimiter,
  TidegateError,
  ipKey,
  keyOf,
} = require('tidegate');

/** The arguments that go by another name here. */
const ARGUMENTS = {
  periodNs: 'period',
  maxKeys: 'max_keys',
  whenFull: 'when_full',
  trackDenied: 'track_denied',
  maxWaiters: 'max_waiters',
};

/** What waits come to, by the codes of errors. */
const OUTCOMES = {
  ERR_TIDEGATE_TIMED_OUT: 'timed_out',
  ERR_TIDEGATE_QUEUE_FULL: 'queue_full',
  ERR_TIDEGATE_EXCEEDS_CAPACITY: 'exceeds_capacity',
  ERR_TIDEGATE_CLOSED: 'closed',
};

/** After all promises that can settle have. */
const turn = () => new Promise(setImmediate);

/** The objects of one script. */
class Script {
  clock = new ManualClock();
  limiters = new Map();
  /** Decisions and permits by name; a refused permit is null. */
  kept = new Map();
  /** Waits by name: how to abort them, and what came of them. */
  waits = new Map();
  /** Permits without a name, which are not to be collected while the script runs. */
  nameless = [];

  /** What one command prints after its line's number, and a line for each wait that it ended. */
  async run(verb, words) {
    const pending = [...this.waits.keys()].filter((name) => this.waits.get(name).outcome === undefined);
    const lines = [await this.answer(verb, words)];
    if (pending.length > 0) await turn();
    const ended = pending.filter((name) => this.waits.get(name).outcome !== undefined);
    for (const name of ended.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
      const { outcome } = this.waits.get(name);
      if (outcome !== 'cancelled') lines.push(`${name} ${outcome}`);
    }
    return lines;
  }

  async answer(verb, words) {
    try {
      return await commands[verb].call(this, words[0], words.slice(1), fieldsOf(words.slice(1)));
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

  /** The limiter, and what its methods take before all else: its key, if it is keyed. */
  target(name, { key }) {
    const limiter = this.limiter(name);
    if (isKeyed(limiter) !== (key !== undefined))
      throw new Error(`${name} is keyed, and no key is given, or the reverse`);
    return [limiter, key === undefined ? [] : [bytesOf(key)]];
  }
}

const commands = {
  parse(text) {
    return `ok ${Quota.parseList(textOf(text)).join('; ')}`;
  },
  rate(name, words) {
    const { max_keys, when_full, track_denied, max_waiters } = fieldsOf(words);
    const quotas = quotasOf(words.filter((word) => !/^(max_keys|when_full|track_denied|max_waiters)=/.test(word)));
    const options = { clock: this.clock, maxWaiters: max_waiters && Number(max_waiters) };
    const keyed = {
      maxKeys: max_keys && Number(max_keys),
      whenFull: when_full,
      trackDenied: track_denied && Number(track_denied),
    };
    const limiter =
      max_keys === undefined
        ? new RateLimiter(quotas, options)
        : new KeyedRateLimiter(quotas, { ...options, ...keyed });
    this.limiters.set(name, limiter);
    return 'ok';
  },
  conc(name, _words, { limit, max_keys, track_hold_time, max_waiters }) {
    const options = {
      trackHoldTime: track_hold_time === '1',
      clock: this.clock,
      maxWaiters: max_waiters && Number(max_waiters),
    };
    const limiter =
      max_keys === undefined
        ? new ConcurrencyLimiter(Number(limit), options)
        : new KeyedConcurrencyLimiter(Number(limit), { ...options, maxKeys: Number(max_keys) });
    this.limiters.set(name, limiter);
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
  try(name, _words, { cost = '1', as, ...fields }) {
    const [limiter, key] = this.target(name, fields);
    const answer = limiter.tryAcquire(...key, Number(cost));
    if (typeof answer !== 'boolean') {
      if (as === undefined) this.nameless.push(answer);
      else this.kept.set(as, answer);
    }
    return answer ? 'allowed' : 'refused';
  },
  many(name, _words, { keys, cost = '1' }) {
    const allowed = this.limiter(name).tryAcquireMany(keys.split(',').map(bytesOf), Number(cost));
    return `ok ${allowed.map((one) => (one ? 'allowed' : 'refused')).join(',')}`;
  },
  decide(name, _words, { cost = '1', as, ...fields }) {
    const [limiter, key] = this.target(name, fields);
    const decision = limiter.decide(...key, Number(cost));
    if (as !== undefined) this.kept.set(as, decision);
    return shown(decision);
  },
  peek(name, _words, { cost = '1', ...fields }) {
    const [limiter, key] = this.target(name, fields);
    return shown(limiter.peek(...key, Number(cost)));
  },
  refund(name, [kept], fields) {
    const [limiter, key] = this.target(name, fields);
    limiter.refund(...key, this.find(this.kept, kept));
    return 'ok';
  },
  release(kept, [outcome]) {
    const permit = this.find(this.kept, kept);
    if (permit === null) return 'error permit';
    permit.release(outcome !== 'failed');
    return 'ok';
  },
  reset(name, _words, fields) {
    const [limiter, key] = this.target(name, fields);
    limiter.reset(...key);
    return 'ok';
  },
  reconfigure(name, words) {
    this.limiter(name).reconfigure(quotasOf(words));
    return 'ok';
  },
  quota(name, [key, ...words]) {
    this.limiter(name).setQuota(bytesOf(key.replace('key=', '')), quotasOf(words));
    return 'ok';
  },
  clear(name, _words, { key }) {
    this.limiter(name).clearQuota(bytesOf(key));
    return 'ok';
  },
  top(name, _words, { n }) {
    const top = this.limiter(name).topDenied(Number(n));
    return ['ok', ...top.map(({ key, count, error }) => `${key.toString('hex')}:${count}:${error}`)].join(' ');
  },
  async wait(name, [target], { cost = '1', timeout, ...fields }) {
    const [limiter, key] = this.target(target, fields);
    const controller = new AbortController();
    const timeoutMs = timeout && Number(timeout) / 1e6;
    const wait = { controller, outcome: undefined };
    this.waits.set(name, wait);
    const promise = limiter.acquire(...key, Number(cost), { timeoutMs, signal: controller.signal });
    promise.then(
      (permit) => {
        wait.outcome = 'granted';
        if (permit !== undefined) this.kept.set(name, permit);
      },
      (error) => {
        wait.error = error;
        wait.outcome = error === controller.signal.reason ? 'cancelled' : OUTCOMES[error.code];
      },
    );
    await turn();
    if (wait.error?.argument) throw wait.error;
    return wait.outcome ?? 'pending';
  },
  async cancel(name) {
    const wait = this.find(this.waits, name);
    if (wait.outcome !== undefined) return 'too_late';
    wait.controller.abort(new Error('cancelled'));
    await turn();
    return wait.outcome === 'cancelled' ? 'cancelled' : 'too_late';
  },
  close(name) {
    this.limiter(name).close();
    return 'ok';
  },
  waiting(name) {
    const { waiting, timedOut, cancelled } = this.limiter(name).stats();
    return `ok waiting=${waiting} timed_out=${timedOut} cancelled=${cancelled}`;
  },
  reserve(name, _words, { cost = '1', max_wait, as, ...fields }) {
    const [limiter, key] = this.target(name, fields);
    try {
      const reservation = limiter.reserve(...key, Number(cost), { maxWaitMs: max_wait && Number(max_wait) / 1e6 });
      if (as !== undefined) this.kept.set(as, { limiter, key: fields.key, reservation });
      return `granted wait=${reservation.waitNs}`;
    } catch (error) {
      if (error.argument || !OUTCOMES[error.code]) throw error;
      return OUTCOMES[error.code];
    }
  },
  unreserve(name, [kept], fields) {
    const { limiter, key, reservation } = this.find(this.kept, kept);
    this.kept.delete(kept);
    // A reservation knows its limiter and key here: another's can't be given to one.
    if (limiter !== this.target(name, fields)[0] || key !== fields.key) return 'error reservation';
    return reservation.cancel() ? 'credited' : 'not_credited';
  },
  limit(name, [limit]) {
    this.limiter(name).limit = Number(limit);
    return 'ok';
  },
  in_flight(name, _words, fields) {
    const [limiter, key] = this.target(name, fields);
    return `ok ${limiter.inFlight(...key)}`;
  },
  key(parts) {
    const { parts: encoded } = fieldsOf([parts]);
    return `ok ${Buffer.from(keyOf(...encoded.split(',').map(bytesOf))).toString('hex')}`;
  },
  ip(address, words) {
    const { address: encoded, prefix } = fieldsOf([address, ...words]);
    const key = ipKey(decodeURIComponent(encoded), { prefix: prefix && Number(prefix) });
    return `ok ${Buffer.from(key).toString('hex')}`;
  },
  stats(name) {
    const limiter = this.limiter(name);
    const stats = limiter.stats();
    const figures = FIGURES.get(limiter.constructor);
    const known = Object.entries(figures).filter(([figure]) => stats[figure] !== undefined);
    return ['ok', ...known.map(([figure, field]) => `${field}=${stats[figure]}`)].join(' ');
  },
};

const KEYED_RATE_FIGURES = { allowed: 'allowed', denied: 'denied', evictedLive: 'evicted_live', capacity: 'capacity' };
const KEYED_CONCURRENCY_FIGURES = {
  limit: 'limit',
  allowed: 'allowed',
  denied: 'denied',
  releasedOk: 'released_ok',
  releasedFailed: 'released_failed',
  capacity: 'capacity',
  holdTimeTotalNs: 'hold_total',
  holdTimeMaxNs: 'hold_max',
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

const FIGURES = new Map([
  [RateLimiter, RATE_FIGURES],
  [ConcurrencyLimiter, CONCURRENCY_FIGURES],
  [KeyedRateLimiter, KEYED_RATE_FIGURES],
  [KeyedConcurrencyLimiter, KEYED_CONCURRENCY_FIGURES],
]);

function isKeyed(limiter) {
  return limiter instanceof KeyedRateLimiter || limiter instanceof KeyedConcurrencyLimiter;
}

/** The argument that was wrong, as the vectors call it: they don't say where in a list it is. */
function argumentOf({ argument }) {
  const name = argument.replace(/^quotas\[\d+\]\.?/, '') || 'quota';
  return ARGUMENTS[name] ?? name;
}

function fieldsOf(words) {
  return Object.fromEntries(words.filter((word) => word.includes('=')).map((word) => word.split(/=(.*)/s, 2)));
}

/** A key: any bytes, percent-encoded. As a string where they are one, so that both kinds are read. */
function bytesOf(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return Buffer.from(
      word.replace(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    );
  }
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

async function transcriptOf(file) {
  const lines = [`file ${path.basename(file)}`];
  let script;
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const [verb, ...words] = line.trim().split(/ +/);
    if (verb === '' || verb.startsWith('#')) continue;
    if (verb === 'script') {
      script = new Script();
      lines.push(line.trim());
    } else {
      for (const line of await script.run(verb, words)) lines.push(`${index + 1} ${line}`);
    }
  }
  return lines;
}

async function main() {
  for (const file of process.argv.slice(2)) console.log((await transcriptOf(file)).join('\n'));
}

main();
