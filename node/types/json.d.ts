/** The fields of `T` as JSON.stringify gets them: BigInts, which JSON lacks, as decimal strings. It writes Infinity as null. */
export type Json<T> = {
  [K in keyof T as NonNullable<T[K]> extends (...args: never[]) => unknown ? never : K]: JsonValue<T[K]>;
};

export type JsonValue<V> = V extends bigint ? string : V;
