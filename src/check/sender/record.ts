import type { IncomingHttpHeaders } from "node:http";
import type { Profile } from "../../domain/profile.ts";
import type { MessageVerifier } from "../../receiver/message/message.ts";
import type { Result, Rule } from "../finding.ts";

/** A request as received from a sender. */
export interface ArrivedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** `performance.now()` when its head arrived. */
  readonly arrivedAtMs: number;
  /** Unix milliseconds. */
  readonly receivedAt: number;
}

export interface RecordedRequest extends ArrivedRequest {
  /** The status of the response, and the seconds of its Retry-After. */
  readonly status: number;
  readonly retryAfterSeconds: number | null;
}

/** The requests of one event, in order of arrival. */
export interface RecordedEvent {
  readonly requests: readonly RecordedRequest[];
}

/**
 * The event of which a request is an attempt; undefined if it is a new one. The message id decides; without one, the
 * key. If the message ids differ, the key decides only together with the body, so that a reused key can be
 * distinguished from a message id that changes between attempts. Without id and key, only the body is compared.
 */
export function eventOf<Event extends RecordedEvent>(
  request: ArrivedRequest,
  events: readonly Event[],
): Event | undefined {
  const same = (name: (request: ArrivedRequest) => string | null): Event | undefined => {
    const value = name(request);
    return events.find(({ requests: [first] }) => {
      return value !== null && first !== undefined && name(first) === value;
    });
  };
  const body = (one: ArrivedRequest): string => one.body.toString("latin1");
  const byId = same(messageIdOf);
  if (byId !== undefined) return byId;
  if (keyOf(request) === null) return messageIdOf(request) === null ? same(body) : undefined;
  if (messageIdOf(request) === null) return same(keyOf);
  return same((one) => `${keyOf(one)} ${body(one)}`);
}

function messageIdOf({ headers }: ArrivedRequest): string | null {
  return headerText(headers, "webhook-id") ?? headerText(headers, "ce-id");
}

/** From whichever header contains it. */
export function keyOf({ headers }: ArrivedRequest): string | null {
  return headerText(headers, "idempotency-key") ?? headerText(headers, "x-idempotency-key");
}

export function headerText(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name.toLowerCase()];
  if (value === undefined) return null;
  return typeof value === "string" ? value : value.join(", ");
}

/** Sending time in Unix milliseconds, from whichever header contains it. */
export function sentAtMs({ headers }: ArrivedRequest): number | null {
  const seconds =
    headerText(headers, "webhook-timestamp") ??
    /(?:^|,)t=(\d{1,15})/.exec(headerText(headers, "x-webhook-signature") ?? "")?.[1] ??
    /;created=(\d{1,15})/.exec(headerText(headers, "signature-input") ?? "")?.[1];
  return seconds !== undefined && /^\d{1,15}$/.test(seconds) ? Number(seconds) * 1000 : null;
}

/** Recorded requests of a sender. */
export interface SenderSession {
  readonly profile: Profile;
  /** Null if no secret was given. */
  readonly verifier: MessageVerifier | null;
  readonly bearerToken: string | null;
  readonly events: readonly RecordedEvent[];
  /** All requests except those to the target of the redirect, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  readonly followed: readonly RecordedRequest[];
}

/** One rule for senders. Evaluated if there is at least one request. */
export interface SenderRule extends Rule {
  judge(session: SenderSession): Result | Promise<Result>;
}
