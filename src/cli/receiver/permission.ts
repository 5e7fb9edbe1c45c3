import { echoChallenge } from "../../receiver/challenge.ts";
import { answerHandshake } from "../../receiver/handshake.ts";
import { ReceiverError } from "../../receiver/receiver-error.ts";
import type { ReceivedDelivery, ReceiverAnswer } from "./local-receiver.ts";

/** A sender's verification request, with its response. */
export interface Permission {
  readonly question: "handshake" | "challenge";
  readonly answer: ReceiverAnswer;
}

/**
 * Grants every CloudEvents handshake and echo challenge, because the user started the receiver to see deliveries. Null
 * for other requests.
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
