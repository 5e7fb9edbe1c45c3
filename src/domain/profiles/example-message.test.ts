import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, createHmac, createPublicKey, type KeyObject, verify } from "node:crypto";
import { suite, test } from "node:test";
import { Webhook } from "standardwebhooks";
import type { PayloadFormatName, Profile } from "../profile.ts";
import { exampleEvent, exampleKeys, exampleMessage } from "./example-message.ts";
import { profiles } from "./index.ts";

function messageOf(profile: Profile, format: PayloadFormatName) {
  const { headers, body } = exampleMessage(profile, format, exampleEvent.eventType, exampleEvent.data);
  const valueOf = (name: string) => headers.find(([known]) => known.toLowerCase() === name)?.[1] ?? "";
  return { valueOf, body };
}

function publicKey(): KeyObject {
  const x = Buffer.from(exampleKeys.publicKey.slice("whpk_".length), "base64").toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

suite("example messages of profiles", () => {
  for (const profile of profiles)
    for (const format of profile.payloadFormats)
      test(`${profile.name}, ${format}: the default schemes sign with the documented keys`, () => {
        const { valueOf, body } = messageOf(profile, format);
        const { signatureSchemes: schemes } = profile;
        const [id, timestamp] = [valueOf("webhook-id"), valueOf("webhook-timestamp")];
        const signatures = valueOf("webhook-signature").split(" ").filter(Boolean);
        const expected = schemes.filter((scheme) => scheme === "v1" || scheme === "v1a");
        assert.deepEqual(
          signatures.map((signature) => signature.split(",")[0]),
          expected,
        );
        for (const [scheme, signature = ""] of signatures.map((each) => each.split(",")))
          if (scheme === "v1") {
            const sentAt = new Date(Number(timestamp) * 1_000);
            assert.equal(new Webhook(exampleKeys.secret).sign(id, sentAt, body), `v1,${signature}`);
          } else {
            const content = Buffer.from(`${id}.${timestamp}.${body}`);
            assert.ok(verify(null, content, publicKey(), Buffer.from(signature, "base64")));
          }
        if (schemes.includes("x-webhook-v1")) {
          const [, seconds, mac] = /^t=(\d+),v1=([0-9a-f]+)$/.exec(valueOf("x-webhook-signature")) ?? [];
          assert.equal(
            createHmac("sha256", exampleKeys.secret).update(`${seconds}.${body}`).digest("hex"),
            mac,
          );
        }
        if (!schemes.includes("rfc9421-ed25519")) return;
        const digest = `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;
        assert.equal(valueOf("content-digest"), digest);
        const [, parameters = ""] = /^sig1=(.*)$/.exec(valueOf("signature-input")) ?? [];
        const base = [
          '"@method": POST',
          `"@target-uri": ${exampleKeys.url}`,
          ...["content-type", "content-digest", "idempotency-key"].map(
            (name) => `"${name}": ${valueOf(name)}`,
          ),
          `"@signature-params": ${parameters}`,
        ].join("\n");
        const [, signature = ""] = /^sig1=:(.*):$/.exec(valueOf("signature")) ?? [];
        assert.ok(verify(null, Buffer.from(base), publicKey(), Buffer.from(signature, "base64")));
      });
});
