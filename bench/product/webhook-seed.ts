import type { SignatureSchemeName } from "../../src/core/profile.ts";
import type { Webhook } from "../../src/core/webhook.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { SecretBox } from "../../src/ports/secret-box.ts";
import type { Store } from "../../src/ports/store.ts";
import type { StoredSecret } from "../../src/ports/store/webhooks.ts";
import { secretTexts } from "../message.ts";

export interface WebhookSeed {
  readonly url: string;
  readonly eventType: string;
  readonly schemes: readonly SignatureSchemeName[];
}

/** Stores one webhook with default settings and its keys, and returns its id. */
export async function saveWebhook(
  seed: WebhookSeed,
  into: { readonly store: Store; readonly engine: Engine; readonly secretBox: SecretBox },
): Promise<string> {
  const id = into.engine.nextId();
  const now = Date.now();
  const webhook: Webhook = {
    id,
    tenantId: "default",
    ownerId: null,
    url: seed.url,
    events: [seed.eventType],
    description: "",
    status: "active",
    statusReason: null,
    statusChangedAt: now,
    profile: "standard",
    schemes: seed.schemes,
    retry: { schedule: null, ageMsMax: null, timeoutMs: null, timeoutGrowthFactor: null },
    circuitBreaker: {},
    rateLimit: null,
    ordering: "none",
    headers: {},
    metadata: {},
    createdAt: now,
    updatedAt: now,
  };
  const secrets = seed.schemes.map((scheme): StoredSecret => {
    const plaintext = secretTexts[scheme];
    return {
      kind: scheme === "v1" ? "symmetric" : "ed25519",
      ciphertext: into.secretBox.seal({ plaintext, context: id }),
      digest: into.secretBox.digest(plaintext),
      createdAt: now,
      expiresAt: null,
    };
  });
  await into.store.webhooks.save(webhook);
  await into.store.webhooks.saveSecrets({ webhookId: id, secrets });
  into.engine.applyWebhook({ webhook, secrets });
  return id;
}
