/** A small Standard Webhooks sender that is correct except for the given mistakes. */
import { createHmac, randomUUID } from "node:crypto";
import { request } from "node:http";
import { secret } from "./examine.fixture.ts";

/** One attempt just before it is sent. */
export interface Attempt {
  readonly method: string;
  readonly url: string;
  readonly id: string;
  /** Value of Idempotency-Key; null omits the header. */
  readonly key: string | null;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly contentType: string | null;
  readonly body: string;
  /** Computes the signature of these parts. Tests replace it to send a wrong signature. */
  readonly signature: (parts: {
    readonly id: string;
    readonly timestamp: number;
    readonly body: string;
  }) => string;
}

export interface SenderFault {
  /** Changes an attempt; `event` and `attempt` count from 0. */
  readonly change?: (attempt: Attempt, at: { readonly event: number; readonly attempt: number }) => Attempt;
  /** Milliseconds to wait after a response; null stops retrying. The default is Retry-After, or 50 without it. */
  readonly waitMs?: (retryAfterSeconds: number | null) => number | null;
  readonly followsRedirects?: boolean;
}

const keyBytes = Buffer.from(secret.slice("whsec_".length), "base64");

function sign({ id, timestamp, body }: { id: string; timestamp: number; body: string }): string {
  return `v1,${createHmac("sha256", keyBytes).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}

/** Sends two events to the URL concurrently, each until it is accepted. */
export async function sendTwoEvents(url: string, fault: SenderFault): Promise<void> {
  await Promise.all([0, 1].map((event) => sendEvent(url, { event, fault })));
}

async function sendEvent(
  url: string,
  { event, fault }: { readonly event: number; readonly fault: SenderFault },
): Promise<void> {
  const id = randomUUID();
  const body = JSON.stringify({ type: "check.test", timestamp: new Date().toISOString(), data: { event } });
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const honest: Attempt = {
      method: "POST",
      url,
      id,
      key: `"${id}"`,
      contentType: "application/json",
      body,
      signature: sign,
      timestamp: Math.floor(Date.now() / 1000),
    };
    const answer = await post(fault.change?.(honest, { event, attempt }) ?? honest);
    if (answer.status < 300) return;
    if (answer.location !== null && fault.followsRedirects === true)
      await post({ ...honest, url: new URL(answer.location, url).href });
    const asked = answer.retryAfterSeconds;
    const waitMs = fault.waitMs === undefined ? (asked ?? 0.05) * 1000 : fault.waitMs(asked);
    if (waitMs === null) return;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

interface Answer {
  readonly status: number;
  readonly retryAfterSeconds: number | null;
  readonly location: string | null;
}

function post(attempt: Attempt): Promise<Answer> {
  const { method, url, id, key, timestamp, contentType, body, signature } = attempt;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method,
      agent: false,
      headers: {
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": signature({ id, timestamp, body }),
        "content-length": Buffer.byteLength(body),
        ...(key !== null && { "idempotency-key": key }),
        ...(contentType !== null && { "content-type": contentType }),
      },
    });
    outgoing.on("error", reject).on("response", (incoming) => {
      incoming.resume();
      const { "retry-after": retryAfter, location } = incoming.headers;
      resolve({
        status: incoming.statusCode ?? 0,
        retryAfterSeconds: retryAfter === undefined ? null : Number(retryAfter),
        location: location ?? null,
      });
    });
    outgoing.end(body);
  });
}
