import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createAddressPolicy } from "./address-policy.ts";
import { acceptedUrls, refusedUrls } from "./url-policy.fixture.ts";
import { judgeUrl, type UrlRefusalCode, urlLengthMax } from "./url-policy.ts";

const production = {
  policy: createAddressPolicy([], false),
  allowHttp: false,
};
const development = {
  policy: createAddressPolicy([], true),
  allowHttp: true,
};

describe("in production", () => {
  for (const [text, url, hostname] of acceptedUrls) {
    test(`${text} is accepted`, () => {
      const judgement = judgeUrl(text, production);
      assert.ok(judgement.kind === "ok", JSON.stringify(judgement));
      assert.equal(judgement.url, url);
      assert.equal(judgement.hostname, hostname);
      assert.equal(judgement.literalAddress, /^[\d.]+$|:/.test(hostname) ? hostname : null);
      assert.ok(url.startsWith(`${judgement.origin}/`));
    });
  }

  for (const [code, texts] of Object.entries(refusedUrls)) {
    for (const text of texts) {
      const name = JSON.stringify(text)?.slice(0, 80) ?? "undefined";
      test(`${name} is rejected: ${code}`, () => {
        const judgement = judgeUrl(text, production);
        assert.equal(judgement.kind === "refused" ? judgement.code : "ok", code);
      });
    }
  }

  test("TS16-25 CEW-2.1-1 EDS-11.2-1 EDS-11.6-1 WDS-169 only https is accepted", () => {
    assert.equal(judgeUrl("https://example.com/hook", production).kind, "ok");
    for (const text of [
      "http://example.com/hook",
      "HTTP://example.com/",
      "ftp://example.com/",
      "//example.com/",
    ])
      assert.equal(judgeUrl(text, production).kind, "refused", text);
  });

  test("TS16-123 TS16-124 EDS-11.7-2 EDS-11.7-3 WDS-168 the documented attacks are rejected, in every notation", () => {
    for (const host of [
      "localhost:8080",
      "192.168.1.1",
      "169.254.169.254/latest/meta-data/",
      "127.0.0.1",
      "0x7f.1",
      "2130706433",
      "10.0.0.1",
      "172.16.0.1",
      "[::1]",
      "[::ffff:10.0.0.1]",
      "[fe80::1]",
    ]) {
      assert.equal(judgeUrl(`https://${host}`, production).kind, "refused", host);
      assert.equal(judgeUrl(`http://${host}`, production).kind, "refused", host);
    }
  });

  test("WDS-171 2048 characters are accepted, 2049 are not", () => {
    const longest = `https://example.com/${"a".repeat(urlLengthMax - 20)}`;
    assert.equal(longest.length, 2048);
    assert.equal(judgeUrl(longest, production).kind, "ok");
    assert.equal(judgeUrl(`${longest}a`, production).kind, "refused");
  });

  test("a rejection repeats no part of the URL", () => {
    const judgement = judgeUrl("https://s3cr3t:t0k3n@example.com/", production);
    assert.doesNotMatch(JSON.stringify(judgement), /s3cr3t|t0k3n|example/);
  });
});

describe("in development", () => {
  for (const text of [
    "http://localhost:3000/x",
    "http://api.localhost/",
    "http://127.0.0.1:3000/",
    "http://[::1]:3000/",
    "https://localhost/",
    "http://127.1/",
    "http://[::ffff:127.0.0.1]/",
    "http://example.com/",
  ]) {
    test(`${text} is accepted`, () => assert.equal(judgeUrl(text, development).kind, "ok"));
  }

  const stillRefused: readonly (readonly [string, UrlRefusalCode])[] = [
    ["http://192.168.1.1/", "address"],
    ["http://169.254.169.254/", "address"],
    ["http://0.0.0.0:3000/", "address"],
    ["http://intranet/", "host_name"],
    ["http://x.internal/", "host_name"],
    ["http://localhost./", "host_name"],
    ["http://localhost.local/", "host_name"],
    ["ftp://localhost/", "scheme"],
    ["http://user@localhost/", "credentials"],
  ];
  for (const [text, code] of stillRefused) {
    test(`${text} is rejected: ${code}`, () => {
      const judgement = judgeUrl(text, development);
      assert.equal(judgement.kind === "refused" ? judgement.code : "ok", code);
    });
  }

  test("the two permissions are independent", () => {
    assert.equal(judgeUrl("http://localhost/", { ...development, allowHttp: false }).kind, "refused");
    assert.equal(judgeUrl("http://localhost/", { ...production, allowHttp: true }).kind, "refused");
    assert.equal(judgeUrl("http://example.com/", { ...production, allowHttp: true }).kind, "ok");
  });
});

describe("an opened private network", () => {
  const policy = createAddressPolicy(["10.0.0.0/8"], false);

  test("addresses in it are accepted; names only if allowed", () => {
    const rules = { policy, allowHttp: true };
    assert.equal(judgeUrl("http://10.1.2.3:8080/", rules).kind, "ok");
    assert.equal(judgeUrl("http://192.168.1.1/", rules).kind, "refused");
    for (const text of ["http://receiver:8080/", "http://api.internal/"]) {
      assert.equal(judgeUrl(text, rules).kind, "refused");
      assert.equal(judgeUrl(text, { ...rules, allowInternalNames: true }).kind, "ok");
    }
    const withNames = { ...rules, allowInternalNames: true };
    assert.equal(judgeUrl("http://localhost/", withNames).kind, "refused");
    assert.equal(judgeUrl("http://192.168.1.1/", withNames).kind, "refused");
  });
});

describe("arbitrary input", () => {
  test("parsing an accepted URL again changes nothing: https, without credentials or fragment", () => {
    const piece = fc.constantFrom(
      "https:",
      "http:",
      "//",
      "/",
      "\\",
      "@",
      ":",
      "#",
      "?",
      ".",
      "a",
      "example",
      ".com",
      "127.0.0.1",
      "0x7f",
      "[",
      "]",
      "::1",
      "localhost",
      "%00",
      "%2f",
      "。",
      "１",
      "\t",
      " ",
      "8.8.8.8",
      ":443",
      "-",
      "xn--",
    );
    const text = fc.array(piece, { maxLength: 12 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          text.map((tail) => `https://${tail}`),
        ),
        (candidate) => {
          const judgement = judgeUrl(candidate, production);
          if (judgement.kind === "refused") return;
          assert.deepEqual(judgeUrl(judgement.url, production), judgement);
          const url = new URL(judgement.url);
          assert.equal(url.protocol, "https:");
          assert.equal(url.username + url.password + url.hash, "");
          assert.ok(url.hostname.includes(".") || url.hostname.startsWith("["));
        },
      ),
      { numRuns: 3000 },
    );
  });

  test("every notation of a private IPv4 address is rejected", () => {
    const address = fc
      .tuple(
        fc.constantFrom([127], [10], [192, 168], [169, 254], [100, 64], [0]),
        fc.array(fc.nat(255), { minLength: 4, maxLength: 4 }),
      )
      .map(([start, rest]) => [...start, ...rest].slice(0, 4));
    const notations = [
      (n: number) => String(n),
      (n: number) => `0x${n.toString(16)}`,
      (n: number) => `0${n.toString(8)}`,
    ];
    fc.assert(
      fc.property(
        address,
        fc.nat(3),
        fc.array(fc.nat(2), { minLength: 4, maxLength: 4 }),
        (parts, kept, styles) => {
          const last = parts.slice(kept).reduce((value, part) => value * 256 + part, 0);
          const host = [...parts.slice(0, kept), last]
            .map((part, index) => notations[styles[index] ?? 0]?.(part))
            .join(".");
          const judgement = judgeUrl(`https://${host}/`, production);
          assert.equal(judgement.kind === "refused" ? judgement.code : "ok", "address", host);
        },
      ),
    );
  });
});
