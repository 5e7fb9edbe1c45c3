import { request as httpRequest } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";

/** A request as it is sent; headers as a flat name-value list. */
export interface ProbeRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: readonly string[];
  readonly body: ProbeBody;
  readonly timeoutMs: number;
  /** Replaces the system's DNS lookup, for callers that must not connect to every IP address. */
  readonly lookup?: LookupFunction;
}

/**
 * Either bytes, which are sent with a Content-Length, or zeros, which are sent in chunks until the response arrives or
 * `bytesMax` bytes were sent.
 */
export type ProbeBody = Uint8Array | { readonly bytesMax: number };

/** The response, or the reason why none arrived. */
export type ProbeAnswer =
  | {
      readonly kind: "answer";
      readonly status: number;
      /** Lower-case names. */
      readonly headers: Readonly<Record<string, string | undefined>>;
      /** The first 64 KiB of the body. */
      readonly body: string;
      /** Whether the receiver had read the whole body before it responded. */
      readonly isBodyTaken: boolean;
      readonly durationMs: number;
    }
  | {
      readonly kind: "failure";
      readonly cause: FailureCause;
      readonly message: string;
      readonly durationMs: number;
    };

/**
 * `unreachable`: no connection. `timeout`: no response in time. `closed`: the connection ended without a response.
 * `no_http`: the response is not HTTP.
 */
export type FailureCause = "unreachable" | "timeout" | "closed" | "no_http";

const sampleBytesMax = 64 * 1024;
const chunk = new Uint8Array(64 * 1024);

/**
 * Sends one request on a separate connection and reads the response. Verifies certificates and does not follow
 * redirects. Ends within `timeoutMs` and never rejects.
 */
export function probe(request: ProbeRequest): Promise<ProbeAnswer> {
  const startedAt = performance.now();
  const elapsed = (): number => Math.round(performance.now() - startedAt);
  return new Promise((resolve) => {
    const send = request.url.protocol === "https:" ? httpsRequest : httpRequest;
    const signal = AbortSignal.timeout(request.timeoutMs);
    const outgoing = send(request.url, {
      method: request.method,
      headers: [...ownHeaders(request), ...request.headers],
      agent: false,
      ...(request.lookup !== undefined && { lookup: request.lookup }),
      signal,
    });
    const fail = (error: CodedError): void => {
      const failure = signal.aborted ? late(request) : failureOf(error);
      resolve({ kind: "failure", ...failure, durationMs: elapsed() });
    };
    outgoing.on("error", fail);
    outgoing.on("response", (incoming) => {
      const isBodyTaken = outgoing.writableFinished;
      const durationMs = elapsed();
      readSample(incoming)
        .then((body) => {
          const { statusCode: status = 0 } = incoming;
          const headers = singleHeaders(incoming);
          resolve({ kind: "answer", status, headers, body, isBodyTaken, durationMs });
        }, fail)
        .finally(() => outgoing.destroy());
    });
    if (request.body instanceof Uint8Array) outgoing.end(request.body);
    else writeEndlessly(outgoing, request.body.bytesMax);
  });
}

function ownHeaders({ url, method, body }: ProbeRequest): readonly string[] {
  const host = ["Host", url.host];
  if (!(body instanceof Uint8Array)) return [...host, "Transfer-Encoding", "chunked"];
  const isBodiless = body.length === 0 && method !== "POST" && method !== "PUT";
  return isBodiless ? host : [...host, "Content-Length", String(body.length)];
}

/** Writes as fast as the receiver reads, until the receiver responds. */
function writeEndlessly(outgoing: ClientRequest, bytesMax: number): void {
  let bytes = 0;
  let isAnswered = false;
  outgoing.on("response", () => (isAnswered = true));
  const more = (): void => {
    while (!outgoing.destroyed && !isAnswered) {
      if (bytes >= bytesMax) return void outgoing.end();
      bytes += chunk.length;
      if (!outgoing.write(chunk)) return;
    }
  };
  outgoing.on("drain", more);
  more();
}

async function readSample(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    chunks.push(part);
    bytes += part.length;
    if (bytes >= sampleBytesMax) break;
  }
  return Buffer.concat(chunks).subarray(0, sampleBytesMax).toString("utf8");
}

function singleHeaders({ headers }: IncomingMessage): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]),
  );
}

type CodedError = Error & { readonly code?: string };

type Failure = Pick<ProbeAnswer & { readonly kind: "failure" }, "cause" | "message">;

function late({ timeoutMs }: ProbeRequest): Failure {
  return { cause: "timeout", message: `no response within ${timeoutMs} ms` };
}

function failureOf({ code = "", message }: CodedError): Failure {
  if (["ECONNRESET", "EPIPE", "ECONNABORTED"].includes(code))
    return { cause: "closed", message: "the connection was closed without a response" };
  if (code.startsWith("HPE_")) return { cause: "no_http", message: `the response is not HTTP (${code})` };
  const text = code === "" || message.includes(code) ? message : `${code}: ${message}`;
  return { cause: "unreachable", message: text };
}
