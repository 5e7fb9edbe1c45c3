/** Records requests and responses of a test client as text. All values that differ from run to run are masked. */
import { type Client, clientOf, type CallOptions, type Reply } from "../scenarios/api/client.fixture.ts";

/** Header fields that are omitted: they are the same in every response, or they differ from run to run. */
const unrecordedFields = new Set(["connection", "content-length", "date", "keep-alive", "transfer-encoding"]);
/**
 * Responses that are not recorded. The document has a separate golden file, and the list of waiting notifications
 * depends on the progress of the sender.
 */
const unrecordedPaths = new Set(["/openapi.json", "/v1/notifications?state=waiting"]);
const unrecordedTypes = /^(text\/html|text\/plain; version)/;

export interface Exchange {
  readonly request: string;
  readonly response: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

export class Transcript {
  readonly exchanges: Exchange[] = [];
  readonly #mask = new Mask();
  readonly #settled: () => Promise<void>;
  readonly #recorded: "every response" | "errors";

  /** `settled` resolves when the effects of a request are complete, so that the next response does not depend on timing. */
  constructor(settled: () => Promise<void>, recorded: "every response" | "errors" = "every response") {
    this.#settled = settled;
    this.#recorded = recorded;
  }

  record(client: Client): Client {
    return clientOf({
      baseUrl: client.baseUrl,
      withKey: (key) => this.record(client.withKey(key)),
      call: async (method, path, options = {}) => {
        const reply = await client.call(method, path, options);
        await this.#settled();
        this.#add(method, path, { options, reply });
        return reply;
      },
    });
  }

  text(): string {
    return this.exchanges.map(({ request, response }) => `${request}\n${response}\n`).join("\n");
  }

  #add(method: string, path: string, call: { readonly options: CallOptions; readonly reply: Reply }): void {
    const { options, reply } = call;
    const request = this.#mask.apply(
      [`${method} ${path}`, ...fieldLines(options.headers), ...requestBody(options)].join("\n"),
    );
    // Polling repeats a request until a condition holds for the response. Only the last response is deterministic.
    if (this.exchanges.at(-1)?.request === request) this.exchanges.pop();
    const fields = [...reply.headers].filter(([name]) => !unrecordedFields.has(name));
    const isRecorded = this.#recorded === "every response" || reply.status >= 400;
    const content = isRecorded
      ? [...fieldLines(Object.fromEntries(fields)), ...responseBody(path, reply)]
      : [];
    const lines = [`→ ${reply.status}`, ...content];
    this.exchanges.push({
      method,
      path,
      request,
      status: reply.status,
      response: this.#mask.apply(lines.join("\n")),
    });
  }
}

function fieldLines(fields: Readonly<Record<string, string>> = {}): readonly string[] {
  return Object.entries(fields).map(([name, value]) => `  ${name}: ${value}`);
}

function requestBody({ body, raw }: CallOptions): readonly string[] {
  if (typeof raw === "string") return [`  ${raw}`];
  if (raw !== undefined) return [`  (${raw.length} bytes)`];
  if (body === undefined) return [];
  const text = JSON.stringify(body);
  return [text.length > 2_000 ? `  (${text.length} characters)` : `  ${text}`];
}

/** Omits the document, which has a separate golden file, and the pages, whose wording is not a contract. */
function responseBody(path: string, reply: Reply): readonly string[] {
  const type = reply.headers.get("content-type") ?? "";
  if (unrecordedPaths.has(path) || unrecordedTypes.test(type)) return ["  (not recorded)"];
  if (!type.includes("json")) return reply.text === "" ? [] : [`  ${reply.text}`];
  return JSON.stringify(reply.body, null, 2)
    .split("\n")
    .map((line) => `  ${line}`);
}

const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

/** Patterns for values that differ from run to run, and their replacements. They are applied in this order. */
const masks: readonly (readonly [RegExp, string])[] = [
  [/[\w/.-]*\/posthorn-server-\w+/g, "<folder>"],
  [/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "<time>"],
  [/\b17\d{8}(?:\d{3})?\b/g, "<epoch>"],
  [/\b127\.0\.0\.1:\d+/g, "127.0.0.1:<port>"],
  [/\b(wh\w+_)(?:…[\w+/]*|[\w+/]{20,})=*/g, "$1<token>"],
  // Keys, cursors and hashes: at least 20 characters, including a lower-case letter and three digits or capitals.
  [/(?<![\w-])(?=[\w-]*[a-z])(?=(?:[\w-]*[\dA-Z]){3})[\w-]{20,}={0,2}/g, "<token>"],
  [/"hint": "[^"]*"/g, '"hint": "<token>"'],
  [/;r=\d+;t=\d+/g, ";r=<count>;t=<seconds>"],
  [/\breq-[0-9a-z]+/g, "req-<number>"],
  [/\bposthorn-[0-9a-f]{8}=/g, "posthorn-<port>="],
  [/\bMax-Age=[1-9]\d*/g, "Max-Age=<seconds>"],
  // The number of deliveries that are waiting when the alert is evaluated.
  [
    /"waiting is \d+, below 1000000",\n(\s*)"value": \d+/g,
    '"waiting is <count>, below 1000000",\n$1"value": "<count>"',
  ],
  // Measured values: durations and fractions of disk space.
  [/\b\d+\.\d{6,}\b/g, "<measured>"],
];

/** IDs stay identifiable: `id-3` is the same ID wherever it occurs. */
class Mask {
  readonly #ids = new Map<string, string>();

  apply(text: string): string {
    const withIds = text.replaceAll(uuid, (id) => {
      const known = this.#ids.get(id) ?? `id-${this.#ids.size + 1}`;
      this.#ids.set(id, known);
      return known;
    });
    return masks.reduce((masked, [pattern, mask]) => masked.replaceAll(pattern, mask), withIds);
  }
}
