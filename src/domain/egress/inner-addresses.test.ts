import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { withoutInnerAddresses } from "./address-policy.ts";

suite("addresses inside the operator's network", () => {
  for (const [text, shown] of [
    ["connect ECONNREFUSED 10.1.2.3:443", "connect ECONNREFUSED ***:443"],
    [
      "connect ETIMEDOUT 169.254.169.254:80 - Local (192.168.0.7:40222)",
      "connect ETIMEDOUT ***:80 - Local (***:40222)",
    ],
    ["connect ECONNREFUSED fd00:1::5:8443", "connect ECONNREFUSED ***"],
    ["connect ECONNREFUSED fd00:1:2:3:4:5:6:7:8443", "connect ECONNREFUSED ***:8443"],
    ["connect EINVAL fe80::1%eth0:443", "connect EINVAL ***%eth0:443"],
    ["connect ECONNREFUSED ::ffff:10.0.0.5", "connect ECONNREFUSED ***"],
    ["connect ECONNREFUSED 127.0.0.1:4000", "connect ECONNREFUSED ***:4000"],
  ] as const)
    test(`are not shown: ${text}`, () => {
      assert.equal(withoutInnerAddresses(text, "hooks.example.com"), shown);
    });

  for (const text of [
    "connect ECONNREFUSED 93.184.215.14:443",
    "connect ECONNREFUSED 2606:4700::1111:443",
    "no complete response within 30000 ms, TLS 1.3, 12:30:45",
    "getaddrinfo ENOTFOUND a.b.c.d, version 1.2.3",
  ])
    test(`nothing else is hidden: ${text}`, () => {
      assert.equal(withoutInnerAddresses(text, "hooks.example.com"), text);
    });

  test("an address named in the URL stays, and loopback addresses stay if the URL names loopback", () => {
    const refused = "connect ECONNREFUSED 127.0.0.1:4000";
    assert.equal(withoutInnerAddresses(refused, "127.0.0.1"), refused);
    assert.equal(withoutInnerAddresses(refused, "localhost"), refused);
    const six = "connect ECONNREFUSED fd00::5";
    assert.equal(withoutInnerAddresses(six, "[fd00::5]"), six);
  });
});
