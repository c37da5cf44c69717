import type { Key } from './key.js';

/** A function that a guard takes and returns. */
// biome-ignore lint/suspicious/noExplicitAny: with never, TypeScript before 5.4 refuses parameters that have a default
export type AnyFunction = (this: any, ...args: any[]) => unknown;

/** What is guarded without a timeout doesn't wait. */
export interface WithoutTimeout {
  readonly timeoutMs?: undefined;
}

/** What is guarded with a timeout waits. */
export interface WithTimeout {
  /**
   * Before each call waits for its turn as `acquire` does, for at most so many milliseconds; `Infinity` for ever. Then the guarded
   * function returns a promise, or is an async generator; one that is a generator is a TypeError.
   */
  readonly timeoutMs: number;
}

/** A guarded function that waits: as `F`, but that it returns a promise. */
export type Waiting<F extends AnyFunction> =
  ReturnType<F> extends Promise<unknown> | AsyncGenerator
    ? F
    : (this: ThisParameterType<F>, ...args: Parameters<F>) => Promise<Awaited<ReturnType<F>>>;

/** Whose budget a call of a guarded function is to be taken from. */
export interface KeyOption<F extends AnyFunction> {
  /** The key, or a function that makes it: called as the guarded function is, with the same `this` and arguments. */
  readonly key: Key | ((this: ThisParameterType<F>, ...args: Parameters<F>) => Key);
}
