/** The CloudEvents handshake: a sender asks by OPTIONS whether it may deliver (CEW-4), and may get consent later. */
import { judgeUrl, type UrlRules } from "../../domain/egress/url-policy.ts";
import { PosthornError } from "../../domain/errors.ts";
import type { Source } from "./source.ts";
import type { Transport } from "../../ports/transport.ts";
import { answerHandshake, type HandshakeRequest } from "../../receiver/handshake.ts";
import type { ReceivedMessage } from "../../receiver/message/message.ts";
import type { InboundAnswer } from "./gateway-services.ts";
import type { OutsideCalls } from "../verification/outside-calls.ts";

type SourceHandshake = NonNullable<Source["handshake"]>;

/** The answer to a handshake and its log entry. */
export interface Consent {
  readonly answer: InboundAnswer;
  readonly isGiven: boolean;
  readonly detail: string;
  /** Where consent can be sent later; null unless it was withheld and the sender supports it (CEW-4.2-2). */
  readonly callbackUrl: string | null;
}

/** Throws ReceiverError `invalid_message` if the request is not a handshake. */
export async function answerConsent(message: ReceivedMessage, source: Source): Promise<Consent> {
  const { allowedOrigins } = source.handshake as SourceHandshake;
  const withheld: HandshakeRequest[] = [];
  const decide = (request: HandshakeRequest) => {
    const { origin, callbackUrl } = request;
    if (allowedOrigins.some((name) => name.toLowerCase() === origin.toLowerCase())) return "allow";
    withheld.push(request);
    return callbackUrl === null ? "deny" : "later";
  };
  const allow = allowedOrigins.includes("*") ? "*" : decide;
  const answer = await answerHandshake(message, { allow, ratePerMinuteMax: rateMaxOf(source) });
  return { ...described(withheld[0]), answer: { ...answer, body: answer.body ?? "" } };
}

function described(withheld: HandshakeRequest | undefined): Omit<Consent, "answer"> {
  if (withheld === undefined) return { isGiven: true, detail: "The sender may deliver.", callbackUrl: null };
  const { origin, callbackUrl } = withheld;
  const later = callbackUrl === null ? "" : "; after adding it, replay this request to notify the sender";
  return { isGiven: false, detail: `${origin} is not among allowed_origins${later}.`, callbackUrl };
}

function rateMaxOf({ handshake, rateLimit }: Source): number | "*" {
  return handshake?.ratePerMinuteMax ?? rateLimit?.requestsPerMinute ?? "*";
}

export interface ConsentSender {
  readonly transport: Pick<Transport, "send">;
  readonly urlRules: UrlRules;
  readonly calls: OutsideCalls;
}

const callbackTimeoutMs = 10_000;

/**
 * Notifies a sender that it may deliver now, by POST to its callback address (CEW-4.1.3). Anyone can choose that
 * address, so the rules for webhook URLs apply. Throws PosthornError `conflict` if the sender does not accept, and
 * `rate_limited`.
 */
export async function giveConsent(
  { transport, urlRules, calls }: ConsentSender,
  tenantId: string,
  message: ReceivedMessage,
  consent: Consent,
): Promise<void> {
  const judged = judgeUrl(message.headers.get("webhook-request-callback")?.trim() ?? "", urlRules);
  if (judged.kind === "refused")
    throw new PosthornError("conflict", "the callback address of the sender is not allowed");
  const { origin, pathname, search } = new URL(judged.url);
  const request = {
    method: "POST",
    origin,
    path: pathname + search,
    body: new Uint8Array(),
    timeoutMs: callbackTimeoutMs,
    headers: ["WebHook-Allowed-Rate", consent.answer.headers["webhook-allowed-rate"] ?? "*"],
    http2: false,
    clientCertificate: null,
  } as const;
  const { observation } = await calls.run(tenantId, judged.url, () => transport.send(request));
  const isTaken = observation.kind === "response" && observation.status >= 200 && observation.status < 300;
  if (!isTaken) throw new PosthornError("conflict", "the sender could not be notified that it may deliver");
}
