import type { Command } from "commander";
import { exampleValue } from "../../domain/example-value.ts";
import type { Json } from "../api-client.ts";
import { type ClientCall, clientCommand, collect, parseJson, printOne } from "../client-command.ts";
import { RefusedError, UsageError } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import { tenantOption } from "../plain-commands.ts";

const countMax = 1_000;

export function addTriggerCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("trigger")
    .description("publish an example of an event type, registered or generated from its schema")
    .argument("<type>", "event type, such as order.completed")
    .option("--set <path=value>", "set a value in the data, such as customer.id=42, repeatable", collect)
    .option("--example <number>", "number of the registered example", "1")
    .option("--count <count>", `number of events, up to ${countMax}`, "1")
    .option("--print-only", "print the data without publishing")
    .addOption(tenantOption());
  clientCommand(command, invocation, trigger);
}

async function trigger(call: ClientCall): Promise<void> {
  const { client, terminal, args, options } = call;
  const [type = ""] = args;
  const data = changed(await exampleOf(call, type), options.list("set") ?? []);
  if (options.flag("printOnly")) return terminal.data(JSON.stringify(data, null, terminal.json ? 0 : 2));
  const count = options.number("count") ?? 1;
  if (!Number.isInteger(count) || count < 1 || count > countMax)
    throw new UsageError(`--count takes 1 to ${countMax}, not ${count}`);
  for (let made = 0; made < count; made += 1) {
    const body = { event_type: type, data, tenant_id: options.text("tenant") };
    const receipt = await client.post("/v1/events", { body });
    printOne(terminal, receipt);
    if (receipt["deliveries"] === 0 && made === 0)
      terminal.note(`no webhook subscribes to ${type}. See: posthorn listen --register ${type}`);
  }
  return undefined;
}

async function exampleOf({ client, terminal, options }: ClientCall, type: string): Promise<Json> {
  const eventType = await registered(() =>
    client.get(`/v1/event-types/${encodeURIComponent(type)}`, {
      query: { tenant_id: options.text("tenant") },
    }),
  );
  const examples = (eventType?.["examples"] ?? []) as readonly Json[];
  const number = options.number("example") ?? 1;
  const example = examples[number - 1];
  if (example !== undefined) return example;
  if (examples.length > 0)
    throw new UsageError(`${type} has ${examples.length} examples, so --example ${number} does not exist`);
  const schema = eventType?.["schema"] ?? null;
  if (schema !== null) return exampleValue(schema) as Json;
  terminal.note(`${type} has no example and no schema. Using {"test":true}`);
  return { test: true };
}

async function registered(get: () => Promise<Json>): Promise<Json | null> {
  try {
    return await get();
  } catch (error) {
    if (error instanceof RefusedError && error.code === "not_found") return null;
    throw error;
  }
}

/** Applies changes such as `customer.id=42`. A value is parsed as JSON if possible; otherwise it is used as text. */
function changed(data: Json, changes: readonly string[]): Json {
  return changes.reduce((before, change) => {
    const at = change.indexOf("=");
    if (at < 1) throw new UsageError(`--set takes path=value, not "${change}"`);
    return withValue(before, change.slice(0, at).split("."), valueOf(change.slice(at + 1)));
  }, data);
}

function withValue(of: unknown, names: readonly string[], value: unknown): Json {
  const [name = "", ...rest] = names;
  const object: Json = typeof of === "object" && of !== null && !Array.isArray(of) ? { ...of } : {};
  return { ...object, [name]: rest.length === 0 ? value : withValue(object[name], rest, value) };
}

function valueOf(text: string): unknown {
  const isJson = /^(-?\d|true$|false$|null$|["[{])/.test(text);
  return isJson ? parseJson(text, `the value ${text} of --set`) : text;
}
