import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

/** A request as it goes on the wire; headers as a flat name-value list. */
export interface ProbeRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: readonly string[];
  readonly body: Uint8Array;
  readonly timeoutMs: number;
}

/** What came back, or why nothing did. */
export type ProbeAnswer =
  | {
      readonly kind: "answer";
      readonly status: number;
      /** Lower-case names. */
      readonly headers: Readonly<Record<string, string | undefined>>;
      /** At most `bodyBytesMax` bytes of it. */
      readonly body: string;
      readonly durationMs: number;
    }
  | { readonly kind: "failure"; readonly message: string; readonly durationMs: number };

const bodyBytesMax = 64 * 1024;

/**
 * Sends one request on a connection of its own and reads the answer. Redirects are not followed, certificates are
 * checked, and everything ends within `timeoutMs`. Never rejects.
 */
export function probe(request: ProbeRequest): Promise<ProbeAnswer> {
  const startedAt = performance.now();
  const elapsed = (): number => Math.round(performance.now() - startedAt);
  return new Promise((resolve) => {
    const send = request.url.protocol === "https:" ? httpsRequest : httpRequest;
    const outgoing = send(request.url, {
      method: request.method,
      headers: [...hostOf(request), ...request.headers],
      agent: false,
      signal: AbortSignal.timeout(request.timeoutMs),
    });
    const fail = (error: Error & { readonly code?: string }): void => {
      const message =
        error.name === "TimeoutError" ? `no answer within ${request.timeoutMs} ms` : sentence(error);
      resolve({ kind: "failure", message, durationMs: elapsed() });
    };
    outgoing.on("error", fail);
    outgoing.on("response", (incoming) => {
      readSample(incoming).then((body) => {
        outgoing.destroy();
        resolve({
          kind: "answer",
          status: incoming.statusCode ?? 0,
          headers: singleHeaders(incoming),
          body,
          durationMs: elapsed(),
        });
      }, fail);
    });
    outgoing.end(request.body);
  });
}

function hostOf({ url, method, body }: ProbeRequest): readonly string[] {
  const length = method === "GET" || method === "OPTIONS" ? [] : ["Content-Length", String(body.length)];
  return ["Host", url.host, ...length];
}

async function readSample(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= bodyBytesMax) break;
  }
  return Buffer.concat(chunks).subarray(0, bodyBytesMax).toString("utf8");
}

function singleHeaders({ headers }: IncomingMessage): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]),
  );
}

function sentence(error: Error & { readonly code?: string }): string {
  return error.code === undefined ? error.message : `${error.code}: ${error.message}`;
}
