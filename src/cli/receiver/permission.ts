import { answerHandshake } from "../../receiver/handshake.ts";
import { ReceiverError } from "../../receiver/receiver-error.ts";
import type { ReceivedDelivery, ReceiverAnswer } from "./local-receiver.ts";

/** A question of a sender before its first delivery, and what it is answered. */
export interface Permission {
  readonly question: "handshake" | "challenge";
  readonly answer: ReceiverAnswer;
}

/**
 * Consent to whoever asks, by CloudEvents handshake or echo challenge: a receiver on this machine that somebody started
 * to see deliveries wants them. Null for anything else.
 */
export async function permissionFor(delivery: ReceivedDelivery): Promise<Permission | null> {
  if (delivery.method === "OPTIONS") return handshake(delivery);
  const challenge = challengeOf(delivery);
  return challenge === null ? null : { question: "challenge", answer: { status: 200, body: challenge } };
}

async function handshake({ method, path, headers, body }: ReceivedDelivery): Promise<Permission> {
  const message = { method, url: path, body, headers: { get: (name: string) => headers[name] ?? null } };
  try {
    const { status, headers: granted } = await answerHandshake(message, { allow: "*" });
    return { question: "handshake", answer: { status, headers: granted } };
  } catch (error) {
    if (!(error instanceof ReceiverError)) throw error;
    return { question: "handshake", answer: { status: 400, body: error.message } };
  }
}

function challengeOf({ body }: ReceivedDelivery): string | null {
  try {
    const message: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    if (typeof message !== "object" || message === null) return null;
    const { type, challenge } = message as { readonly type?: unknown; readonly challenge?: unknown };
    return type === "posthorn.webhook.verification" && typeof challenge === "string" ? challenge : null;
  } catch {
    return null;
  }
}
