/**
 * `posthorn check` on both sides of the gateway. The gateway must be a correct receiver for its sources and a correct
 * sender to its webhooks.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { verifierFor } from "../../../src/check/sender/verifier.ts";
import { checkSender } from "../../../src/check/sender/check-sender.ts";
import type { Profile } from "../../../src/domain/profile.ts";
import { profiles } from "../../../src/domain/profiles/index.ts";
import { signatureSchemeKeys } from "../../../src/domain/signing/schemes.ts";
import type { MessageVerifier } from "../../../src/receiver/message/message.ts";
import { type Receiver, startReceiver } from "../../peers/receiver.ts";
import { bearerToken, examine, failuresOf, idsOf, keyId, origin, secret } from "../check/examine.fixture.ts";
import { openGateway, type RunningServer } from "../api/running-server.fixture.ts";
import { hookOf, type Json, makeSource, modes, post, signed } from "./scene.fixture.ts";

let world: RunningServer;
let receiver: Receiver;
before(async () => {
  [world, receiver] = await Promise.all([openGateway(), startReceiver()]);
});
after(async () => {
  await world.close();
  await receiver.close();
});

/** Settings with which a source accepts messages of a profile as the check signs them. */
function sourceFor(profile: string): Json {
  const standard = { type: "standard_webhooks", secrets: [secret] };
  switch (profile) {
    case "event-delivery":
      return {
        verification: {
          type: "http_signatures",
          secrets: [secret],
          key_id: keyId,
          public_origin: new URL(world.baseUrl).origin,
        },
      };
    case "x-webhook":
      return { verification: { type: "x_webhook", secrets: [secret] } };
    case "cloudevents": {
      const bearer = { type: "bearer", secrets: [bearerToken], access_token_parameter: "allowed" };
      return {
        verification: { type: "all_of", verifiers: [standard, bearer] },
        handshake: { allowed_origins: [origin], rate_per_minute_max: 600 },
      };
    }
    default:
      return { verification: standard };
  }
}

suite("posthorn check: the gateway is a correct receiver", () => {
  for (const { name: profile } of profiles)
    for (const mode of modes)
      test(`TS16-19 TS16-23 IDK-20 ${profile}, ${mode}: no rule fails, and none is skipped`, async () => {
        // In pass-through mode, the sender gets the status of the destination.
        receiver.script(() => ({ status: 204 }));
        const webhooks = [hookOf(receiver)];
        const { path } = await makeSource(world.admin, { mode, more: sourceFor(profile), webhooks });
        const findings = await examine({ url: `${world.baseUrl}${path}`, profile });
        assert.equal(failuresOf(findings), "");
        assert.deepEqual(idsOf(findings, "skipped"), []);
        assert.ok(idsOf(findings, "passed").length >= 25, "a check that tries little proves little");
      });
});

/** The webhook can be created only when the URL is known, so the verifier is created last. */
async function watchGateway(profile: Profile) {
  const scheme = profile.signatureSchemesAllowed[0];
  const token = profile.registration.bearerTokenRequired ? bearerToken : null;
  let verifier: MessageVerifier | undefined;
  let sending: Promise<void> = Promise.resolve();
  const send = async (url: string): Promise<void> => {
    const signing = scheme === undefined ? {} : { signing: { schemes: [scheme] } };
    const source = await makeSource(world.admin, {
      mode: "store_and_forward",
      webhooks: [{ url, profile: profile.name, ...signing, bearer_token: token ?? undefined }],
    });
    const [id = ""] = source.webhooks;
    const isPublic = scheme !== undefined && signatureSchemeKeys[scheme] === "ed25519";
    const shown = await world.admin.get(`/v1/webhooks/${id}/${isPublic ? "public-key" : "secret"}`);
    const { secret: shared, public_key: key } = shown.body as unknown as Record<string, string>;
    verifier = verifierFor((isPublic ? key : shared) ?? "", profile, id) ?? undefined;
    for (const body of ['{"number":1}', '{"number":2}']) {
      const answer = await post(`${world.baseUrl}${source.path}`, body, { headers: signed(body) });
      assert.equal(answer.status, 202, answer.text);
    }
  };
  const findings = await checkSender({
    port: 0,
    profile,
    bearerToken: token,
    durationMs: 60_000,
    arrived: () => undefined,
    verifier: {
      verify: async (message, now) => (verifier ?? assert.fail("no webhook")).verify(message, now),
    },
    listening: (url) => {
      sending = send(url);
    },
    signal: new AbortController().signal,
  });
  await sending;
  return findings;
}

suite("posthorn check --sender: the gateway is a correct sender", { concurrency: 5 }, () => {
  for (const profile of profiles)
    test(`EDS-9.4-1 EDS-9.5-2 ${profile.name}: relayed messages fail no rule, and none is skipped`, async () => {
      const findings = await watchGateway(profile);
      assert.equal(failuresOf(findings), "");
      assert.deepEqual(idsOf(findings, "skipped"), []);
    });
});
