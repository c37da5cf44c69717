import type { GateRequest } from './gate.js';

/** How requests over HTTP are told to a gate. They have the attributes `path`, `method` and `client`. */
export interface WebOptions<Request = unknown> {
  /** Further attributes, or others in place of those. */
  attributes?(request: Request): GateRequest;
  /**
   * How many proxies of one's own forward requests. With 0, the default, the client is the peer; with more it is taken from the header
   * `X-Forwarded-For`, so many entries from the right. IPv6 addresses count by their /64, as `2001:db8::/64`.
   */
  readonly trustedHops?: number | undefined;
  /** Bounds each wait, and is what rules with `timeout: call` wait for. By default, rules say how long. */
  readonly timeoutMs?: number | undefined;
  /** Also sends `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`. By default false. */
  readonly legacyHeaders?: boolean | undefined;
}
