import type { ClockOptions } from './clock.js';
import type { RefusedError, TidegateError } from './errors.js';
import type { WaitOptions } from './waiting.js';

/** One text or several, of which any will do. */
export type Texts = string | readonly string[];

/** How the value of an attribute is compared, always as a whole: exactly one of these. */
export type Pattern =
  | { readonly exact: Texts }
  | { readonly prefix: Texts }
  | { readonly glob: Texts }
  | { readonly regex: Texts };

/**
 * A rule, with the names and texts of rule files: which requests it is about, and either `quota` or `concurrency`. All is told in
 * the guide of the gate and in the JSON Schema of rule files.
 */
export interface Rule {
  /** What refusals, events and counters call it. A rule keeps what is used as long as it keeps its name. */
  readonly name: string;
  /** Attributes that a request must have, with values that match. Without any the rule is about every request. */
  readonly match?: { readonly [attribute: string]: Pattern };
  /** The attributes whose values, together, have a budget of their own. */
  readonly key?: Texts;
  /** Quotas that all must admit, such as `100/s burst 20`. */
  readonly quota?: Texts;
  /** How many requests may be inside at once. */
  readonly concurrency?: number;
  /** How long a request may wait, such as `50ms`; or `call`: as long as the call says. */
  readonly timeout?: string;
  readonly max_waiters?: number;
  readonly mode?: 'enforce' | 'shadow' | 'off';
  /** What a request of cost 1 costs here. */
  readonly cost?: number;
  readonly max_keys?: number;
  readonly when_full?: 'evict' | 'deny_new';
  /** Quotas of single keys. */
  readonly overrides?: { readonly [key: string]: Texts };
}

/** Rules as a file holds them. */
export interface Rules {
  /** Whether refusals and events show keys, such as addresses, and not a hash of each. By default false. */
  readonly show_keys?: boolean;
  readonly rules: readonly Rule[];
}

/** How a text of rules is written. */
export type RulesFormat = 'toml' | 'json' | 'yaml';

/** A value of an attribute. Numbers, bigints and booleans count as their text; null and undefined say that it isn't there. */
export type AttributeValue = string | Uint8Array | number | bigint | boolean | null | undefined;

/** A request: attributes such as `path`, `method` and `client`. Those that no rule asks for are not looked at. */
export type GateRequest = { readonly [attribute: string]: AttributeValue };

export interface GateCostOptions {
  /** Multiplies what the rules charge: a whole number from 1 to 2⁵³−1, by default 1. */
  readonly cost?: number | undefined;
}

/** `timeoutMs` bounds the whole wait, and is what rules with `timeout: call` wait for; without it, rules say how long. */
export interface GateEnterOptions extends GateCostOptions, WaitOptions {}

/** Headers of a response, by name; those that would be empty are left out. */
export interface RateLimitHeaders {
  /** Whole seconds; of refusals only, if it is known. */
  'Retry-After'?: string;
  /** Each quota, such as `"search";q=100;w=60`. */
  'RateLimit-Policy'?: string;
  /** What is left, such as `"search";r=50;t=30`. */
  RateLimit?: string;
  'X-RateLimit-Limit'?: string;
  'X-RateLimit-Remaining'?: string;
  /** Seconds since 1970. */
  'X-RateLimit-Reset'?: string;
}

export interface HeaderOptions {
  /** Also the older ones, whose names begin with `X-`. By default false. */
  readonly legacy?: boolean | undefined;
}

/**
 * A request that was admitted, to be released once. What is forgotten is released when it is collected, with a process warning
 * (`TIDEGATE_ENTRY_FORGOTTEN`).
 */
export class Entry {
  private constructor();
  readonly allowed: true;
  /** Whether a rule applies to the request. If not, it holds nothing. */
  readonly applies: boolean;
  readonly status: 'allowed' | 'no_rule';
  /** The names of the rules that gave something; none once it is released. */
  readonly rules: string[];
  /** Whether it was released. */
  readonly released: boolean;
  /** For the response; none once it is released. */
  headers(options?: HeaderOptions): RateLimitHeaders;
  /**
   * Gives the permits back; `ok` tells the statistics whether the work went well.
   * @throws {TidegateError} with the code `ERR_TIDEGATE_ENTRY` if it was released before; nothing changes then
   */
  release(ok?: boolean): void;
  /** Releases what is still held. Where `Symbol.dispose` exists. */
  [Symbol.dispose](): void;
  /** How it stands, such as `Entry(allowed, held)`; so console.log shows it. */
  toString(): string;
}

/** What a refusal tells. */
export interface RefusalFigures {
  readonly status: 'denied' | 'exceeds_capacity' | 'keys_full' | 'timed_out' | 'queue_full';
  /** The rule that refused; of several, the one that has to be waited for longest. */
  readonly rule: string;
  /** Whose budget it is, hashed unless the rules say `show_keys`; null if the rule has no key. */
  readonly key: string | null;
  /** Tokens per period, or permits. */
  readonly limit: number;
  /** Tokens or permits that could be taken. */
  readonly remaining: number;
  /** How long until the request would be admitted, if nobody else asks; Infinity for never, null if others have to leave. */
  readonly retryAfterMs: number | null;
  /** How many are inside, by a limit of permits. */
  readonly inFlight: number;
  /** How many wait. */
  readonly waiting: number;
  /** How long it was waited. */
  readonly elapsedMs: number;
  /** The timeout of the call, if it had one. */
  readonly timeoutMs: number | undefined;
}

/** A request that was refused. Nothing is held. */
export class Refusal implements RefusalFigures {
  private constructor();
  readonly allowed: false;
  readonly status: RefusalFigures['status'];
  readonly rule: string;
  readonly key: string | null;
  readonly limit: number;
  readonly remaining: number;
  /** The quota that refused; null if it was a limit of permits. */
  readonly quota: string | null;
  /** All the rule's quotas. */
  readonly quotas: string[];
  readonly retryAfterMs: number | null;
  readonly inFlight: number;
  readonly waiting: number;
  readonly elapsedMs: number;
  readonly timeoutMs: number | undefined;
  /** For the response, whose status is 429. */
  headers(options?: HeaderOptions): RateLimitHeaders;
  /** The body of the response, JSON of the media type `application/problem+json`. */
  problem(): string;
  /** Nothing: so that `using entry = gate.tryEnter(request)` is right either way. */
  [Symbol.dispose](): void;
  /** All in a line; so console.log shows it. */
  toString(): string;
  /** The figures, with the line as `message`. */
  toJSON(): object;
}

/** One thing that is wrong with rules. */
export interface RuleFault {
  /** `FILE:LINE: rule NAME: ARGUMENT: got VALUE; allowed: WHAT`, without what isn't known. */
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
  /** Its name, or its place, such as `#3`. */
  readonly rule?: string;
  readonly argument: string;
  readonly value: string;
  readonly allowed: string;
}

/** Rules that are wrong, or can't be had. Nothing was changed. The message has a line for each fault. */
export class RulesError extends TidegateError {
  constructor(message?: string, faults?: RuleFault[], options?: { cause?: unknown });
  readonly code: 'ERR_TIDEGATE_RULES';
  readonly faults: RuleFault[];
}

/** What a change of rules did, by name. */
export interface Reloaded {
  readonly unchanged: string[];
  /** Changed; what is used stays used. */
  readonly changed: string[];
  /** Changed so that nothing could be kept. */
  readonly restarted: string[];
  readonly added: string[];
  /** Gone; entries keep what they hold. */
  readonly removed: string[];
}

export interface RuleStats {
  readonly name: string;
  readonly mode: 'enforce' | 'shadow' | 'off';
  /** Requests that were admitted and that it applied to. */
  readonly admitted: number;
  /** Requests that it refused; in shadow, that it would have. */
  readonly refused: number;
  readonly waiting: number;
  readonly timedOut: number;
  readonly cancelled: number;
  /** Of permits, as are the next two; 0 for quotas. */
  readonly limit: number;
  readonly inFlight: number;
  readonly available: number;
  /** Keys that count now, about, as with limiters of keys; 0 without keys. */
  readonly liveKeys: number;
  readonly evictedLive: number;
  readonly capacity: number;
}

export interface GateStats {
  /** Requests that were admitted by a rule. */
  readonly admitted: number;
  readonly refused: number;
  /** Requests to which no rule applied. */
  readonly unmatched: number;
  /** Entries that held permits and whose work went well. */
  readonly releasedOk: number;
  /** Entries that held permits and whose work failed. */
  readonly releasedFailed: number;
  /** Each rule, as they are written. */
  readonly rules: RuleStats[];
}

/** What one rule says to a request. */
export interface RuleTrace {
  readonly rule: string;
  readonly mode: 'enforce' | 'shadow' | 'off';
  /** Whether all its conditions hold. What follows but for them is null if not. */
  readonly matched: boolean;
  readonly conditions: {
    readonly attribute: string;
    readonly mode: 'exact' | 'prefix' | 'glob' | 'regex';
    readonly texts: string[];
    /** Null if the request doesn't have it. */
    readonly value: string | null;
    readonly matched: boolean;
  }[];
  readonly key: string | null;
  readonly status: string | null;
  readonly limit: number | null;
  readonly remaining: number | null;
  /** Null for never, or if others have to leave. */
  readonly retryAfterMs: number | null;
  readonly waiting: number | null;
}

export interface Explanation {
  /** What the request would be told: `allowed`, `no_rule`, or why not. */
  readonly status: string;
  /** Each rule, as they are written. */
  readonly rules: RuleTrace[];
  /** A line for each rule. */
  toString(): string;
}

/** What a gate tells those who listen. */
export interface GateEvents {
  /** A request was refused. */
  refused: (refusal: Refusal) => unknown;
  /** A rule in shadow would have refused a request. */
  shadowRefused: (refusal: Refusal) => unknown;
  /** The rules were changed. */
  reloaded: (reloaded: Reloaded) => unknown;
  /** The rules were to be changed, and are as they were. */
  reloadFailed: (error: TidegateError) => unknown;
}

export interface GateOptions extends ClockOptions {
  /** Of rules that are a text. */
  readonly format?: RulesFormat | undefined;
}

export interface OpenOptions extends ClockOptions {
  /** Watches the file from now on, as {@link Gate.watchFile} does. By default false. */
  readonly watch?: boolean | undefined;
}

export interface PullOptions {
  /** How often, in milliseconds: 10 % sooner or later by chance. */
  readonly everyMs: number;
  /** Of texts that the source gives; by default `json`. */
  readonly format?: RulesFormat | undefined;
}

/** Keeps a gate's rules as a source has them, until it is closed or the gate is gone. */
export interface Watch {
  close(): void;
  /** Closes it. Where `Symbol.dispose` exists. */
  [Symbol.dispose](): void;
}

/**
 * Admits requests by rules, which can be changed while it is in use. All rules that match a request must admit it; if one refuses,
 * nothing is taken.
 *
 * @example
 * const gate = new Gate([{ name: 'search', match: { path: { prefix: '/search' } }, key: 'client', quota: '100/min' }]);
 * const entry = gate.tryEnter({ path: '/search/cats', client: '203.0.113.7' });
 * if (!entry.allowed) console.log(entry.rule, entry.retryAfterMs);
 * else entry.release();
 */
export class Gate {
  /**
   * @param rules as in a file, a list of rules, or a text in `format`; by default none
   * @throws {RulesError} with all that is wrong with them
   */
  constructor(rules?: Rules | readonly Rule[] | string, options?: GateOptions);
  /**
   * A gate with the rules of a file, whose name ends in `.toml`, `.json`, `.yaml` or `.yml`.
   * @throws {RulesError} with all that is wrong with it, or why it can't be read
   */
  static open(path: string | URL, options?: OpenOptions): Gate;
  /** An entry or a refusal, at once, whatever rules say of waiting. */
  tryEnter(request: GateRequest, options?: GateCostOptions): Entry | Refusal;
  /**
   * An entry, for which it waits where rules say so. Nothing keeps the process alive meanwhile.
   * @throws {RefusedError} as a rejection, with the figures of {@link RefusalFigures} and the `refusal`
   */
  enter(request: GateRequest, options?: GateEnterOptions): Promise<Entry>;
  /**
   * Calls `fn` inside; the entry is released when the promise that it returns settles: as ok, or as failed if it rejects or `fn`
   * throws. Calls `fn` at once, before this returns, if nothing is to be waited for.
   */
  run<T>(request: GateRequest, fn: () => T, options?: GateEnterOptions): Promise<Awaited<T>>;
  /**
   * Puts other rules in the place of those in use, from the next request on. Rules of the same name keep what is used.
   * @throws {RulesError} with all that is wrong with them; nothing changes then
   */
  reload(rules: Rules | readonly Rule[]): Reloaded;
  reload(text: string, options: { readonly format: RulesFormat }): Reloaded;
  /** {@link reload} from a file, whose name ends in `.toml`, `.json`, `.yaml` or `.yml`. */
  reloadFile(path: string | URL): Reloaded;
  /**
   * {@link reloadFile}, and again whenever the file changes, also by a rename or a link that leads elsewhere; from a thread of its
   * own, until it is closed or the gate is gone. What is wrong then is told as `reloadFailed`, and the rules stay.
   */
  watchFile(path: string | URL): Watch;
  /**
   * Asks `source` for rules now, and then time and again: as {@link reload} takes them, or undefined for nothing new. What fails is
   * told as `reloadFailed`, once for as long as it is the same, and the rules stay. No request waits for it.
   */
  pull(source: () => PulledRules | PromiseLike<PulledRules>, options: PullOptions): Watch;
  /** What each rule says to a request, and why; spends nothing. */
  explain(request: GateRequest, options?: GateCostOptions): Explanation;
  /** The rules in use, with what they leave out at its default. */
  readonly rules: Rules;
  stats(): GateStats;
  /**
   * Listens from now on. Listeners are called from the event loop, after the fact; what they throw is a process warning
   * (`TIDEGATE_LISTENER_FAILED`). Of events that come faster than they are heard, all but 1,024 are dropped. Keeps nothing alive.
   */
  on<E extends keyof GateEvents>(event: E, listener: GateEvents[E]): this;
  off<E extends keyof GateEvents>(event: E, listener: GateEvents[E]): this;
  /** The names of its rules, such as `Gate(search, downloads)`; so console.log shows it. */
  toString(): string;
}

/** What a source of rules gives. */
export type PulledRules = Rules | readonly Rule[] | string | null | undefined;
