import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { exampleMessage } from "./example-message.ts";
import { profiles } from "./index.ts";

suite("example messages of profiles", () => {
  for (const profile of profiles) {
    test(`${profile.name}: Webhook-Signature shows the default schemes and no other`, () => {
      const [format] = profile.payloadFormats;
      const { headers } = exampleMessage(profile, { format, eventType: "order.completed", data: {} });
      const value = headers.find(([name]) => name === "Webhook-Signature")?.[1] ?? "";
      const shown = value
        .split(" ")
        .map((signature) => signature.split(",")[0])
        .filter((scheme) => scheme !== "");
      const expected = profile.signatureSchemes.filter((scheme) => scheme === "v1" || scheme === "v1a");
      assert.deepEqual(shown, expected);
    });
  }
});
