import type { Row } from "../row.ts";
import { bullmq } from "./bullmq.ts";
import { drain, drainDefaultSchemes } from "./drain.ts";
import { idle } from "./idle.ts";
import { latency } from "./latency.ts";
import { raw, rawDispatch } from "./raw.ts";
import { fanOut, through } from "./through.ts";

/** Every bench, in the order of running. `postgres` and `distributed` take their places before `idle`. */
export const allRows: readonly Row[] = [
  raw,
  rawDispatch,
  bullmq,
  drain,
  drainDefaultSchemes,
  through,
  fanOut,
  latency,
  idle,
];
