import type { Gate } from './index.js';
import type { WebOptions } from './types/web.js';

export interface GatePluginOptions<Request = unknown> extends WebOptions<Request> {
  readonly gate: Gate;
}

/**
 * A Fastify plugin: requests get through the gate, or are answered by 429 with `application/problem+json`. Permits are held until
 * the response is finished or its connection closed, and count as ok below status 500.
 *
 * @example
 * app.register(gatePlugin, { gate: Gate.open('rules.toml', { watch: true }) });
 */
export function gatePlugin(fastify: unknown, options: GatePluginOptions, done: (error?: Error) => void): void;
export type { WebOptions };
