import type { ConfigError } from './errors.js';

/**
 * Names a client or resource: a string (its UTF-8; lone surrogates stay distinct), or bytes as they are. A Buffer is a
 * Uint8Array; one over a SharedArrayBuffer is refused. Anything else is a TypeError that names `key`.
 */
export type Key = string | Uint8Array;

/**
 * One key of several parts, such that other parts never make the same key: `keyOf(tenant, user)`.
 * @throws {TypeError} if a part is no key
 */
export function keyOf(...parts: Key[]): Uint8Array;

/**
 * The key of a network address such as `request.socket.remoteAddress`, with all bits behind the prefix zero. IPv4 that is
 * written as IPv6 is IPv4. Without a prefix IPv4 counts whole and IPv6 by its first 64 bits: whoever has one address of a
 * /64 has them all.
 * @param options.prefix bits that count: 0 to 32 for IPv4, 0 to 128 for IPv6
 * @throws {ConfigError} if this is no address, or the prefix is longer than it
 * @throws {TypeError} if an argument is of a wrong type
 */
export function ipKey(address: string, options?: { readonly prefix?: number | undefined }): Uint8Array;
