import { Buffer } from "node:buffer";
import { renderStandardPayload } from "../src/domain/payload-formats.ts";
import type { SignatureSchemeName } from "../src/domain/profile.ts";
import { parseSecret } from "../src/domain/signing/signing-key.ts";
import { prepareSigner, type Signer } from "../src/domain/signing/standard-webhooks.ts";

/** The message that every contestant sends, with the same bytes, headers and signature. */

/** Length of the filler string. Together with type and timestamp, it makes the body 1,024 bytes long. */
const fillerLength = 910;

/** The `data` of every event. */
export const eventData: Readonly<Record<string, unknown>> = {
  order_id: 4711,
  currency: "EUR",
  text: "x".repeat(fillerLength),
};

export function eventTypeOf(webhook: number): string {
  return `bench.w${String(webhook).padStart(5, "0")}`;
}

/** The body as Posthorn renders it. */
export function messageBody(): Buffer {
  return renderStandardPayload(eventTypeOf(0), 1_764_000_000_000, JSON.stringify(eventData), null, null);
}

/** The benchmark uses fixed secrets, because they protect nothing. */
export const secretTexts = {
  v1: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
  v1a: `whsk_${Buffer.alloc(32, 9).toString("base64")}`,
} as const satisfies Partial<Record<SignatureSchemeName, string>>;

export function messageSigner(schemes: readonly (keyof typeof secretTexts)[]): Signer {
  return prepareSigner(
    schemes.map((scheme) => {
      const key = parseSecret(secretTexts[scheme]);
      if (key.kind === "invalid") throw new Error(key.detail);
      return key;
    }),
  );
}

const userAgent = "Posthorn/0.1.0";

/** The headers of a delivery with the profile `standard`, in the order in which Posthorn sends them. */
export function messageHeaders(id: string, body: Uint8Array, signer: Signer): string[] {
  const timestampSeconds = Math.floor(Date.now() / 1000);
  return [
    "Content-Type",
    "application/json",
    "Webhook-ID",
    id,
    "Webhook-Timestamp",
    String(timestampSeconds),
    "Webhook-Signature",
    signer({ messageId: id, timestampSeconds, body }),
    "Idempotency-Key",
    `"${id}"`,
    "User-Agent",
    userAgent,
  ];
}
