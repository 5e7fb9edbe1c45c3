import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { profiles } from "../../src/domain/profiles/index.ts";
import { generateEd25519Key } from "../../src/domain/signing/signing-key.ts";
import { receiverChecks } from "../../src/check/receiver/check-receiver.ts";
import type { ReceiverUnderCheck } from "../../src/check/receiver/messages.ts";
import type { Receiver } from "../../src/receiver/receiver.ts";
import { bearer, httpSignatures } from "../../src/receiver/verifiers.ts";
import { frameworks, listen } from "../receiver/frameworks.fixture.ts";
import { nodeHttpListener } from "../../src/receiver/frameworks/node-http.ts";
import { bearerToken, examine, failuresOf, idsOf, keyId } from "./check/examine.fixture.ts";
import { kitReceiver, verifierOf } from "./check/kit-receiver.fixture.ts";
import { authentication, otherSchemes } from "./check/planted-faults.fixture.ts";
import { manners } from "./check/planted-manners.fixture.ts";
import { answerWith, startSloppyReceiver } from "./check/sloppy-receiver.fixture.ts";

suite("posthorn check: a receiver built with the kit is correct", { concurrency: 2 }, () => {
  for (const framework of frameworks) {
    for (const { name: profile } of profiles) {
      test(`${framework.name} under ${profile}: no rule fails, and none is skipped`, async () => {
        const server = await framework.start(kitReceiver(profile));
        try {
          const findings = await examine({ url: `${server.url}/app/hooks`, profile });
          assert.equal(failuresOf(findings), "");
          assert.deepEqual(idsOf(findings, "skipped"), []);
          assert.ok(idsOf(findings, "passed").length >= 25, "a check that tries little proves little");
        } finally {
          await server.close();
        }
      });
    }
  }
});

suite("posthorn check: a planted fault fails only its own rule", { concurrency: 4 }, () => {
  for (const planted of [...authentication, ...otherSchemes, ...manners]) {
    const { name, profile = "standard", fails, skips = [], receiver = {} } = planted;
    test(name, async () => {
      const sloppy = await startSloppyReceiver({ profile, ...planted, fault: planted.fault() });
      try {
        const findings = await examine({ url: sloppy.url, profile, receiver });
        assert.deepEqual(idsOf(findings, "failed"), fails, failuresOf(findings));
        assert.deepEqual(idsOf(findings, "skipped"), skips);
        for (const { state, hint } of findings)
          if (state === "failed") assert.ok(hint !== null && hint !== "");
      } finally {
        await sloppy.close();
      }
    });
  }
});

test("a receiver that hangs repeatedly is not waited for that long each time", async () => {
  let requests = 0;
  const server = await listen((request, response) => {
    requests += 1;
    request.resume();
    if (requests < 2 || requests > 6) response.writeHead(401).end();
  });
  try {
    const receiver = { secret: null };
    const findings = await examine({
      url: `${server.url}/hooks`,
      profile: "standard",
      receiver,
      timeoutMs: 5_000,
    });
    const waits = findings.map(({ detail }) => /no response within (\d+) ms/.exec(detail)?.[1]);
    const [first, second, ...others] = waits.filter((wait) => wait !== undefined);
    assert.deepEqual([first, second], ["5000", "5000"]);
    assert.ok(others.length > 0);
    // The other waits are one second, or longer if this machine responded slowly.
    assert.ok(
      others.every((wait) => Number(wait) < 5_000),
      others.join(),
    );
  } finally {
    await server.close();
  }
});

test("a missing path is not reported as a wrong secret", async () => {
  const server = await listen((request, response) => {
    request.resume();
    response.writeHead(404).end();
  });
  try {
    const findings = await examine({ url: `${server.url}/hoks`, profile: "standard" });
    assert.match(findings.find(({ id }) => id === "valid")?.hint ?? "", /nothing at this path/);
  } finally {
    await server.close();
  }
});

test("every rule that can fail has a planted fault", () => {
  const found = new Set([...authentication, ...otherSchemes, ...manners].flatMap(({ fails }) => fails));
  const withoutFault = receiverChecks.map(({ id }) => id).filter((id) => !found.has(id));
  // http to a different machine and a wrong secret are tested elsewhere; problem details are optional.
  assert.deepEqual(withoutFault, ["https", "valid", "problem-details"]);
});

async function examineKit(
  receiver: Receiver,
  how: {
    readonly profile: string;
    readonly receiver?: Partial<ReceiverUnderCheck>;
    readonly allowValid?: boolean;
  },
) {
  const server = await listen(nodeHttpListener(receiver));
  try {
    return await examine({ url: `${server.url}/hooks`, ...how });
  } finally {
    await server.close();
  }
}

const pair = generateEd25519Key((count) => new Uint8Array(count).fill(5)).secret;

suite("posthorn check: options", { concurrency: 2 }, () => {
  for (const { name: profile } of profiles) {
    test(`${profile}: without --allow-valid nothing is sent that a correct receiver accepts`, async () => {
      let handled = 0;
      const count = (): void => void (handled += 1);
      const careful = kitReceiver(profile, { handled: count });
      const findings = await examineKit(careful, { profile, allowValid: false });
      assert.equal(handled, 0);
      assert.equal(failuresOf(findings), "");
      const skipped = findings.filter(({ state }) => state === "skipped");
      assert.ok(skipped.every(({ hint }) => hint === "Allow it with --allow-valid."));
      assert.equal(skipped.length, receiverChecks.filter(({ sends }) => sends === "valid").length);
      await examineKit(kitReceiver(profile, { handled: count }), { profile });
      assert.ok(handled > 8, "the counter counts");
    });
  }

  test("without a secret only rules that need none are tried", async () => {
    let handled = 0;
    const receiver = kitReceiver("standard", { handled: () => void (handled += 1) });
    const findings = await examineKit(receiver, { profile: "standard", receiver: { secret: null } });
    assert.equal(handled, 0);
    assert.equal(failuresOf(findings), "");
    assert.equal(
      idsOf(findings, "skipped").length,
      receiverChecks.filter(({ sends }) => sends === "valid" || sends === "forged").length,
    );
  });

  for (const [profile, scheme] of [
    ["standard", "v1a"],
    ["ts-16a", "v1a"],
    ["standard", "rfc9421-ed25519"],
    ["event-delivery", "rfc9421-ed25519"],
    ["x-webhook", "rfc9421-ed25519"],
  ] as const) {
    test(`${profile} with the key pair of ${scheme}`, async () => {
      const verifier = verifierOf(scheme === "v1a" ? "standard" : "event-delivery", pair);
      const findings = await examineKit(kitReceiver(profile, { verifier }), {
        profile,
        receiver: { secret: pair, scheme },
      });
      assert.equal(failuresOf(findings), "");
      assert.deepEqual(idsOf(findings, "skipped"), []);
      assert.ok(idsOf(findings, "passed").includes(scheme === "v1a" ? "moved-id" : "narrow-signature"));
    });
  }

  test("another scheme of the profile, with the keyid of the webhook", async () => {
    const verifier = httpSignatures({
      keys: [{ key: `whsec_${Buffer.alloc(32, 7).toString("base64")}`, keyId }],
    });
    const findings = await examineKit(kitReceiver("standard", { verifier }), {
      profile: "standard",
      receiver: { scheme: "rfc9421-hmac-sha256" },
    });
    assert.equal(failuresOf(findings), "");
  });

  test("a receiver that expects a token and no signature", async () => {
    const verifier = bearer({ tokens: bearerToken });
    const findings = await examineKit(kitReceiver("cloudevents", { verifier }), {
      profile: "cloudevents",
      receiver: { secret: null },
    });
    assert.equal(failuresOf(findings), "");
    assert.deepEqual(idsOf(findings, "skipped"), []);
    assert.ok(idsOf(findings, "passed").includes("wrong-token"));
    assert.ok(idsOf(findings, "not_applicable").includes("altered-body"));
  });

  test("a profile with a token requires it", async () => {
    const findings = await examineKit(kitReceiver("cloudevents"), {
      profile: "cloudevents",
      receiver: { bearerToken: null },
    });
    const skipped = findings.filter(({ state }) => state === "skipped");
    assert.ok(skipped.length > 20);
    assert.ok(skipped.every(({ hint }) => hint === "Set --token or POSTHORN_CHECK_TOKEN."));
  });

  test("with a secret that the receiver does not know, rejections prove nothing", async () => {
    const findings = await examineKit(kitReceiver("standard"), {
      profile: "standard",
      receiver: { secret: `whsec_${Buffer.alloc(32, 9).toString("base64")}` },
    });
    assert.deepEqual(idsOf(findings, "failed"), ["valid"]);
    assert.ok(idsOf(findings, "skipped").includes("altered-body"));
    assert.ok(idsOf(findings, "skipped").includes("duplicate"));
    assert.ok(idsOf(findings, "passed").includes("unsigned"));
  });

  test("a receiver that is too busy for the check is not reported as wrong", async () => {
    const busy = await startSloppyReceiver({
      profile: "standard",
      fault: () => answerWith(429, { "retry-after": "7" }),
    });
    const findings = await examine({ url: busy.url, profile: "standard" });
    await busy.close();
    assert.equal(failuresOf(findings), "");
    assert.ok(idsOf(findings, "skipped").length > 30);
    assert.ok(idsOf(findings, "passed").includes("retry-after"));
  });
});
