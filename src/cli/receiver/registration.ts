import { randomBytes } from "node:crypto";
import type { Profile, SignatureSchemeName } from "../../core/profile.ts";
import { needsKey } from "../../core/signing/schemes.ts";
import type { ApiClient, Json } from "../api-client.ts";
import { programCommand } from "../program-command.ts";
import type { Terminal } from "../terminal.ts";
import { RefusedError } from "../failures.ts";
import type { ListenSecrets } from "./listen-secrets.ts";
import type { CheckKeys } from "./verification.ts";

/** A webhook for as long as a receiver runs. */
export interface Registration extends AsyncDisposable {
  /** Of the webhook. */
  readonly id: string;
  /** What verifies its messages. */
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
  const webhook = await createWithSecret({ client, terminal, body, secrets });
  const id = String(webhook["id"]);
  const path = `/v1/webhooks/${id}`;
  terminal.note(`registered webhook ${id} for ${types.join(", ")}; it is deleted at the end`);
  if (webhook["status"] === "unverified")
    terminal.note(`nothing is sent to it yet: ${String((webhook["verification"] as Json)["detail"])}`);
  if (typeof webhook["secret"] === "string")
    terminal.note(
      `${secretVariable}=${webhook["secret"]}${secrets.isKept ? "" : "  (another one next time)"}`,
    );
  terminal.note(`now publish something: ${programCommand} publish ${exampleType(types)}${client.urlFlag}`);
  return {
    id,
    keys: async () => ({ secrets: await secretsOf(webhook, { client, path }), profile, keyId: id }),
    [Symbol.asyncDispose]: async () => {
      await client.call("DELETE", { path });
      terminal.note(`deleted webhook ${id}`);
    },
  };
}

/** What applications read. */
const secretVariable = "POSTHORN_WEBHOOK_SECRET";

/** With the secret of the time before, so that the application behind it need not be told a new one. */
async function createWithSecret(order: {
  readonly client: ApiClient;
  readonly terminal: Terminal;
  readonly body: Json;
  readonly secrets: ListenSecrets;
}): Promise<Json> {
  const { client, terminal, body, secrets } = order;
  const secret = secrets.last();
  try {
    const made = await client.post("/v1/webhooks", { body: { ...body, ...(secret !== null && { secret }) } });
    if (secret === null) secrets.keep(made["secret"]);
    return made;
  } catch (error) {
    if (!(error instanceof RefusedError) || error.code !== "secret_in_use") throw error;
    // Another listener runs, or one was killed and left its webhook behind.
    terminal.note("another webhook has the secret of the last time, so this one gets a secret of its own;");
    terminal.note(
      "one that was left behind is found with: posthorn webhooks list --search 'posthorn listen'",
    );
    secrets.leave();
    return client.post("/v1/webhooks", { body });
  }
}

/** Where a profile wants a bearer token, one that nobody needs to know. */
function tokenFor({ registration }: Profile): { readonly bearer_token?: string } {
  return registration.bearerTokenRequired ? { bearer_token: randomBytes(24).toString("base64url") } : {};
}

/** The shared secret, when it has one, and the public key of the tenant, when a scheme uses it. */
async function secretsOf(
  webhook: Json,
  { client, path }: { readonly client: ApiClient; readonly path: string },
): Promise<readonly string[]> {
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
