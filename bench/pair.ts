/** The same figure without and with a burden. */
export interface Pair<Value> {
  readonly without: Value;
  readonly burdened: Value;
}

/** Measures both, each first in turn: whoever comes second finds warmer caches. */
export async function measurePair<Value>(
  run: number,
  measure: Readonly<Record<keyof Pair<Value>, () => Promise<Value>>>,
): Promise<Pair<Value>> {
  if (run % 2 === 0) {
    const without = await measure.without();
    return { without, burdened: await measure.burdened() };
  }
  const burdened = await measure.burdened();
  return { without: await measure.without(), burdened };
}
