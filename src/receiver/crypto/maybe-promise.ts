/** A value or a promise of it. `node:crypto` returns values, WebCrypto promises. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Continues synchronously with a value; only a promise costs a turn of the event loop. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Waits for all of them; synchronous if none is a promise. */
export function whenAll<Value>(values: readonly MaybePromise<Value>[]): MaybePromise<readonly Value[]> {
  return values.some((value) => value instanceof Promise)
    ? Promise.all(values)
    : (values as readonly Value[]);
}
