import type { Gate } from './index.js';
import type { WebOptions } from './types/web.js';

/**
 * Express middleware: requests get through the gate, or are answered by 429 with `application/problem+json`. Permits are held until
 * the response is finished or its connection closed, and count as ok below status 500.
 *
 * @example
 * app.use(gateMiddleware(Gate.open('rules.toml', { watch: true })));
 */
export function gateMiddleware<Request>(
  gate: Gate,
  options?: WebOptions<Request>,
): (request: Request, response: unknown, next: (error?: unknown) => void) => void;
export type { WebOptions };
