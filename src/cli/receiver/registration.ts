import { randomBytes } from "node:crypto";
import type { Profile, SignatureSchemeName } from "../../core/profile.ts";
import { needsKey } from "../../core/signing/schemes.ts";
import type { ApiClient, Json } from "../api-client.ts";
import { programCommand } from "../program-command.ts";
import type { Terminal } from "../terminal.ts";
import { RefusedError } from "../failures.ts";
import type { ListenSecrets } from "./listen-secrets.ts";
import type { CheckKeys } from "./verification.ts";

/** A webhook that exists while the receiver runs. */
export interface Registration extends AsyncDisposable {
  /** Webhook id. */
  readonly id: string;
  /** Keys that verify its messages. */
  keys(): Promise<CheckKeys>;
}

/** Subscribes the URL. Disposing deletes the webhook again. */
export async function register(order: {
  readonly types: readonly string[];
  readonly url: string;
  readonly profile: Profile;
  readonly client: ApiClient;
  readonly terminal: Terminal;
  readonly secrets: ListenSecrets;
}): Promise<Registration> {
  const { types, url, profile, client, terminal, secrets } = order;
  const body = {
    url,
    events: types,
    description: "posthorn listen",
    profile: profile.name,
    ...tokenFor(profile),
  };
  const webhook = await createWithSecret(client, terminal, body, secrets);
  const id = String(webhook["id"]);
  const path = `/v1/webhooks/${id}`;
  terminal.note(`registered webhook ${id} for ${types.join(", ")}. It is deleted on exit`);
  if (webhook["status"] === "unverified")
    terminal.note(`nothing is sent yet: ${String((webhook["verification"] as Json)["detail"])}`);
  if (typeof webhook["secret"] === "string")
    terminal.note(
      `${secretVariable}=${webhook["secret"]}${secrets.isKept ? "" : "  (changes with the next run)"}`,
    );
  terminal.note(`publish an event: ${programCommand} publish ${exampleType(types)}${client.urlFlag}`);
  return {
    id,
    keys: async () => ({ secrets: await secretsOf(webhook, client, path), profile, keyId: id }),
    [Symbol.asyncDispose]: async () => {
      await client.call("DELETE", { path });
      terminal.note(`deleted webhook ${id}`);
    },
  };
}

/** Variable name that applications read. */
const secretVariable = "POSTHORN_WEBHOOK_SECRET";

/** Reuses the secret of the last run, so that the application needs no new one. */
async function createWithSecret(
  client: ApiClient,
  terminal: Terminal,
  body: Json,
  secrets: ListenSecrets,
): Promise<Json> {
  const secret = secrets.last();
  try {
    const made = await client.post("/v1/webhooks", { body: { ...body, ...(secret !== null && { secret }) } });
    if (secret === null) secrets.keep(made["secret"]);
    return made;
  } catch (error) {
    if (!(error instanceof RefusedError) || error.code !== "secret_in_use") throw error;
    // Another listener is running, or one was killed before deleting its webhook.
    terminal.note("another webhook uses the secret of the last run, so this one gets a new secret.");
    terminal.note("To find a leftover webhook: posthorn webhooks list --search 'posthorn listen'");
    secrets.leave();
    return client.post("/v1/webhooks", { body });
  }
}

/** A random bearer token for profiles that require one. */
function tokenFor({ registration }: Profile): { readonly bearer_token?: string } {
  return registration.bearerTokenRequired ? { bearer_token: randomBytes(24).toString("base64url") } : {};
}

/** The shared secret, if any, and the tenant's public key if a scheme uses it. */
async function secretsOf(webhook: Json, client: ApiClient, path: string): Promise<readonly string[]> {
  const { schemes } = webhook["signing"] as { readonly schemes: readonly SignatureSchemeName[] };
  const secret = webhook["secret"];
  const shared = typeof secret === "string" ? [secret] : [];
  if (!needsKey(schemes, "ed25519")) return shared;
  const { public_key: publicKey } = await client.get(`${path}/public-key`);
  return [...shared, String(publicKey)];
}

function exampleType([first = "*"]: readonly string[]): string {
  if (first === "*") return "order.completed";
  return first.endsWith(".*") ? `${first.slice(0, -1)}completed` : first;
}
