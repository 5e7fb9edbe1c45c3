import { echoChallenge } from "../../receiver/challenge.ts";
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
  const echo = echoChallenge(delivery.body);
  if (echo === null) return null;
  return { question: "challenge", answer: { ...echo, body: echo.body ?? "" } };
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
