import type { Caller, CallOptions } from "./caller.ts";
import { ApiError, PosthornClientError, UnansweredError } from "./client-error.ts";

/** One event of `GET /v1/stream`. */
export interface StreamedEvent {
  /**
   * A name such as `deliveries`, `delivery`, `operation`, or `reset`. `reset` means that updates were missed, so read
   * everything again.
   */
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface StreamOptions extends Pick<CallOptions, "signal"> {
  /** `deliveries`, `deliveries:webhook=ID`, `delivery:ID`, `operation:ID`. */
  readonly topics: readonly string[];
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** Called after the connection is lost, before it is reopened. */
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
    return new UnansweredError("the stream was interrupted", call, "unreachable", cause);
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
  const parser = new EventParser();
  try {
    for (;;) {
      timer = setTimeout(() => silence.abort(lost("silence")), silenceMsMax);
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      yield* parser.read(value);
    }
  } catch (error) {
    throw error instanceof PosthornClientError ? error : lost(error);
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => undefined);
  }
}

/** Parses server-sent events (WHATWG HTML, 9.2.6). Lines end with LF, CR or CRLF, and an empty line ends an event. */
class EventParser {
  #line = "";
  #endedWithReturn = false;
  readonly #fields = new Map<string, string>();

  /** Yields the events that end in this part of the stream. */
  *read(text: string): Generator<StreamedEvent & { readonly id: string }, void, undefined> {
    // This LF is the second half of a CR LF whose CR ended the previous part.
    const rest = this.#endedWithReturn && text.startsWith("\n") ? text.slice(1) : text;
    this.#endedWithReturn = text.endsWith("\r");
    const lines = (this.#line + rest).split(/\r\n|\n|\r/);
    this.#line = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") this.#add(line);
      else {
        const event = this.#event();
        this.#fields.clear();
        if (event !== null) yield event;
      }
    }
  }

  #add(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return; // A comment.
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    const earlier = this.#fields.get(name);
    const isContinued = name === "data" && earlier !== undefined;
    this.#fields.set(name, isContinued ? `${earlier}\n${value}` : value);
  }

  #event(): (StreamedEvent & { readonly id: string }) | null {
    const data = this.#fields.get("data");
    if (data === undefined) return null;
    const parsed = JSON.parse(data) as StreamedEvent["data"];
    return { name: this.#fields.get("event") ?? "message", data: parsed, id: this.#fields.get("id") ?? "" };
  }
}
