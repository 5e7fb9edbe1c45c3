import { PosthornError } from "../../../core/errors.ts";
import { type DnsRecord, dnsRecord } from "../../../core/verification/dns-record.ts";
import { judgeRate } from "../../../core/verification/handshake.ts";
import {
  afterVerification,
  type VerificationOutcome,
} from "../../../core/verification/verification-state.ts";
import type { Webhook } from "../../../core/webhook.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Random } from "../../../ports/random.ts";
import type { SecretBox } from "../../../ports/secret-box.ts";
import type { StoredSecret } from "../../../ports/store/webhooks.ts";
import { StoredCredentials } from "../../../engine/credentials/stored-credentials.ts";
import type { EngineAccess } from "../../../engine/engine-access.ts";
import type { LiveWebhook } from "../../../engine/endpoint/live-webhook.ts";
import type { ConfirmVerificationCommand, WebhookService } from "../../services.ts";
import { type CallbackKey, CallbackKeys } from "./callback-key.ts";
import { askPermission } from "./cloudevents-handshake.ts";
import { checkDnsRecord } from "./dns-check.ts";
import { sendChallenge } from "./echo-challenge.ts";
import type { VerificationMeans } from "./verification-means.ts";
import { VerificationSlots } from "./verification-slots.ts";

export interface WebhookVerificationsOptions {
  readonly access: Pick<EngineAccess, "webhook" | "nextId" | "waitingSlots">;
  readonly clock: Clock;
  readonly random: Random;
  readonly secretBox: SecretBox;
  readonly means: VerificationMeans;
}

/** Changes one webhook at once; `null` leaves it unchanged. Rejects with `not_found` if it was deleted. */
export type ChangeWebhook = (
  id: string,
  change: (webhook: Webhook) => Webhook | null,
) => Promise<LiveWebhook>;

const challengeBytes = 32;

/**
 * Verifies that receivers want the events. Requests to a receiver never block changes: a verification records its
 * start, sends the request, and then records the result, unless the webhook was changed or permission was granted
 * through the callback in the meantime.
 */
export class WebhookVerifications {
  readonly #options: WebhookVerificationsOptions;
  readonly #keys: CallbackKeys;
  readonly #slots: VerificationSlots;

  constructor(options: WebhookVerificationsOptions) {
    this.#options = options;
    this.#keys = new CallbackKeys({ ...options, publicUrl: options.means.publicUrl });
    this.#slots = new VerificationSlots(options.access.waitingSlots, options.clock);
  }

  /** The DNS record required of a webhook with the method `dns`. */
  dnsRecord({ id, url, verification }: Pick<Webhook, "id" | "url" | "verification">): DnsRecord | null {
    if (verification.method !== "dns") return null;
    const { hostname } = new URL(url);
    // Derived from webhook and host rather than stored: it is public once published.
    const token = this.#options.secretBox.digest(`verification record ${id} ${hostname}`);
    return dnsRecord(hostname, token);
  }

  /**
   * A webhook that must pass the echo challenge before it is saved (WDS-102), with the permission. Rejects with
   * `verification_failed`.
   */
  async proven(webhook: Webhook, secrets: readonly StoredSecret[]): Promise<Webhook> {
    const outcome = await this.#run({ webhook, secrets, key: null });
    if (outcome.kind === "granted") {
      return afterVerification(webhook, outcome, this.#options.clock.now());
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
      isSameQuestion(asked, webhook) ? afterVerification(webhook, outcome, this.#options.clock.now()) : null,
    );
  }

  /** Permission through the callback URL (CEW-4.1.3). All refusals are equal, so that none reveals what exists. */
  async confirm(
    command: ConfirmVerificationCommand,
    change: ChangeWebhook,
  ): ReturnType<WebhookService["confirmVerification"]> {
    const { id, key, allowedRate } = command;
    const found = this.#options.access.webhook(id)?.webhook;
    if (found === undefined || !this.#keys.opens(found, key)) throw unknownLink();
    const rate = judgeRate(allowedRate ?? undefined, found.verification.requestedRatePerMinute);
    if (rate.kind === "refused") {
      const fields = [{ field: "WebHook-Allowed-Rate", message: "must be * or a positive whole number" }];
      throw new PosthornError("invalid_request", rate.detail, { fields });
    }
    const { webhook } = await change(id, (current) => {
      // Of two calls with the same key, the second is too late.
      if (!this.#keys.opens(current, key)) throw unknownLink();
      const outcome = { ...rate, detail: "the receiver permitted it through the callback URL" };
      return afterVerification(current, outcome, this.#options.clock.now());
    });
    return { webhookId: id, allowedRatePerMinute: webhook.verification.allowedRatePerMinute };
  }

  async #run(question: Question): Promise<VerificationOutcome> {
    const outcome = await this.#slots.run(question.webhook.tenantId, () => this.#askBy(question));
    return outcome ?? { kind: "unreachable", detail: "too many verifications are running; retry shortly" };
  }

  async #askBy({ webhook, secrets, key }: Question): Promise<VerificationOutcome> {
    const { means, clock, random, access, secretBox } = this.#options;
    const credentials = new StoredCredentials(webhook, secrets, secretBox);
    const target = { webhook, clientCertificate: credentials.clientCertificate() };
    const { method } = webhook.verification;
    if (method === "cloudevents") return askPermission(target, { ...means, callbackUrl: key?.url ?? null });
    if (method === "challenge") {
      const challenge = Buffer.from(random.bytes(challengeBytes)).toString("base64url");
      return sendChallenge(target, { ...means, challenge, messageId: access.nextId(), now: clock.now() });
    }
    const record = this.dnsRecord(webhook);
    if (record !== null) return checkDnsRecord(record, means.names);
    return { kind: "granted", detail: "no verification is required", allowedRatePerMinute: null };
  }
}

interface Question {
  readonly webhook: Webhook;
  readonly secrets: readonly StoredSecret[];
  readonly key: CallbackKey | null;
}

/** Only the handshake has a callback; other methods have nothing to record before they start. */
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

/** False if URL or method changed, another verification started, or the callback was used. */
function isSameQuestion(asked: Webhook, now: Webhook): boolean {
  const before = asked.verification;
  const after = now.verification;
  return asked.url === now.url && before.method === after.method && before.tokenDigest === after.tokenDigest;
}

function unknownLink(): PosthornError {
  return new PosthornError("not_found", "this verification link does not exist, was used, or has expired");
}
