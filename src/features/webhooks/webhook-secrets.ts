import type { DeliveryPolicy } from "../../domain/delivery-policy.ts";
import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import {
  type AsymmetricKey,
  asymmetricSecretText,
  generateEd25519Key,
  generateSymmetricSecret,
  parseSecret,
  publicKeyJwk,
  publicKeyText,
} from "../../domain/signing/signing-key.ts";
import { needsKey, signatureSchemeKeys, type SigningKeyKind } from "../../domain/signing/schemes.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";
import { rotateFields } from "../../resources/actions.ts";
import { defaultOf } from "../../resources/field.ts";
import { ProblemList, readFields } from "../input.ts";
import type {
  FeatureContext,
  RotateSecretCommand,
  WebhookPublicKeyView,
  WebhookSecretView,
} from "../services.ts";
import type { TenantKeys } from "../tenants/tenant-service.ts";

/** A key in its stored form, before it is sealed. */
interface PlainKey {
  readonly kind: SigningKeyKind;
  readonly text: string;
}

/**
 * Signing keys of webhooks. Plaintext exists only here and only during a call. Stored keys are sealed with the
 * webhook's id as context, so that rows cannot be swapped. Errors never contain any part of a secret: they describe
 * only its form (TS16-78).
 */
export class WebhookSecrets {
  readonly #context: FeatureContext;
  readonly #tenantKeys: TenantKeys;

  constructor(context: FeatureContext, tenantKeys: TenantKeys) {
    this.#context = context;
    this.#tenantKeys = tenantKeys;
  }

  /**
   * Reads a secret supplied by a user. If the secret is invalid, the problems are added to the list and the result is
   * null.
   */
  readSupplied(text: unknown, problems: ProblemList): PlainKey | null {
    const key = parseSecret(text);
    if (key.kind === "invalid") {
      problems.add({ field: "secret", message: key.detail });
      return null;
    }
    // Normalises the text, so that the digest finds a key regardless of its spelling.
    if (key.kind === "asymmetric") return { kind: "ed25519", text: asymmetricSecretText(key) };
    return { kind: "symmetric", text: String(text) };
  }

  /** Refuses a secret that any webhook of any tenant uses (TS16-74), without revealing which one. */
  async refuseReuse(key: PlainKey): Promise<void> {
    const user = await this.#context.store.webhooks.findBySecretDigest(
      this.#context.secretBox.digest(key.text),
    );
    if (user === null) return;
    throw new PosthornError(
      "secret_in_use",
      "the secret is in use elsewhere; omit it to have one generated",
      {
        fields: [{ field: "secret", message: "is already in use" }],
      },
    );
  }

  /**
   * The webhook's keys, including those added because its schemes require them. Creates the tenant's key if necessary.
   */
  async complete(
    webhook: Pick<Webhook, "id" | "tenantId">,
    policy: DeliveryPolicy,
    secrets: readonly StoredSecret[],
  ): Promise<readonly StoredSecret[]> {
    const { signatureSchemes } = policy;
    const has = (kind: StoredSecret["kind"]) => secrets.some((secret) => secret.kind === kind);
    if (needsKey(signatureSchemes, "ed25519") && !has("ed25519"))
      await this.#tenantKeys.ensure(webhook.tenantId);
    if (!needsKey(signatureSchemes, "symmetric") || has("symmetric")) return secrets;
    return [this.seal(webhook.id, this.#generate("symmetric")), ...secrets];
  }

  /** Seals a key for storage. */
  seal(webhookId: string, key: PlainKey): StoredSecret {
    const { secretBox, clock } = this.#context;
    return {
      kind: key.kind,
      ciphertext: secretBox.seal(key.text, webhookId),
      digest: secretBox.digest(key.text),
      createdAt: clock.now(),
      expiresAt: null,
    };
  }

  /** The current symmetric secret and, during the overlap of a rotation, the previous one. */
  view(live: Pick<LiveWebhook, "webhook" | "secrets">): WebhookSecretView {
    const [current, previous] = this.#inForce(live.secrets, "symmetric");
    return {
      secret: current === undefined ? null : this.#open(live.webhook.id, current),
      previous:
        previous === undefined || previous.expiresAt === null
          ? null
          : { secret: this.#open(live.webhook.id, previous), expiresAt: previous.expiresAt },
    };
  }

  /** `whsec_…` and the last four characters: enough to recognise the secret, but not to use it. */
  hint(live: Pick<LiveWebhook, "webhook" | "secrets">): string | null {
    const { secret } = this.view(live);
    return secret === null ? null : `whsec_…${secret.slice(-4)}`;
  }

  /** The key with which receivers verify Ed25519 signatures: the webhook's own, or the tenant's. */
  async publicKey(live: Pick<LiveWebhook, "webhook" | "secrets" | "policy">): Promise<WebhookPublicKeyView> {
    const { webhook } = live;
    if (!needsKey(live.policy.signatureSchemes, "ed25519")) {
      throw new NotFoundError(`a public key of this webhook (it does not sign with ${schemesOf("ed25519")})`);
    }
    const own = this.#inForce(live.secrets, "ed25519")[0];
    const shared = own === undefined ? (await this.#tenantKeys.ensure(webhook.tenantId))[0] : undefined;
    const text = own === undefined ? this.#open(webhook.tenantId, shared) : this.#open(webhook.id, own);
    const { publicKey } = parseSecret(text) as AsymmetricKey;
    return { publicKey: publicKeyText(publicKey), jwk: { ...publicKeyJwk(publicKey) } };
  }

  /**
   * The secrets after a rotation (TS16-68, TS16-69). `graceful` signs with both keys until the overlap ends. `revoke`
   * drops the old key, so that retries of old events also use only the new one. Rotates the same kind of key as the
   * supplied one. If no key is supplied, it rotates the shared secret. For a webhook whose schemes use no shared
   * secret, it rotates the key pair, which then belongs to the webhook instead of the tenant.
   */
  async rotate(live: LiveWebhook, command: RotateSecretCommand): Promise<readonly StoredSecret[]> {
    const { webhook, secrets, policy } = live;
    const next = this.#readRotation(command, policy);
    if ((command.secret ?? null) !== null) await this.refuseReuse(next);
    const current = await this.#currentOf(live, next.kind);
    const now = this.#context.clock.now();
    const overlapping = secrets.some((secret) => secret.kind === next.kind && (secret.expiresAt ?? 0) > now);
    // Revoking removes all old keys, including one that still overlaps.
    if (overlapping && command.mode !== "revoke" && command.force !== true) {
      const detail =
        "the overlap of the last rotation is still running; send force to end it now, or mode revoke";
      throw new PosthornError("rotation_in_progress", detail);
    }
    const others = secrets.filter((secret) => secret.kind !== next.kind);
    const fresh = { ...this.seal(webhook.id, next), createdAt: Math.max(now, (current?.createdAt ?? 0) + 1) };
    if (command.mode === "revoke" || current === undefined) return [fresh, ...others];
    const { overlapSeconds = defaultOf(rotateFields.overlapSeconds) } = command;
    return [fresh, { ...current, expiresAt: now + overlapSeconds * 1_000 }, ...others];
  }

  #readRotation(command: RotateSecretCommand, policy: DeliveryPolicy): PlainKey {
    const problems = new ProblemList();
    const { secret = null } = readFields(rotateFields, command, problems);
    const supplied = secret === null ? null : this.readSupplied(secret, problems);
    if (supplied !== null) requireScheme(supplied.kind, policy, problems);
    problems.throwIfAny("the rotation");
    const kind = needsKey(policy.signatureSchemes, "symmetric") ? "symmetric" : "ed25519";
    return supplied ?? this.#generate(kind);
  }

  /** The key that a rotation replaces, sealed for the webhook; the tenant's if the webhook has none. */
  async #currentOf(live: LiveWebhook, kind: SigningKeyKind): Promise<StoredSecret | undefined> {
    const own = this.#inForce(live.secrets, kind)[0];
    if (own !== undefined || kind === "symmetric") return own;
    const [shared] = await this.#tenantKeys.ensure(live.webhook.tenantId);
    if (shared === undefined) return undefined;
    return this.seal(live.webhook.id, { kind, text: this.#open(live.webhook.tenantId, shared) });
  }

  /** Newest first. */
  #inForce(secrets: readonly StoredSecret[], kind: SigningKeyKind): readonly StoredSecret[] {
    const now = this.#context.clock.now();
    return secrets
      .filter((secret) => secret.kind === kind && (secret.expiresAt === null || secret.expiresAt > now))
      .toSorted((left, right) => right.createdAt - left.createdAt);
  }

  #generate(kind: SigningKeyKind): PlainKey {
    const bytes = (count: number) => this.#context.random.bytes(count);
    return {
      kind,
      text: kind === "symmetric" ? generateSymmetricSecret(bytes) : generateEd25519Key(bytes).secret,
    };
  }

  #open(context: string, secret: StoredSecret | undefined): string {
    if (secret === undefined) throw new PosthornError("internal_error", "a signing key is missing");
    return this.#context.secretBox.open(secret.ciphertext, context);
  }
}

/** Refuses a key that none of the webhook's schemes use, because it would be stored but have no effect. */
export function requireScheme(
  kind: SigningKeyKind,
  policy: Pick<DeliveryPolicy, "signatureSchemes">,
  problems: ProblemList,
): void {
  if (needsKey(policy.signatureSchemes, kind)) return;
  problems.add({
    field: "secret",
    message: `is a key for ${schemesOf(kind)}, which this webhook does not use`,
  });
}

/** Names of schemes for error messages. */
function schemesOf(kind: SigningKeyKind): string {
  const named = Object.entries(signatureSchemeKeys).filter(([, needed]) => needed === kind);
  return named.map(([scheme]) => scheme).join(", ");
}
