import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { standard } from "../../src/domain/profiles/standard.ts";
import type { Rule } from "../../src/check/finding.ts";
import type { Bench } from "../../src/check/receiver/check.ts";
import { receiverChecks } from "../../src/check/receiver/check-receiver.ts";
import { SampleMessages } from "../../src/check/receiver/messages.ts";
import { senderRules } from "../../src/check/sender/check-sender.ts";
import { cewRows } from "../requirements/cew.ts";
import { edsRows } from "../requirements/eds.ts";
import { idkRows } from "../requirements/idk.ts";
import { ts16Rows } from "../requirements/ts16.ts";
import { wdsRows } from "../requirements/wds.ts";
import { keyId, origin, secret } from "./check/examine.fixture.ts";

const known = new Set([...cewRows, ...edsRows, ...idkRows, ...ts16Rows, ...wdsRows].map(({ id }) => id));
const lists: Readonly<Record<string, readonly Rule[]>> = { receivers: receiverChecks, senders: senderRules };

suite("the rules of posthorn check", () => {
  for (const [name, rules] of Object.entries(lists)) {
    test(`for ${name}: unique names, existing requirements, and a way to fix`, () => {
      assert.equal(new Set(rules.map(({ id }) => id)).size, rules.length);
      for (const { id, title, requirements, fix } of rules) {
        assert.match(id, /^[a-z][a-z-]+$/);
        assert.ok(title.length <= 60, `${id}: a title leaves room for what was seen`);
        assert.match(fix, /\.$/, id);
        for (const requirement of requirements.split(" ")) {
          const isDecision = /^C-\d{1,2}$/.test(requirement);
          assert.ok(isDecision || known.has(requirement), `${id}: there is no ${requirement}`);
        }
      }
    });
  }

  test("https: plain http is accepted only on this machine", async () => {
    const stateAt = async (href: string): Promise<string | undefined> => {
      const url = new URL(href);
      const receiver = {
        url,
        profile: standard,
        secret,
        scheme: null,
        bearerToken: null,
        eventType: "a.b",
        keyId,
        origin,
        promptMs: 10_000,
      };
      const never = () => assert.fail("the URL is judged without a request");
      const bench: Bench = {
        receiver,
        messages: new SampleMessages(receiver),
        seen: [],
        endlessBytesMax: 1,
        post: never,
        send: never,
      };
      return (await receiverChecks.find(({ id }) => id === "https")?.run(bench))?.state;
    };
    assert.equal(await stateAt("https://hooks.example.com/"), "passed");
    assert.equal(await stateAt("http://hooks.example.com/"), "failed");
    assert.equal(await stateAt("http://127.example.com/"), "failed");
    for (const host of ["localhost", "app.localhost", "127.0.0.1", "[::1]"])
      assert.equal(await stateAt(`http://${host}:3000/`), "not_applicable");
  });
});
