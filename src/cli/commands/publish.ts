import type { Command } from "commander";
import { clientCommand, parseJson, printOne } from "../client-command.ts";
import type { ClientCall } from "../client-command.ts";
import { UsageError } from "../failures.ts";
import { readInput } from "../invocation.ts";
import type { Invocation } from "../invocation.ts";

export function addPublishCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("publish")
    .description("publish an event")
    .argument("<type>", "event type, such as order.completed")
    .argument(
      "[data]",
      'data as a JSON object, or - to read it from standard input; {"test":true} when left out',
    )
    .option("--idempotency-key <key>", "publishing the same key again within 24 h makes no second event")
    .option("--priority <priority>", "high, normal or low")
    .option("--source <name>", "which application published it")
    .option("--timestamp <time>", "when it happened, RFC 3339")
    .option("--metadata <json>", "about the resources in the data")
    .option("--tenant <id>", "tenant, for administrators");
  clientCommand(command, invocation, publish);
}

async function publish({ client, terminal, args, options, invocation }: ClientCall): Promise<void> {
  const [type, given] = args;
  const receipt = await client.post("/v1/events", {
    body: {
      event_type: type,
      data: await readData(given, invocation),
      idempotency_key: options.text("idempotencyKey"),
      priority: options.text("priority"),
      source: options.text("source"),
      timestamp: options.text("timestamp"),
      metadata: options.json("metadata"),
      tenant_id: options.text("tenant"),
    },
  });
  printOne(terminal, receipt);
  if (receipt["duplicate"] === true) terminal.note("this key was used before: no new event was published");
  else if (receipt["deliveries"] === 0)
    terminal.note(`no webhook asks for ${type ?? ""}; see: posthorn webhooks list`);
}

async function readData(given: string | undefined, invocation: Invocation): Promise<unknown> {
  if (given === undefined) return { test: true };
  const data =
    given === "-"
      ? parseJson(await readInput(invocation.stdin), { what: "standard input" })
      : parseJson(given, { what: "the data" });
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    throw new UsageError("the data must be a JSON object", [
      `For example: posthorn publish order.completed '{"order_id":"4711"}'`,
    ]);
  }
  return data;
}
