import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { messageOf } from "../../domain/thrown.ts";
import { eventFields, traceFields } from "../../resources/event-input.ts";
import type { CallOptions } from "../api-client.ts";
import { type ClientCall, clientCommand, parseJson, printOne } from "../client-command.ts";
import { UsageError } from "../failures.ts";
import { type Invocation, readInputBytes } from "../invocation.ts";
import { FieldOption, tenantOption } from "../plain-commands.ts";

export function addPublishCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("publish")
    .description("publish an event")
    .argument("<type>", "event type, such as order.completed")
    .argument("[data]", 'data as a JSON object, or - for standard input (default: {"test":true})')
    .option("--file <path>", "read the data from this file, or - for standard input")
    .option("--content-type <type>", "publish raw bytes of this media type instead of a JSON object")
    .addOption(
      new FieldOption(
        "--idempotency-key <key>",
        eventFields.idempotencyKey,
        "publishing again with the same key within 24 h creates no second event",
      ),
    )
    .addOption(new FieldOption("--priority <priority>", eventFields.priority, ""))
    .addOption(new FieldOption("--source <name>", eventFields.source))
    .option("--timestamp <time>", "time of the event, RFC 3339")
    .option("--metadata <json>", "metadata of the event")
    .addOption(new FieldOption("--traceparent <context>", traceFields.traceparent))
    .addOption(new FieldOption("--tracestate <state>", traceFields.tracestate))
    .addOption(tenantOption());
  clientCommand(command, invocation, publish);
}

async function publish(call: ClientCall): Promise<void> {
  const { client, terminal, args, options } = call;
  const [type = ""] = args;
  const fields = {
    event_type: type,
    idempotency_key: options.text("idempotencyKey"),
    priority: options.text("priority"),
    source: options.text("source"),
    timestamp: options.text("timestamp"),
    tenant_id: options.text("tenant"),
  };
  const given = await readGiven(call);
  const contentType = options.text("contentType");
  const headers = traceHeadersOf(options);
  const request: CallOptions =
    contentType === undefined
      ? { headers, raw: { contentType: "application/json", body: bodyOf(fields, given, options) } }
      : { headers, query: fields, raw: { contentType, body: bytesOf(given, call) } };
  const receipt = await client.post("/v1/events", request);
  printOne(terminal, receipt);
  if (receipt["duplicate"] === true) terminal.note("this key was already used. No new event was published");
  else if (receipt["deliveries"] === 0)
    terminal.note(`no webhook subscribes to ${type}. See: posthorn webhooks list`);
  const following = receipt["deliveries_following"];
  if (typeof following === "number") terminal.note(`${following} more deliveries are being created`);
}

function traceHeadersOf(options: ClientCall["options"]): Readonly<Record<string, string>> {
  const traceparent = options.text("traceparent");
  const tracestate = options.text("tracestate");
  if (traceparent === undefined && tracestate !== undefined)
    throw new UsageError("--tracestate requires --traceparent");
  return {
    ...(traceparent !== undefined && { traceparent }),
    ...(tracestate !== undefined && { tracestate }),
  };
}

/** Raw data, with its source for error messages. */
interface Given {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly what: string;
}

async function readGiven({ args, options, invocation }: ClientCall): Promise<Given | null> {
  const [, argument] = args;
  const file = options.text("file");
  if (argument !== undefined && file !== undefined) throw new UsageError("pass the data or --file, not both");
  if ((file ?? argument) === "-")
    return { bytes: await readInputBytes(invocation.stdin), what: "standard input" };
  if (file !== undefined) return { bytes: await readFileBytes(file), what: file };
  return argument === undefined ? null : { bytes: Buffer.from(argument), what: "the data" };
}

async function readFileBytes(path: string): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${messageOf(error)}`);
  }
}

/** Inserts data and metadata as raw text, because the server stores their text and parsing could change it. */
function bodyOf(
  fields: Readonly<Record<string, string | undefined>>,
  given: Given | null,
  options: ClientCall["options"],
): Buffer<ArrayBuffer> {
  const metadata = options.text("metadata");
  if (metadata !== undefined) parseJson(metadata, "--metadata");
  return Buffer.concat([
    Buffer.from(JSON.stringify(fields).slice(0, -1)),
    Buffer.from(metadata === undefined ? ',"data":' : `,"metadata":${metadata},"data":`),
    given === null ? Buffer.from('{"test":true}') : dataOf(given),
    Buffer.from("}"),
  ]);
}

function dataOf(given: Given): Buffer<ArrayBuffer> {
  const data = parseJson(given.bytes.toString("utf8"), given.what);
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    throw new UsageError("the data must be a JSON object", [
      `For example: posthorn publish order.completed '{"order_id":"4711"}'`,
      "Use --content-type to publish other data.",
    ]);
  }
  return given.bytes;
}

function bytesOf(given: Given | null, { options }: ClientCall): Buffer<ArrayBuffer> {
  if (given === null) {
    throw new UsageError("--content-type requires the data or --file", [
      "For example: posthorn publish order.completed --content-type application/xml --file order.xml",
    ]);
  }
  if (options.text("metadata") !== undefined)
    throw new UsageError("--metadata cannot be combined with --content-type");
  return given.bytes;
}
