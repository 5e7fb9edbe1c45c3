import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { startPosthorn as StartPosthorn } from "../../app/posthorn.ts";
import { defaultSettings } from "../../config/resolve.ts";
import { standard } from "../../domain/profiles/standard.ts";
import { ApiClient, type Json } from "../api-client.ts";
import { CommandFailure, startFailure } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import {
  type ReceivedDelivery,
  type ReceiverAnswer,
  startLocalReceiver,
} from "../receiver/local-receiver.ts";
import { type Check, createCheck } from "../receiver/verification.ts";
import type { Terminal } from "../terminal.ts";
import { printDelivery } from "./deliveries.ts";

export function addDemoCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("demo")
    .description("run a demo: a server, a receiver that fails at first, retries and their history");
  command.option("--json", "print JSON, one object per step").action(async () => {
    const { json } = command.opts<{ json?: true }>();
    try {
      // This code is not inside `demo`, because TypeScript 7.0.2 does not rewrite imports in functions with `await
      // using`.
      const { startPosthorn } = await import("../../app/posthorn.ts");
      await demo(invocation.terminal(json === true), startPosthorn);
    } catch (error) {
      throw startFailure(error);
    }
  });
}

const events = [
  { event_type: "order.completed", data: { order_id: "4711", total: 19.9 } },
  { event_type: "order.completed", data: { order_id: "4712", total: 5 } },
  { event_type: "order.refunded", data: { order_id: "4711" } },
] as const;
const failuresFirst = 2;
const doneWithinMs = 12_000;
const pollMs = 100;

async function demo(terminal: Terminal, startPosthorn: typeof StartPosthorn): Promise<void> {
  const story = new Story(terminal);
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-demo-"));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const settings = {
    ...defaultSettings(),
    dataDir,
    dev: true,
    port: 0,
    logLevel: "error" as const,
    shutdownGraceMs: 2_000,
  };
  const running = await startPosthorn(settings);
  cleanup.defer(() => running.stop());
  story.tell("server", `listening on ${running.url ?? ""}, data in ${dataDir}`);

  const flaky = new FlakyReceiver(story);
  const receiver = await startLocalReceiver(0, (delivery) => flaky.answer(delivery));
  cleanup.defer(() => receiver.close());
  story.tell(
    "receiver",
    `listening on ${receiver.url}; its first ${failuresFirst} responses will be 503 with Retry-After: 1`,
  );

  const client = new ApiClient(running.url ?? "", running.adminKey);
  const webhook = await client.post("/v1/webhooks", {
    body: { url: receiver.url, events: ["order.*"], retry_config: { schedule_ms: [1_000, 1_000, 2_000] } },
  });
  flaky.check = await createCheck({
    secrets: [String(webhook["secret"])],
    profile: standard,
    keyId: String(webhook["id"]),
  });
  story.tell("server", `webhook ${String(webhook["id"])} subscribes to order.*`);
  const eventIds: string[] = [];
  for (const event of events) {
    const receipt = await client.post("/v1/events", { body: event });
    eventIds.push(String(receipt["id"]));
    story.tell(
      "publish",
      `${event.event_type} accepted as ${String(receipt["id"])}, stored, ${String(receipt["deliveries"])} delivery`,
    );
  }
  const deliveries = await untilDelivered(client, String(webhook["id"]), story);
  await showHistory(terminal, client, deliveries);
  story.tell(
    "done",
    `${eventIds.length} events, ${deliveries.length} delivered, ${flaky.requests} requests; nothing was lost. Next: npm start`,
  );
}

/** Fails at first, like a receiver during a deployment, then recovers. */
class FlakyReceiver {
  readonly #story: Story;
  check: Check = () => Promise.resolve(null);
  requests = 0;

  constructor(story: Story) {
    this.#story = story;
  }

  async answer(delivery: ReceivedDelivery): Promise<ReceiverAnswer> {
    this.requests += 1;
    const isEarly = this.requests <= failuresFirst;
    const id = String(delivery.headers["webhook-id"]);
    const result = await this.check(delivery);
    const signature = result?.kind === "verified" ? "signature verified" : "signature not verified";
    if (isEarly) {
      this.#story.tell("receiver", `${id}  ${signature}  responds with 503, Retry-After: 1`);
      return { status: 503, headers: { "retry-after": "1" }, body: "being deployed" };
    }
    this.#story.tell("receiver", `${id}  ${signature}  answers 200`);
    return { status: 200, body: "thank you" };
  }
}

async function untilDelivered(client: ApiClient, webhookId: string, story: Story): Promise<readonly Json[]> {
  const told = new Set<string>();
  const endsAt = performance.now() + doneWithinMs;
  while (performance.now() < endsAt) {
    const { data } = await client.get(`/v1/webhooks/${webhookId}/deliveries`);
    const deliveries = data as readonly Json[];
    if (
      deliveries.length === events.length &&
      deliveries.every((delivery) => delivery["status"] === "success")
    )
      return deliveries;
    for (const delivery of deliveries) {
      const { event_id: eventId, waiting_for: waitingFor, attempt_count: attempts } = delivery;
      const line = `${String(eventId)}  waiting for: ${String(waitingFor)}, attempts so far: ${String(attempts)}`;
      if (waitingFor === null || waitingFor === "in_flight" || told.has(line)) continue;
      told.add(line);
      story.tell("waiting", line);
    }
    await sleep(pollMs);
  }
  throw new CommandFailure(
    `not all events were delivered within ${doneWithinMs / 1_000} s. This is a bug, please report it`,
  );
}

async function showHistory(
  terminal: Terminal,
  client: ApiClient,
  deliveries: readonly Json[],
): Promise<void> {
  const most = deliveries.toSorted((a, b) => Number(b["attempt_count"]) - Number(a["attempt_count"]))[0];
  const delivery = await client.get(`/v1/deliveries/${String(most?.["id"])}`);
  if (terminal.json) return terminal.object({ what: "history", delivery });
  terminal.data("");
  terminal.data(terminal.outStyle("bold", "History of one delivery"));
  terminal.data("");
  printDelivery(terminal, delivery);
  terminal.data("");
}

type Teller = "server" | "receiver" | "publish" | "waiting" | "done";

/** Prints each step with the seconds since the start. */
class Story {
  readonly #terminal: Terminal;
  readonly #startedAt = performance.now();

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  tell(who: Teller, what: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(2);
    if (this.#terminal.json) return this.#terminal.object({ seconds: Number(seconds), who, what });
    this.#terminal.data(
      `${this.#terminal.outStyle("dim", `${seconds.padStart(5)} s`)}  ${who.padEnd(8)}  ${what}`,
    );
  }
}
