import type { Gate } from './index.js';
import type { WebOptions } from './types/web.js';

/**
 * A handler of `node:http` behind a gate: requests get through, or are answered by 429 with `application/problem+json`. Permits are
 * held until the response is finished, its connection closed, or the handler has failed, and count as ok below status 500.
 *
 * @example
 * createServer(gateHandler(gate, (request, response) => response.end('hello')));
 */
export function gateHandler<This, Request, Response, Result>(
  gate: Gate,
  handler: (this: This, request: Request, response: Response) => Result,
  options?: WebOptions<Request>,
): (this: This, request: Request, response: Response) => Result | Promise<Awaited<Result> | undefined> | undefined;
export type { WebOptions };
