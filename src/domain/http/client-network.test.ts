import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { clientNetwork } from "./network.ts";

suite("client networks", () => {
  test("an IPv6 address is replaced by its /64, in every spelling", () => {
    const same = [
      "2001:db8:0:1::1",
      "2001:DB8::1:0:0:0:2",
      "2001:0db8:0000:0001:ffff:ffff:ffff:ffff",
      "2001:db8:0:1::192.0.2.1",
      "2001:db8:0:1::9%eth0",
    ];
    for (const address of same) assert.equal(clientNetwork(address), "2001:db8:0:1::/64", address);
    assert.equal(clientNetwork("2001:db8:0:2::1"), "2001:db8:0:2::/64");
    assert.equal(clientNetwork("::1"), "0:0:0:0::/64");
  });

  test("an IPv4 address is kept, even within IPv6", () => {
    for (const address of ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:192.0.2.1"])
      assert.equal(clientNetwork(address), "192.0.2.1", address);
    assert.notEqual(clientNetwork("::ffff:192.0.2.1"), clientNetwork("::ffff:192.0.2.2"));
  });

  test("anything else is left unchanged", () => {
    assert.equal(clientNetwork(""), "");
    assert.equal(clientNetwork("unknown"), "unknown");
  });
});
