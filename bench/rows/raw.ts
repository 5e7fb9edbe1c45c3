import type { RawKind } from "../raw/raw.ts";
import type { Context, Line, Row } from "../row.ts";
import { median } from "../statistics.ts";

/** The limit that ratios refer to: a bare undici loop with `Pool.request`. */
export const raw: Row = {
  name: "raw",
  run: (context) => measure(context, "raw", { by: "request", schemes: ["v1"] }),
};

/** For honesty: undici's lower interface is faster still, and the product uses that one. */
export const rawDispatch: Row = {
  name: "raw-dispatch",
  run: (context) => measure(context, "raw-dispatch", { by: "dispatch", schemes: ["v1"] }),
};

async function measure(context: Context, name: string, kind: RawKind): Promise<readonly Line[]> {
  const rates: number[] = [];
  const cpuUs: number[] = [];
  const startedAt = performance.now();
  const before = await context.sink.usage();
  for (let run = 0; run < context.runs; run += 1) {
    const sample = await context.raw.sample(kind);
    rates.push(sample.perSecond);
    cpuUs.push(sample.cpuUs);
  }
  const after = await context.sink.usage();
  const sinkPercent = Math.round((100 * (after.cpuMs - before.cpuMs)) / (performance.now() - startedAt));
  context.note(
    `${name}: ${median(cpuUs).toFixed(1)} µs of processor time each; sink at ${sinkPercent} % of a core`,
  );
  if (context.profile !== null) await context.raw.profile(context.profile, kind);
  const value = median(rates);
  return [{ name, value, unit: "requests/s", baseline: null, ratio: null, goal: null, pass: null }];
}
