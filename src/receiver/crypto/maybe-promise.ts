/** A value now or later. `node:crypto` answers at once, WebCrypto with promises. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Continues at once with what is there; only a promise costs a turn of the event loop. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** All of them: at once when none is a promise. */
export function whenAll<Value>(values: readonly MaybePromise<Value>[]): MaybePromise<readonly Value[]> {
  return values.some((value) => value instanceof Promise)
    ? Promise.all(values)
    : (values as readonly Value[]);
}
