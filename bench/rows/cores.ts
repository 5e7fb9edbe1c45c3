import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";
import type { Figure } from "../beside-raw.ts";
import { RowSkippedError } from "../row.ts";
import type { Context, Line, Row } from "../row.ts";
import { median } from "../statistics.ts";
import { drainOverTls, warmOrigins } from "./tls.ts";
import type { DrainOverTls } from "./tls.ts";

/**
 * The deliveries of `tls-warm` and `tls-cold` by a product that has 1, 2, 4 … of the machine's cores. The sink may use
 * all of them, so that on two cores it competes with the product for the second one.
 */
export const cores: Row = {
  name: "cores",
  async run(context) {
    requireTaskset();
    const warm = context.quick ? { warmUp: 1_000, count: 5_000 } : { warmUp: 5_000, count: 40_000 };
    const cold = context.quick ? { warmUp: 100, count: 400 } : { warmUp: 500, count: 2_000 };
    return [
      ...(await byCores(context, { ...warm, name: "warm", path: "/ok/warm", webhooks: warmOrigins })),
      ...(await byCores(context, {
        ...cold,
        name: "cold",
        path: "/close/cold",
        webhooks: cold.warmUp + cold.count,
      })),
    ];
  },
};

/** Numbers of cores take turns, so that the machine's moods meet all of them. */
async function byCores(context: Context, input: DrainOverTls): Promise<readonly Line[]> {
  const figures = new Map<number, Figure[]>(coreCounts().map((count) => [count, []]));
  for (let run = 0; run < context.runs; run += 1)
    for (const [count, measured] of figures)
      measured.push(await drainOverTls(context, { ...input, name: `cores-${input.name}`, cores: count }));
  const rateOf = (measured: readonly Figure[]): number => median(measured.map(({ perSecond }) => perSecond));
  const one = rateOf(figures.get(1) ?? []);
  return [...figures].map(([count, measured]) => {
    const cpuUs = median(measured.map((figure) => figure.cpuUs));
    const mainUs = median(measured.map((figure) => figure.mainCpuUs ?? figure.cpuUs));
    const sinkPercent = Math.round(100 * Math.max(...measured.map((figure) => figure.sinkCpuShare)));
    const name = `cores: ${input.name}, ${count}`;
    context.note(
      `${name}: ${cpuUs.toFixed(0)} µs of processor time each (main thread ${mainUs.toFixed(0)}), ` +
        `sink at ${sinkPercent} % of a core`,
    );
    const value = rateOf(measured);
    return { name, value, unit: "deliveries/s", baseline: one, ratio: value / one, goal: null, pass: null };
  });
}

/** 1, 2, 4 … and all. */
function coreCounts(): readonly number[] {
  const all = availableParallelism();
  const counts: number[] = [];
  for (let count = 1; count < all; count *= 2) counts.push(count);
  return [...counts, all];
}

function requireTaskset(): void {
  try {
    execFileSync("taskset", ["--version"], { stdio: "ignore" });
  } catch {
    throw new RowSkippedError("`taskset` of util-linux, which gives a process some cores alone, is not here");
  }
}
