import type { RawKind, RawSample } from "./raw/raw.ts";
import type { Context } from "./row.ts";
import { median } from "./statistics.ts";

/** A figure measured several times, each time between two stretches of raw. */
export interface BesideRaw {
  readonly value: number;
  /** Median of raw. */
  readonly baseline: number;
  /** Median of the ratios of each run to the raw around it; not exactly value / baseline. */
  readonly ratio: number;
  /** Median of the main thread's processor time for one delivery, where the contestant tells. */
  readonly mainCpuUs: number | null;
}

export interface Figure {
  readonly perSecond: number;
  /** Processor time of the contestant for one delivery. */
  readonly cpuUs: number;
  /** Of that, the main thread's; where it is worth telling. */
  readonly mainCpuUs?: number;
  readonly sinkCpuShare: number;
}

/** Raw, run, raw, run, …, raw: the machine's speed wanders, and each run is compared with its neighbours only. */
export async function besideRaw(
  context: Context,
  input: {
    readonly name: string;
    readonly kind?: RawKind;
    /** Another raw than that of `kind`. */
    readonly raw?: () => Promise<RawSample>;
    readonly measure: () => Promise<Figure>;
  },
): Promise<BesideRaw> {
  const sampleRaw = input.raw ?? (() => context.raw.sample(input.kind));
  const raws: RawSample[] = [await sampleRaw()];
  const figures: Figure[] = [];
  const ratios: number[] = [];
  for (let run = 0; run < context.runs; run += 1) {
    // Measurements must not overlap.
    const figure = await input.measure();
    const before = raws.at(-1) as RawSample;
    const after = await sampleRaw();
    const ratio = (figure.perSecond * 2) / (before.perSecond + after.perSecond);
    raws.push(after);
    figures.push(figure);
    ratios.push(ratio);
    context.progress(
      `${input.name}: ${rounded(figure.perSecond)}/s beside raw ${rounded(before.perSecond)} and ` +
        `${rounded(after.perSecond)}/s: ${ratio.toFixed(3)}`,
    );
  }
  const cpuUs = median(figures.map((figure) => figure.cpuUs));
  const mains = figures.flatMap(({ mainCpuUs }) => mainCpuUs ?? []);
  const mainCpuUs = mains.length === 0 ? null : median(mains);
  const ofMain = mainCpuUs === null ? "" : ` (main thread ${mainCpuUs.toFixed(1)})`;
  const rawCpuUs = median(raws.map((sample) => sample.cpuUs));
  const sinkPercent = Math.round(100 * Math.max(...figures.map((figure) => figure.sinkCpuShare)));
  context.note(
    `${input.name}: ${cpuUs.toFixed(1)} µs of processor time each${ofMain}, raw ${rawCpuUs.toFixed(1)} µs ` +
      `(ratio ${(rawCpuUs / cpuUs).toFixed(2)}); ratios of the runs ${ratios.map((ratio) => ratio.toFixed(2)).join(", ")}; ` +
      `sink at ${sinkPercent} % of a core`,
  );
  return {
    value: median(figures.map((figure) => figure.perSecond)),
    baseline: median(raws.map((sample) => sample.perSecond)),
    ratio: median(ratios),
    mainCpuUs,
  };
}

function rounded(perSecond: number): string {
  return Math.round(perSecond).toLocaleString("en");
}
