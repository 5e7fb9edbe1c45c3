/**
 * Implements the sender of every provider. Signs messages with plain node:crypto, independently of the code under test.
 */
import { createHash, createHmac, createPrivateKey, createPublicKey, sign } from "node:crypto";
import type { MessageVerifier, ReceivedMessage } from "../message/message.ts";
import type { Providers } from "./index.ts";

export interface Draft {
  readonly body: string;
  readonly timestampSeconds: number;
  /** One of the two keys with which the receiver can be configured. */
  readonly key: 0 | 1;
}

export interface Sender {
  readonly name: string;
  /** Whether the signature covers a timestamp. */
  readonly isTimed: boolean;
  /** A body that contains a signed ID, if the provider has one. */
  readonly body: string;
  readonly messageId: string | null;
  /** A verifier with these keys. */
  verifier(providers: Providers, keys: readonly (0 | 1)[]): MessageVerifier;
  message(draft: Draft): ReceivedMessage;
}

export const secrets = ["first secret, with a blank", "second-secret-ünïcödé"] as const;
export const svixSecrets = [
  `whsec_${Buffer.alloc(24, 1).toString("base64")}`,
  `whsec_${Buffer.alloc(32, 2).toString("base64")}`,
] as const;
export const publicUrl = "https://hooks.example.com/in?tenant=1";
const path = "/in?tenant=1";

/** Two fixed Ed25519 pairs and two fixed P-256 pairs. */
const ed25519Keys = [1, 2].map((fill) =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, fill)]),
    format: "der",
    type: "pkcs8",
  }),
);
const p256Keys = [
  "MEECAQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcEJzAlAgEBBCAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBA==",
  "MEECAQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcEJzAlAgEBBCAFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQ==",
].map((key) => createPrivateKey({ key: Buffer.from(key, "base64"), format: "der", type: "pkcs8" }));

/** The public keys, in the format in which the provider shows them. */
export const discordKeys = ed25519Keys.map((key) =>
  createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32).toString("hex"),
);
export const sendgridKeys = p256Keys.map((key) =>
  createPublicKey(key).export({ format: "der", type: "spki" }).toString("base64"),
);

export function messageOf(
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
  url = path,
): ReceivedMessage {
  return {
    method: "POST",
    url,
    headers: new Headers(headers),
    body: typeof body === "string" ? new TextEncoder().encode(body) : body,
  };
}

function hmac(hash: string, { key, data }: { readonly key: string; readonly data: string }) {
  return createHmac(hash, key).update(data);
}

const chosen = <Value>(values: readonly Value[], keys: readonly (0 | 1)[]): Value[] =>
  keys.map((key) => values[key] as Value);

const json = '{"type":"order.paid","amount":1999,"text":"Zoë"}';

export const senders: readonly Sender[] = [
  {
    name: "discord",
    isTimed: true,
    body: '{"id":"8463957","type":2}',
    messageId: "8463957",
    verifier: (providers, keys) => providers.discord({ publicKeys: chosen(discordKeys, keys) }),
    message({ body, timestampSeconds: t, key }) {
      const signature = sign(null, Buffer.from(`${t}${body}`), ed25519Keys[key] as (typeof ed25519Keys)[0]);
      return messageOf(
        { "X-Signature-Ed25519": signature.toString("hex"), "X-Signature-Timestamp": `${t}` },
        body,
      );
    },
  },
  {
    name: "github",
    isTimed: false,
    body: json,
    messageId: null,
    verifier: (providers, keys) => providers.github({ secrets: chosen(secrets, keys) }),
    message: ({ body, key }) =>
      messageOf(
        {
          "X-Hub-Signature-256": `sha256=${hmac("sha256", { key: secrets[key], data: body }).digest("hex")}`,
          "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        },
        body,
      ),
  },
  {
    name: "linear",
    isTimed: true,
    body: "",
    messageId: null,
    verifier: (providers, keys) => providers.linear({ secrets: chosen(secrets, keys) }),
    message({ timestampSeconds, key, body: text }) {
      const body =
        text === "" ? JSON.stringify({ action: "create", webhookTimestamp: timestampSeconds * 1_000 }) : text;
      return messageOf(
        { "Linear-Signature": hmac("sha256", { key: secrets[key], data: body }).digest("hex") },
        body,
      );
    },
  },
  {
    name: "paddle",
    isTimed: true,
    body: '{"event_id":"evt_01","event_type":"transaction.paid"}',
    messageId: "evt_01",
    verifier: (providers, keys) => providers.paddle({ secrets: chosen(secrets, keys) }),
    message({ body, timestampSeconds: t, key }) {
      const h1 = hmac("sha256", { key: secrets[key], data: `${t}:${body}` }).digest("hex");
      return messageOf({ "Paddle-Signature": `ts=${t};h1=${h1}` }, body);
    },
  },
  {
    name: "sendgrid",
    isTimed: true,
    body: '[{"email":"a@example.com","event":"open"}]\r\n',
    messageId: null,
    verifier: (providers, keys) => providers.sendgrid({ publicKeys: chosen(sendgridKeys, keys) }),
    message({ body, timestampSeconds: t, key }) {
      const signature = sign("sha256", Buffer.from(`${t}${body}`), p256Keys[key] as (typeof p256Keys)[0]);
      return messageOf(
        {
          "X-Twilio-Email-Event-Webhook-Signature": signature.toString("base64"),
          "X-Twilio-Email-Event-Webhook-Timestamp": `${t}`,
        },
        body,
      );
    },
  },
  {
    name: "shopify",
    isTimed: false,
    body: json,
    messageId: null,
    verifier: (providers, keys) => providers.shopify({ secrets: chosen(secrets, keys) }),
    message: ({ body, key }) =>
      messageOf(
        { "X-Shopify-Hmac-Sha256": hmac("sha256", { key: secrets[key], data: body }).digest("base64") },
        body,
      ),
  },
  {
    name: "slack",
    isTimed: true,
    body: '{"type":"event_callback","event_id":"Ev08MFMKH6"}',
    messageId: "Ev08MFMKH6",
    verifier: (providers, keys) => providers.slack({ secrets: chosen(secrets, keys) }),
    message({ body, timestampSeconds: t, key }) {
      const mac = hmac("sha256", { key: secrets[key], data: `v0:${t}:${body}` }).digest("hex");
      return messageOf({ "X-Slack-Signature": `v0=${mac}`, "X-Slack-Request-Timestamp": `${t}` }, body);
    },
  },
  {
    name: "square",
    isTimed: false,
    body: '{"event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f"}',
    messageId: "ac3ac95b-f97d-458c-a6e6-18981597e05f",
    verifier: (providers, keys) => providers.square({ publicUrl, secrets: chosen(secrets, keys) }),
    message({ body, key }) {
      const mac = hmac("sha256", { key: secrets[key], data: publicUrl + body }).digest("base64");
      return messageOf({ "x-square-hmacsha256-signature": mac }, body);
    },
  },
  {
    name: "stripe",
    isTimed: true,
    body: '{"id":"evt_1NG8Du2eZvKYlo2CUI79vXWy","object":"event"}',
    messageId: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
    verifier: (providers, keys) => providers.stripe({ secrets: chosen(secrets, keys) }),
    message({ body, timestampSeconds: t, key }) {
      const v1 = hmac("sha256", { key: secrets[key], data: `${t}.${body}` }).digest("hex");
      return messageOf({ "Stripe-Signature": `t=${t},v1=${v1},v0=${"0".repeat(64)}` }, body);
    },
  },
  {
    name: "svix",
    isTimed: true,
    body: json,
    messageId: "msg_1",
    verifier: (providers, keys) => providers.svix({ secrets: chosen(svixSecrets, keys) }),
    message({ body, timestampSeconds: t, key }) {
      const secret = Buffer.from(svixSecrets[key].slice("whsec_".length), "base64");
      const mac = createHmac("sha256", secret).update(`msg_1.${t}.${body}`).digest("base64");
      return messageOf(
        { "svix-id": "msg_1", "svix-timestamp": `${t}`, "svix-signature": `v1a,AAAA v1,${mac}` },
        body,
      );
    },
  },
  {
    name: "twilio",
    isTimed: false,
    body: json,
    messageId: null,
    verifier: (providers, keys) => providers.twilio({ publicUrl, secrets: chosen(secrets, keys) }),
    message({ body, key }) {
      const query = `?tenant=1&bodySHA256=${createHash("sha256").update(body).digest("hex")}`;
      const mac = hmac("sha1", { key: secrets[key], data: `https://hooks.example.com/in${query}` });
      return messageOf(
        { "X-Twilio-Signature": mac.digest("base64"), "Content-Type": "application/json" },
        body,
        `/in${query}`,
      );
    },
  },
  {
    name: "zoom",
    isTimed: true,
    body: '{"event":"meeting.started"}',
    messageId: null,
    verifier: (providers, keys) => providers.zoom({ secrets: chosen(secrets, keys) }),
    message({ body, timestampSeconds: t, key }) {
      const mac = hmac("sha256", { key: secrets[key], data: `v0:${t}:${body}` }).digest("hex");
      return messageOf({ "x-zm-signature": `v0=${mac}`, "x-zm-request-timestamp": `${t}` }, body);
    },
  },
];
