import { setTimeout as sleep } from "node:timers/promises";
import { startReceiver } from "../../test/peers/receiver.ts";
import type { PosthornProcess } from "../../test/scenarios/posthorn-process.ts";
import { median } from "../statistics.ts";
import { overviewQuestions } from "./questions.ts";

/** So many that commits are shared, and flushes of the disk do not bound the rate. */
const publishers = 64;
const rounds = 4;
const warmUpMs = 2_000;

/** The overview asks all of its questions together, and again every five seconds where no stream tells it of news. */
const pausesMs = {
  "nobody": 60_000,
  "an overview that is open": 5_000,
  "somebody who asks everything": 200,
};
type Audience = keyof typeof pausesMs;
const asking = ["an overview that is open", "somebody who asks everything"] as const;

interface Window {
  readonly perSecond: number;
  /** Of one delivery, with what was asked meanwhile. */
  readonly processorMs: number;
}

export interface RateParts {
  readonly server: PosthornProcess;
  readonly questions: readonly string[];
  readonly windowMs: number;
  /** Processor time of the server and of its database so far. */
  readonly cpuMs: () => number;
}

/**
 * Deliveries with and without somebody who asks. Each window with an audience stands between two without, and is compared with
 * those alone, because a machine that others use changes from minute to minute. What questions cost in processor time is what
 * deliveries cannot have; unlike the rates it hardly depends on what else runs.
 */
export async function measureRate(name: string, parts: RateParts): Promise<void> {
  const receiver = await startReceiver();
  let received = 0;
  receiver.script(() => {
    received += 1;
    return { status: 200 };
  });
  const { server } = parts;
  const circuit = { circuit_breaker_config: { enabled: false } };
  const webhook = { url: receiver.url("/"), events: ["bench.sent"], ...circuit };
  const { id } = (await server.call("POST", "/v1/webhooks", webhook)).body as { readonly id: string };
  let isOver = false;
  const publish = async (): Promise<void> => {
    while (!isOver) await server.call("POST", "/v1/events", { event_type: "bench.sent", data: {} });
  };
  const load = Array.from({ length: publishers }, publish);
  await sleep(warmUpMs);
  const window = async (audience: Audience): Promise<Window> => {
    const [before, cpuBefore, begun] = [received, parts.cpuMs(), performance.now()];
    await ask(parts, audience, begun + parts.windowMs);
    const deliveries = received - before;
    return {
      perSecond: (deliveries * 1_000) / (performance.now() - begun),
      processorMs: (parts.cpuMs() - cpuBefore) / deliveries,
    };
  };
  const alone = [await window("nobody")];
  const shares = new Map(asking.map((audience) => [audience, [] as Window[]]));
  for (let round = 0; round < rounds; round += 1)
    for (const audience of asking) {
      const beside = await window(audience);
      alone.push(await window("nobody"));
      shares.get(audience)?.push(shareOf(beside, alone.slice(-2)));
    }
  isOver = true;
  await Promise.all(load);
  // A store that is kept would send to it for ever.
  await server.call("DELETE", `/v1/webhooks/${id}`);
  await receiver.close();
  const rate = median(alone.map(({ perSecond }) => perSecond));
  const each = median(alone.map(({ processorMs }) => processorMs));
  console.log(
    `${name}: ${rate.toFixed(0)} deliveries a second, ${each.toFixed(2)} ms of processor time each; of that, medians of ${rounds}:`,
  );
  for (const [audience, all] of shares) tell(audience, all);
}

function shareOf(beside: Window, alone: readonly Window[]): Window {
  const mean = (of: (window: Window) => number): number =>
    alone.reduce((sum, window) => sum + of(window), 0) / alone.length;
  return {
    perSecond: beside.perSecond / mean(({ perSecond }) => perSecond),
    processorMs: beside.processorMs / mean(({ processorMs }) => processorMs),
  };
}

function tell(audience: Audience, shares: readonly Window[]): void {
  const [rates, costs] = [
    shares.map(({ perSecond }) => perSecond),
    shares.map(({ processorMs }) => processorMs),
  ];
  const shown = (values: readonly number[]): string =>
    `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`;
  console.log(`  with ${audience}: rate ${shown(rates)}, processor time of a delivery ${shown(costs)}`);
}

async function ask(
  { server, questions }: Pick<RateParts, "server" | "questions">,
  audience: Audience,
  untilMs: number,
): Promise<void> {
  const leftMs = (): number => Math.max(0, untilMs - performance.now());
  for (let index = 0; leftMs() > 0; index += 1) {
    if (audience === "an overview that is open")
      await Promise.all(overviewQuestions.map((path) => server.call("GET", path)));
    if (audience === "somebody who asks everything")
      await server.call("GET", questions[(index * 7) % questions.length] ?? "/readyz");
    await sleep(Math.min(pausesMs[audience], leftMs()));
  }
}
