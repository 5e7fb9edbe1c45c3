import type { Caller, CallOptions } from "./caller.ts";
import { ApiError, PosthornClientError, UnansweredError } from "./client-error.ts";

/** One event of `GET /v1/stream`. */
export interface StreamedEvent {
  /**
   * A name such as `deliveries`, `delivery`, `operation`, or `reset`: updates were missed, so read everything again.
   */
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface StreamOptions extends Pick<CallOptions, "signal"> {
  /** `deliveries`, `deliveries:webhook=ID`, `delivery:ID`, `operation:ID`. */
  readonly topics: readonly string[];
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** Called when the connection was lost and is about to be reopened. */
  readonly onReconnect?: (cause: unknown) => void;
}

const reconnectMs = 1_000;
/** The server sends something every 15 seconds; a connection that is silent for longer is considered dead. */
const silenceMsMax = 45_000;

/** Continues until the signal aborts it, reconnecting as often as necessary. */
export async function* readStream(
  caller: Caller,
  options: StreamOptions,
): AsyncGenerator<StreamedEvent, void, undefined> {
  let lastId = "";
  for (;;) {
    try {
      for await (const { id, ...event } of oneConnection(caller, options, lastId)) {
        lastId = id;
        yield event;
      }
    } catch (error) {
      if (options.signal?.aborted === true) return;
      if (!(error instanceof PosthornClientError) || (error instanceof ApiError && error.status < 500))
        throw error;
      options.onReconnect?.(error);
    }
    if (options.signal?.aborted === true) return;
    await caller.time.sleep(reconnectMs, options.signal).catch(() => undefined);
  }
}

async function* oneConnection(caller: Caller, { topics, query, signal }: StreamOptions, lastId: string) {
  const silence = new AbortController();
  const either = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
  const path = "/v1/stream";
  const lost = (cause: unknown) => {
    const call = { method: "GET", path, attempts: 1, idempotencyKey: null };
    return new UnansweredError("the stream broke off", call, { reason: "unreachable", cause });
  };
  const { body } = await caller.open({
    path,
    query: { ...query, topics: topics.join(",") },
    signal: either,
    headers: { accept: "text/event-stream", ...(lastId !== "" && { "last-event-id": lastId }) },
  });
  if (body === null) throw lost("no content");
  const reader = body
    .pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    for (let pending = ""; ; ) {
      timer = setTimeout(() => silence.abort(lost("silence")), silenceMsMax);
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      const blocks = (pending + value).split("\n\n");
      pending = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event !== null) yield event;
      }
    }
  } catch (error) {
    throw error instanceof PosthornClientError ? error : lost(error);
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => undefined);
  }
}

/** The lines of one event; null for a comment. */
function parseEvent(block: string): (StreamedEvent & { readonly id: string }) | null {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const [, name = "", value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name !== "") fields.set(name, fields.has(name) ? `${fields.get(name) ?? ""}\n${value}` : value);
  }
  const data = fields.get("data");
  if (data === undefined) return null;
  const parsed = JSON.parse(data) as StreamedEvent["data"];
  return { name: fields.get("event") ?? "message", data: parsed, id: fields.get("id") ?? "" };
}
