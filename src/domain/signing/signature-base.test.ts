import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac, createPrivateKey, sign, verify } from "node:crypto";
import { describe, test } from "node:test";
import published from "./rfc9421-vectors.fixture.json" with { type: "json" };
import {
  buildSignatureBase,
  type LabelledSignature,
  parseSignatures,
  type SignedMessage,
} from "./signature-base.ts";
import { privateKeyObject } from "./signing-key.ts";

interface RawMessage {
  readonly start_line: string;
  readonly headers: readonly (readonly string[])[];
}

function messageOf({ start_line, headers }: RawMessage, scheme = "https"): SignedMessage {
  const fieldLines = (name: string): string[] =>
    headers.filter(([key]) => key?.toLowerCase() === name).map(([, value]) => value ?? "");
  const [first = "", second = ""] = start_line.split(" ");
  if (first.startsWith("HTTP/")) return { status: Number(second), fieldLines };
  const host = fieldLines("host")[0]?.trim();
  const targetUri = second.startsWith("http") ? second : `${scheme}://${host}${second}`;
  return { method: first, targetUri, requestTarget: second, fieldLines };
}

/** Parses a message; folded lines stay folded. */
function rawMessage(text: string): RawMessage {
  const [first = "", ...others] = text.split("\n");
  const hasStartLine = / HTTP\/|^HTTP\//.test(first);
  const lines = (hasStartLine ? others : [first, ...others])
    .join("\n")
    .replaceAll("\n ", "\r\n ")
    .split("\n");
  const headers: string[][] = [];
  for (const line of lines.join("\n").split(/(?<!\r)\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.push([line.slice(0, colon), line.slice(colon + 1)]);
  }
  return { start_line: hasStartLine ? first : "GET / HTTP/1.1", headers };
}

function only(signatureInput: string, signature = "s=:AA==:"): LabelledSignature {
  const label = signatureInput.slice(0, signatureInput.indexOf("="));
  const value = signature === "s=:AA==:" ? `${label}=:AA==:` : signature;
  const parsed = parseSignatures(signatureInput, value);
  assert.ok(parsed.kind === "parsed", `malformed: ${signatureInput}`);
  const [found] = parsed.signatures;
  assert.ok(found !== undefined && parsed.signatures.length === 1);
  return found;
}

function baseOf(message: SignedMessage, signatureInput: string): string | null {
  const base = buildSignatureBase(message, only(signatureInput).input);
  return base.kind === "built" ? base.text : null;
}

describe("the signature base", () => {
  for (const vector of published.cases) {
    test(`RFC 9421 ${vector.section}: ${vector.title}`, () => {
      const message = messageOf(published.messages[vector.message as "test-request"]);
      assert.equal(baseOf(message, vector.signature_input), vector.signature_base);
    });
  }

  for (const vector of published.component_canonicalisation) {
    test(`RFC 9421 ${vector.section}: ${vector.note || vector.signature_base_lines[0]}`, () => {
      const scheme = vector.section === "2.2.4" ? "http" : "https";
      const raw = rawMessage(vector.input ?? "POST /path HTTP/1.1\nHost: www.example.com");
      const { fieldLines, ...message } = messageOf(raw, scheme);
      const identifiers = vector.signature_base_lines.map((line) => line.slice(0, line.indexOf(": ")));
      const structuredFields = { "example-dict": "dictionary" } as const;
      const complete: SignedMessage = {
        ...message,
        fieldLines,
        trailerLines: fieldLines,
        structuredFields,
      };
      for (const [index, identifier] of identifiers.entries()) {
        const base = baseOf(complete, `sig=(${identifier})`);
        assert.equal(base?.split("\n")[0], vector.signature_base_lines[index]);
      }
    });
  }

  test("RFC 9421 4.3: a gateway adds its signature to the client's", () => {
    const { proxied_request, client_request, proxy_signature_base, client_signature_base } =
      published.multiple_signatures;
    const fields = new Map(proxied_request.headers.map(([name = "", value = ""]) => [name, value]));
    const parsed = parseSignatures(fields.get("Signature-Input") ?? "", fields.get("Signature") ?? "");
    assert.ok(parsed.kind === "parsed");
    const [client, proxy] = parsed.signatures.map(({ input }) => input);
    assert.ok(client !== undefined && proxy !== undefined);
    assert.deepEqual([client.label, proxy.label, proxy.expires], ["sig1", "proxy_sig", 1_618_884_540]);
    assert.deepEqual(buildSignatureBase(messageOf(proxied_request), proxy), {
      kind: "built",
      text: proxy_signature_base,
    });
    assert.deepEqual(buildSignatureBase(messageOf(client_request), client), {
      kind: "built",
      text: client_signature_base,
    });
  });
});

describe("published signatures over our base", () => {
  const keys = published.keys;

  function holds(signed: LabelledSignature, use: { base: string; algorithm: string; key: string }): boolean {
    const data = Buffer.from(use.base);
    const pem = Object.values((keys[use.key as "test-key-rsa"] as { pem?: object }).pem ?? {})[0] as string;
    switch (use.algorithm) {
      case "hmac-sha256": {
        const key = Buffer.from(keys["test-shared-secret"].key_hex, "hex");
        return createHmac("sha256", key).update(data).digest().equals(signed.signature);
      }
      case "ed25519":
        return verify(null, data, pem, signed.signature);
      case "ecdsa-p256-sha256":
        return verify("sha256", data, { key: pem, dsaEncoding: "ieee-p1363" }, signed.signature);
      default:
        // RSA-PSS with a salt of the same length as the digest.
        return verify("sha512", data, { key: pem, padding: 6, saltLength: 64 }, signed.signature);
    }
  }

  for (const vector of published.cases) {
    test(`RFC 9421 ${vector.section} verifies`, () => {
      const message = messageOf(published.messages[vector.message as "test-request"]);
      const signed = only(vector.signature_input, vector.signature);
      const base = buildSignatureBase(message, signed.input);
      assert.ok(base.kind === "built");
      assert.ok(holds(signed, { base: base.text, algorithm: vector.algorithm, key: vector.key }));
    });
  }

  test("B.2.6: signing with the key gives the published bytes", () => {
    const vector = published.cases.find(({ section }) => section === "B.2.6");
    assert.ok(vector !== undefined);
    const message = messageOf(published.messages["test-request"]);
    const key = privateKeyObject(Buffer.from(keys["test-key-ed25519"].seed_hex, "hex"));
    assert.ok(createPrivateKey({ key: key.export({ format: "jwk" }), format: "jwk" }).equals(key));
    const text = baseOf(message, vector.signature_input) ?? "";
    assert.equal(`sig-b26=:${sign(null, Buffer.from(text), key).toString("base64")}:`, vector.signature);
  });

  for (const vector of published.transformations.cases) {
    test(`RFC 9421 B.4: ${vector.description}, ${vector.expect_valid ? "valid" : "invalid"}`, () => {
      const message = messageOf(vector.message);
      const [signatureInput = ""] = message.fieldLines("signature-input");
      const signed = only(signatureInput, message.fieldLines("signature")[0]);
      const base = buildSignatureBase(message, signed.input);
      assert.ok(base.kind === "built");
      const use = { base: base.text, algorithm: vector.algorithm, key: vector.key };
      assert.equal(holds(signed, use), vector.expect_valid);
    });
  }
});

describe("components without a value", () => {
  const message: SignedMessage = {
    method: "POST",
    targetUri: "https://example.com/a?x=1&y=2&y=3",
    fieldLines: (name) => ({ "broken": ["a\nb"], "latin": ["caf\u00e9"], "list": ["a, b"] })[name] ?? [],
  };
  const unavailable = [
    '"absent"',
    '"@status"',
    '"@unknown"',
    '"@signature-params"',
    '"@method";req',
    '"@method";x',
    '"@query-param"',
    '"@query-param";name="absent"',
    '"@query-param";name="y"',
    '"@query-param";name=x',
    '"List"',
    '"list";req',
    '"list";sf',
    '"list";tr',
    '"list";key="c"',
    '"list";key=a',
    '"list";bs;sf',
    '"list";bs=?0',
    '"broken"',
    '"latin"',
  ];
  for (const component of unavailable) {
    test(`${component} makes the base unavailable`, () => {
      const base = buildSignatureBase(
        message,
        only(`s=("@method" ${component})`.replace('("@method" "@method"', '("@method"')).input,
      );
      assert.deepEqual(base, { kind: "unavailable", component });
    });
  }

  test("a value cannot inject lines", () => {
    assert.equal(baseOf({ fieldLines: () => ['x\n"@method": GET'] }, 's=("a")'), null);
  });
});
