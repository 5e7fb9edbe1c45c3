import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { addressBoundaries } from "./address-policy.fixture.ts";
import { classifyAddress, createAddressPolicy, InvalidCidrError } from "./address-policy.ts";

describe("address classes", () => {
  for (const [addressClass, ...addresses] of addressBoundaries) {
    for (const address of addresses) {
      test(`${JSON.stringify(address)} is ${addressClass}`, () => {
        assert.equal(classifyAddress(address), addressClass);
      });
    }
  }
});

const ipv4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((parts) => parts.join("."));

/** Half of the addresses are in or next to a special block, because a random address almost never is. */
const ipv6 = fc
  .tuple(
    fc.oneof(
      fc.constant<number[]>([]),
      fc.constantFrom([0], [0x64, 0xff9b], [0x100], [0x2001], [0x2001, 0xdb8], [0x2002], [0x2620, 0x4f]),
      fc.constantFrom([0x3fff], [0x5f00], [0xfc00], [0xfe80], [0xfec0], [0xff00], [0x2001, 4, 0x112]),
      fc.constantFrom([0, 0, 0, 0, 0, 0xffff], [0, 0, 0, 0, 0xffff, 0], [0, 0, 0, 0, 0, 0]),
    ),
    fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 }),
  )
  .map(([start, rest]) => [...start, ...rest].slice(0, 8));

/**
 * Public according to ipaddr.js, but refused here: IANA has not assigned it, or it is a tunnel or internal to a cloud.
 */
function isRefusedByUsAlone(address: string): boolean {
  const ours = classifyAddress(address);
  return ["reserved", "isatap", "cloud_metadata", "ipv4_compatible", "discard"].includes(ours);
}

describe("ipaddr.js as an oracle", () => {
  test("agrees on what is public in IPv4", () => {
    fc.assert(
      fc.property(ipv4, (address) => {
        if (isRefusedByUsAlone(address)) return;
        const isUnicast = ipaddr.IPv4.parse(address).range() === "unicast";
        assert.equal(classifyAddress(address) === "public", isUnicast, address);
      }),
      { numRuns: 3000 },
    );
  });

  test("agrees on every special IPv4 block, at both ends and next to them", () => {
    for (let high = 0; high < 65_536; high++) {
      for (const low of [0, 0x00ff, 0x0100, 0x02ff, 0x3000, 0x6300, 0x6400, 0x71ff, 0xc100, 0xc400, 0xffff]) {
        const address = [high >> 8, high & 255, low >> 8, low & 255].join(".");
        const isPublic = classifyAddress(address) === "public";
        const oracle = ipaddr.IPv4.parse(address).range() === "unicast";
        if (isPublic !== oracle) assert.fail(`${address}: ours ${isPublic}, oracle ${oracle}`);
      }
    }
  });

  test("agrees on which IPv6 addresses are public", () => {
    fc.assert(
      fc.property(ipv6, (parts) => {
        const address = parts.map((part) => part.toString(16)).join(":");
        const parsed = ipaddr.IPv6.parse(address);
        const target = parsed.isIPv4MappedAddress() ? parsed.toIPv4Address() : parsed;
        const isUnicast = target.range() === "unicast";
        const ours = classifyAddress(address);
        if (ours === "public") assert.ok(isUnicast, `${address} is ${target.range()}`);
        else if (isUnicast) assert.ok(isRefusedByUsAlone(address), `${address} is ${ours} here`);
      }),
      { numRuns: 5000 },
    );
  });

  test("every spelling of an IPv6 address has the same class", () => {
    fc.assert(
      fc.property(ipv6, (parts) => {
        const full = parts.map((part) => part.toString(16).padStart(4, "0")).join(":");
        const parsed = ipaddr.IPv6.parse(full);
        const expected = classifyAddress(full);
        const tail = parts.slice(6).flatMap((part) => [part >> 8, part & 255]);
        const dotted = `${parts
          .slice(0, 6)
          .map((part) => part.toString(16))
          .join(":")}:${tail.join(".")}`;
        for (const spelling of [parsed.toString(), parsed.toRFC5952String(), full.toUpperCase(), dotted]) {
          assert.equal(classifyAddress(spelling), expected, spelling);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe("address policy", () => {
  test("EDS-11.7-3 TS16-124 WDS-168 by default only public addresses are allowed, and a rejection names the address class", () => {
    const policy = createAddressPolicy([], false);
    assert.deepEqual(policy.judge("8.8.8.8"), { allowed: true });
    assert.deepEqual(policy.judge("::ffff:10.0.0.1"), {
      allowed: false,
      addressClass: "private",
      reason: "not a public internet address (private)",
    });
    for (const address of ["127.0.0.1", "::1", "0.0.0.0", "::", "not an address", ""]) {
      assert.equal(policy.judge(address).allowed, false, address);
    }
  });

  test("allowLoopback allows loopback in all its forms and nothing else", () => {
    const policy = createAddressPolicy([], true);
    for (const address of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]) {
      assert.equal(policy.judge(address).allowed, true, address);
    }
    for (const address of [
      "0.0.0.0",
      "::",
      "10.0.0.1",
      "169.254.169.254",
      "::127.0.0.1",
      "fe80::1",
      "64:ff9b::7f00:1",
      "2002:7f00:1::",
    ]) {
      assert.equal(policy.judge(address).allowed, false, address);
    }
  });

  test("the allow-list takes precedence over every class, exactly as wide as written", () => {
    const allow = ["10.1.0.0/16", "192.168.7.9", "fd00:1::/32", "64:ff9b::/96", "::1/128"];
    const policy = createAddressPolicy(allow, false);
    for (const address of [
      "10.1.0.0",
      "10.1.255.255",
      "::ffff:10.1.2.3",
      "192.168.7.9",
      "fd00:1::5",
      "64:ff9b::a00:1",
      "::1",
    ]) {
      assert.equal(policy.judge(address).allowed, true, address);
    }
    for (const address of [
      "10.0.255.255",
      "10.2.0.0",
      "192.168.7.8",
      "192.168.7.10",
      "fd00:2::1",
      "127.0.0.1",
      "10.1.0.0/16",
    ]) {
      assert.equal(policy.judge(address).allowed, false, address);
    }
  });

  test("a block that covers one family does not affect the other", () => {
    const all4 = createAddressPolicy(["0.0.0.0/0"], false);
    assert.ok(all4.judge("127.0.0.1").allowed && all4.judge("::ffff:10.0.0.1").allowed);
    assert.ok(!all4.judge("::1").allowed);
    const all6 = createAddressPolicy(["::/0"], false);
    assert.ok(all6.judge("::1").allowed && all6.judge("2002::1").allowed);
    assert.ok(!all6.judge("10.0.0.1").allowed && !all6.judge("::ffff:10.0.0.1").allowed);
  });

  test("a mapped block means its IPv4 block", () => {
    const policy = createAddressPolicy(["::ffff:10.0.0.0/104"], false);
    assert.ok(policy.judge("10.200.0.1").allowed);
    assert.ok(!policy.judge("11.0.0.1").allowed || classifyAddress("11.0.0.1") === "public");
    assert.ok(!policy.judge("192.168.0.1").allowed);
  });

  const invalid = [
    "",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/08",
    "10.0.0.1/8",
    "10.0.0/8",
    "fd00::/129",
    "fd00::1/64",
    "example.com",
    "10.0.0.0/8 ",
    "10.0.0.0/8/8",
    "::ffff:10.0.0.0/95",
    "fe80::1%eth0/128",
    "0x0a000000/8",
  ];
  for (const cidr of invalid) {
    test(`${JSON.stringify(cidr)} in the allow-list is an error that names it`, () => {
      assert.throws(
        () => createAddressPolicy(["10.0.0.0/8", cidr], false),
        (error) =>
          error instanceof InvalidCidrError &&
          error.cidr === cidr &&
          error.code === "invalid_cidr" &&
          error.message.includes(`"${cidr}"`),
      );
    });
  }
});
