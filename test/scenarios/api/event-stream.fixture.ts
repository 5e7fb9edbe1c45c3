/** A client of `/v1/stream`. An independent package parses the stream. */
import assert from "node:assert/strict";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { eventually } from "../eventually.fixture.ts";
import type { Client, Json } from "./client.fixture.ts";

export interface StreamedEvent {
  readonly name: string;
  readonly id: string;
  readonly data: Json;
}

export class OpenedStream {
  readonly events: StreamedEvent[] = [];
  /** The reconnection delay that the server requests from clients, in milliseconds. */
  retryMs: number | null = null;
  hasEnded = false;
  readonly #abort: AbortController;

  constructor(response: Response, abort: AbortController) {
    this.#abort = abort;
    void this.#read(response).then(
      () => (this.hasEnded = true),
      () => (this.hasEnded = true),
    );
  }

  /** Resolves with the first event for which the condition holds, as soon as it arrives. */
  async until(what: string, holds: (event: StreamedEvent) => boolean): Promise<StreamedEvent> {
    const found = await eventually(what, {
      ask: async () => this.events.find(holds),
      holds: (event) => event !== undefined,
    });
    assert.ok(found);
    return found;
  }

  /** Closes the connection, as a disconnecting client would. */
  close(): void {
    this.#abort.abort();
  }

  async #read(response: Response): Promise<void> {
    assert.ok(response.body);
    const parser = new EventSourceParserStream({ onRetry: (retryMs) => void (this.retryMs = retryMs) });
    const parsed = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(parser);
    for await (const { event, id, data } of parsed)
      this.events.push({ name: event ?? "", id: id ?? "", data: JSON.parse(data) as Json });
  }
}

/** Rejects if the server does not open the stream. */
export async function openStream(
  client: Pick<Client, "baseUrl">,
  { key, query, lastEventId }: StreamCall,
): Promise<OpenedStream> {
  const abort = new AbortController();
  const response = await fetch(`${client.baseUrl}/v1/stream?${query}`, {
    signal: abort.signal,
    headers: {
      accept: "text/event-stream",
      authorization: `Bearer ${key}`,
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    },
  });
  assert.equal(response.status, 200, response.status === 200 ? "" : await response.text());
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  return new OpenedStream(response, abort);
}

interface StreamCall {
  readonly key: string;
  readonly query: string;
  readonly lastEventId?: string;
}
