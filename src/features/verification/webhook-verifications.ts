import { timingSafeEqual } from "node:crypto";
import { PosthornError } from "../../domain/errors.ts";
import type { WaitingSlots } from "../../domain/request-slots.ts";
import { Places } from "../../domain/sender-places.ts";
import type { Webhook } from "../../domain/webhook.ts";
import { StoredCredentials } from "../../engine/credentials/oauth2-tokens.ts";
import type { LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import type { Clock } from "../../ports/clock.ts";
import type { NameLookup } from "../../ports/name-lookup.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";
import type { ClientCertificate, OutboundRequest, Transport } from "../../ports/transport.ts";
import type { ConfirmVerificationCommand, FeatureContext, VerificationConfirmed } from "../services.ts";
import {
  afterVerification,
  challengeBody,
  type DnsRecord,
  dnsRecord,
  isEcho,
  judgeHandshake,
  judgeRate,
  type VerificationOutcome,
} from "./verification.ts";

/** 256 bits: twice what "hard to guess" in the specification is commonly taken to mean. */
const keyBytes = 32;
const keyLifetimeMs = 7 * 86_400_000;

/**
 * The key of a callback URL (CEW-4.1.3-5). It is sent once, stored as a keyed digest, and valid for one use within
 * seven days.
 */
interface CallbackKey {
  readonly url: string;
  readonly digest: string;
  readonly expiresAt: number;
}

class CallbackKeys {
  readonly #context: FeatureContext;
  readonly #publicUrl: string | null;

  constructor(context: FeatureContext, publicUrl: string | null) {
    this.#context = context;
    this.#publicUrl = publicUrl;
  }

  /**
   * Issues a key for a callback URL. Null if no callback is possible, because the public URL of the server is not
   * configured.
   */
  issue(webhookId: string): CallbackKey | null {
    const { clock, random } = this.#context;
    if (this.#publicUrl === null) return null;
    const key = Buffer.from(random.bytes(keyBytes)).toString("base64url");
    return {
      url: `${this.#publicUrl}/v1/webhooks/${webhookId}/verification-callback?key=${key}`,
      digest: this.#digest(webhookId, key),
      expiresAt: clock.now() + keyLifetimeMs,
    };
  }

  /** Whether the webhook currently accepts this key. */
  opens({ id, verification }: Pick<Webhook, "id" | "verification">, key: string): boolean {
    const { tokenDigest, tokenExpiresAt } = verification;
    const presented = Buffer.from(this.#digest(id, key));
    // Compares even without an expected value, so that timing reveals nothing.
    const expected = Buffer.from(tokenDigest ?? this.#digest(id, ""));
    const isEqual = presented.length === expected.length && timingSafeEqual(presented, expected);
    const isInTime = tokenExpiresAt !== null && this.#context.clock.now() < tokenExpiresAt;
    return isEqual && tokenDigest !== null && isInTime;
  }

  #digest(webhookId: string, key: string): string {
    return this.#context.secretBox.digest(`verification callback ${webhookId} ${key}`);
  }
}

/** Dependencies for verification requests. Every request uses the transport and its egress rules. */
export interface VerificationMeans {
  readonly transport: Transport;
  readonly names: NameLookup;
  readonly userAgent: string;
  /** `WebHook-Request-Origin`: the DNS name of this system (CEW-4.1.2-1). */
  readonly requestOrigin: string;
  /** Public address of this server without a trailing slash. If it is null, callbacks are disabled. */
  readonly publicUrl: string | null;
}

/** The receiver, and the client certificate that the receiver's server may require. */
interface VerificationTarget {
  readonly webhook: Pick<Webhook, "id" | "url" | "http2" | "verification">;
  readonly clientCertificate: ClientCertificate | null;
}

const timeoutMs = 10_000;

/**
 * A request to the exact URL of a webhook. It carries no credentials or custom headers: a URL must be verified before
 * it receives anything that is meant only for the receiver (CEW-4-2).
 */
function requestTo(
  { webhook, clientCertificate }: VerificationTarget,
  more: Pick<OutboundRequest, "method" | "headers" | "body"> & { readonly responseBodyBytesMax?: number },
): OutboundRequest {
  const url = new URL(webhook.url);
  return {
    ...more,
    origin: url.origin,
    path: url.pathname + url.search,
    timeoutMs,
    http2: webhook.http2,
    clientCertificate,
  };
}

/**
 * Requests permission with OPTIONS (CEW-4.1). If `callbackUrl` is given, the receiver or a person can grant it later.
 */
async function askPermission(
  target: VerificationTarget,
  how: Pick<VerificationMeans, "transport" | "userAgent" | "requestOrigin"> & {
    readonly callbackUrl: string | null;
  },
): Promise<VerificationOutcome> {
  const { requestedRatePerMinute } = target.webhook.verification;
  const headers = ["User-Agent", how.userAgent, "WebHook-Request-Origin", how.requestOrigin];
  if (how.callbackUrl !== null) headers.push("WebHook-Request-Callback", how.callbackUrl);
  if (requestedRatePerMinute !== null) headers.push("WebHook-Request-Rate", String(requestedRatePerMinute));
  const result = await how.transport.send(requestTo(target, { method: "OPTIONS", headers, body: noBody }));
  if (result.observation.kind === "failure") {
    return {
      kind: "unreachable",
      detail: `OPTIONS got no response: ${result.errorMessage ?? "no connection"}`,
    };
  }
  const verdict = judgeHandshake({
    requestOrigin: how.requestOrigin,
    requestedRatePerMinute,
    status: result.observation.status,
    allowedOrigin: result.fields["webhook-allowed-origin"],
    allowedRate: result.fields["webhook-allowed-rate"],
  });
  if (verdict.kind === "granted") {
    return { ...verdict, detail: "the receiver permitted it in its response to OPTIONS" };
  }
  if (verdict.kind === "refused") return verdict;
  if (verdict.kind === "failed") return { kind: "unreachable", detail: verdict.detail };
  const hope = how.callbackUrl === null ? "" : "; permission may still come through the callback URL";
  return { kind: "waiting", detail: `${verdict.detail}${hope}` };
}

const noBody = new Uint8Array();

/** Checks the TXT record that proves ownership of a domain (TS16-125). Other records with the same name are ignored. */
async function checkDnsRecord(record: DnsRecord, names: NameLookup): Promise<VerificationOutcome> {
  const found = await names.texts(record.name);
  if (found.kind === "failed") return { kind: "unreachable", detail: found.detail };
  if (found.kind === "absent") {
    return { kind: "waiting", detail: `there is no TXT record at ${record.name} yet` };
  }
  if (!found.texts.some((text) => text.trim() === record.value)) {
    return { kind: "waiting", detail: `the TXT records at ${record.name} do not contain the expected value` };
  }
  return {
    kind: "granted",
    detail: `the TXT record at ${record.name} was found`,
    allowedRatePerMinute: null,
  };
}

/** The echoed challenge is short, so a longer response cannot be valid. */
const answerBytesMax = 4_096;

/**
 * Sends a random string that the receiver must return with a 2xx status (WDS-170). Like every message, it has an id and
 * a timestamp. It has no signature, because the receiver does not have the secret during registration.
 */
async function sendChallenge(
  target: VerificationTarget,
  how: Pick<VerificationMeans, "transport" | "userAgent"> & {
    readonly challenge: string;
    readonly messageId: string;
    readonly now: number;
  },
): Promise<VerificationOutcome> {
  const headers = [
    "Content-Type",
    "application/json",
    "User-Agent",
    how.userAgent,
    "Webhook-ID",
    how.messageId,
    "Webhook-Timestamp",
    String(Math.floor(how.now / 1_000)),
  ];
  const body = Buffer.from(challengeBody(how.challenge));
  const request = { method: "POST", headers, body, responseBodyBytesMax: answerBytesMax } as const;
  const { observation, responseSample, errorMessage } = await how.transport.send(requestTo(target, request));
  if (observation.kind === "failure") {
    return {
      kind: "unreachable",
      detail: `the challenge got no response: ${errorMessage ?? "no connection"}`,
    };
  }
  const { status } = observation;
  if (status < 200 || status > 299) {
    return { kind: "refused", detail: `the receiver responded to the challenge with status ${status}` };
  }
  const answer = Buffer.from(responseSample ?? []).toString("utf8");
  if (!isEcho(answer, how.challenge)) {
    const seen = answer === "" ? "an empty body" : `${Buffer.byteLength(answer)} bytes other than its echo`;
    return {
      kind: "refused",
      detail: `the receiver responded to the challenge with status ${status} and ${seen}`,
    };
  }
  return { kind: "granted", detail: "the receiver echoed the challenge", allowedRatePerMinute: null };
}

/** Maximum number of concurrent requests that have run for less than a second. */
const activeMax = 32;
/** Maximum number of concurrent requests of one tenant. */
const tenantMax = 8;

/**
 * Limits concurrent verification requests. A receiver that never responds occupies a socket until its timeout. After
 * one second, a request moves from an active slot to a waiting slot, so that it does not block other tenants.
 */
class VerificationSlots {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #places: Places;

  constructor(waitingSlots: WaitingSlots, clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
    this.#places = new Places({ totalMax: activeMax, perKeyMax: tenantMax }, waitingSlots);
  }

  /** The result of the work; null if no slot is free. */
  async run<Result>(tenantId: string, work: () => Promise<Result>): Promise<Result | null> {
    const owner = { tenantId, key: `verification ${tenantId}` };
    const free = this.#places.take(owner, 0, this.#clock.monotonicMs());
    if (free === null) return null;
    try {
      return await work();
    } finally {
      free(this.#clock.monotonicMs());
    }
  }
}

/**
 * Changes one webhook atomically; if the callback returns null, the webhook is unchanged. Rejects with `not_found` if
 * the webhook was deleted.
 */
export type ChangeWebhook = (
  id: string,
  change: (webhook: Webhook) => Webhook | null,
) => Promise<LiveWebhook>;

const challengeBytes = 32;

/**
 * Verifies that receivers want the events. Requests to a receiver never block changes: a verification records its
 * start, sends the request, and then records the result. The result is not recorded if the webhook was changed, or
 * permission was granted through the callback, during the request.
 */
export class WebhookVerifications {
  readonly #context: FeatureContext;
  readonly #means: VerificationMeans;
  readonly #keys: CallbackKeys;
  readonly #slots: VerificationSlots;

  constructor(context: FeatureContext, means: VerificationMeans) {
    this.#context = context;
    this.#means = means;
    this.#keys = new CallbackKeys(context, means.publicUrl);
    this.#slots = new VerificationSlots(context.access.waitingSlots, context.clock);
  }

  /** The DNS record required of a webhook with the method `dns`. */
  dnsRecord({ id, url, verification }: Pick<Webhook, "id" | "url" | "verification">): DnsRecord | null {
    if (verification.method !== "dns") return null;
    const { hostname } = new URL(url);
    // Derived from webhook and host rather than stored: it is public once published.
    const token = this.#context.secretBox.digest(`verification record ${id} ${hostname}`);
    return dnsRecord(hostname, token);
  }

  /**
   * Verifies a webhook that must pass the echo challenge before it is saved (WDS-102), and returns it with the
   * permission. Rejects with `verification_failed`.
   */
  async proven(webhook: Webhook, secrets: readonly StoredSecret[]): Promise<Webhook> {
    const outcome = await this.#run({ webhook, secrets, key: null });
    if (outcome.kind === "granted") {
      return afterVerification(webhook, outcome, this.#context.clock.now());
    }
    throw new PosthornError("verification_failed", outcome.detail, {
      fields: [{ field: "url", message: outcome.detail }],
    });
  }

  /** Verifies a stored webhook and records the result. */
  async ask(id: string, change: ChangeWebhook): Promise<LiveWebhook> {
    const key = this.#keys.issue(id);
    const live = await change(id, (webhook) => begun(webhook, key));
    const asked = live.webhook;
    const outcome = await this.#run({ webhook: asked, secrets: live.secrets, key });
    return change(id, (webhook) =>
      isSameQuestion(asked, webhook) ? afterVerification(webhook, outcome, this.#context.clock.now()) : null,
    );
  }

  /**
   * Grants permission through the callback URL (CEW-4.1.3). All refusals are identical, so that none reveals what
   * exists.
   */
  async confirm(command: ConfirmVerificationCommand, change: ChangeWebhook): Promise<VerificationConfirmed> {
    const { id, key, allowedRate } = command;
    const found = this.#context.access.webhook(id)?.webhook;
    if (found === undefined || !this.#keys.opens(found, key)) throw unknownLink();
    const rate = judgeRate(allowedRate ?? undefined, found.verification.requestedRatePerMinute);
    if (rate.kind === "refused") {
      const fields = [{ field: "WebHook-Allowed-Rate", message: "must be * or a positive whole number" }];
      throw new PosthornError("invalid_request", rate.detail, { fields });
    }
    const { webhook } = await change(id, (current) => {
      // The key is single-use: a second call with the same key fails.
      if (!this.#keys.opens(current, key)) throw unknownLink();
      const outcome = { ...rate, detail: "the receiver permitted it through the callback URL" };
      return afterVerification(current, outcome, this.#context.clock.now());
    });
    return { webhookId: id, allowedRatePerMinute: webhook.verification.allowedRatePerMinute };
  }

  async #run(question: Question): Promise<VerificationOutcome> {
    const outcome = await this.#slots.run(question.webhook.tenantId, () => this.#askBy(question));
    return outcome ?? { kind: "unreachable", detail: "too many verifications are running; retry shortly" };
  }

  async #askBy({ webhook, secrets, key }: Question): Promise<VerificationOutcome> {
    const { clock, random, access, secretBox } = this.#context;
    const credentials = new StoredCredentials(webhook, secrets, secretBox);
    const target = { webhook, clientCertificate: credentials.clientCertificate() };
    const { method } = webhook.verification;
    if (method === "cloudevents")
      return askPermission(target, { ...this.#means, callbackUrl: key?.url ?? null });
    if (method === "challenge") {
      const challenge = Buffer.from(random.bytes(challengeBytes)).toString("base64url");
      return sendChallenge(target, {
        ...this.#means,
        challenge,
        messageId: access.nextId(),
        now: clock.now(),
      });
    }
    const record = this.dnsRecord(webhook);
    if (record !== null) return checkDnsRecord(record, this.#means.names);
    return { kind: "granted", detail: "no verification is required", allowedRatePerMinute: null };
  }
}

interface Question {
  readonly webhook: Webhook;
  readonly secrets: readonly StoredSecret[];
  readonly key: CallbackKey | null;
}

/**
 * The webhook with the callback key that is recorded before the request. Null if no callback is possible; only the
 * handshake has one.
 */
function begun(webhook: Webhook, key: CallbackKey | null): Webhook | null {
  const { verification } = webhook;
  if (verification.method === "none") {
    throw new PosthornError("conflict", "the webhook has no verification method; set verification first");
  }
  if (verification.method !== "cloudevents" || key === null) return null;
  return {
    ...webhook,
    verification: { ...verification, tokenDigest: key.digest, tokenExpiresAt: key.expiresAt },
  };
}

/** False if the URL or the method changed, another verification started, or the callback was used. */
function isSameQuestion(asked: Webhook, now: Webhook): boolean {
  const before = asked.verification;
  const after = now.verification;
  return asked.url === now.url && before.method === after.method && before.tokenDigest === after.tokenDigest;
}

function unknownLink(): PosthornError {
  return new PosthornError("not_found", "this verification link does not exist, was used, or has expired");
}
