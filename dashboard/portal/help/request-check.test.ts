import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { suite, test } from "node:test";
import { checkRequest, type Mac, type PastedRequest, readHeaders } from "./request-check.ts";

const key = Buffer.alloc(32, 7);
const secret = `whsec_${key.toString("base64")}`;
const body = '{"type":"order.paid","data":{"id":1,"note":"ä"}}';
const seconds = 1_800_000_000;
const now = seconds * 1_000;
const mac: Mac = async (bytes, content) => createHmac("sha256", bytes).update(content).digest();

function signed(text: string, by: Uint8Array | string = key): string {
  return createHmac("sha256", by).update(`msg_1.${seconds}.${text}`).digest("base64");
}

function headersFor(signature: string, more = ""): string {
  return `webhook-id: msg_1\nwebhook-timestamp: ${seconds}\nwebhook-signature: ${signature}\n${more}`;
}

const right: PastedRequest = {
  headers: headersFor(`v1,AAAA v1,${signed(body)}`),
  body,
  secret,
  computed: "",
};

async function found(changes: Partial<PastedRequest>, at = now): Promise<readonly string[]> {
  const findings = await checkRequest({ ...right, ...changes }, { mac, now: at });
  return findings.filter(({ state }) => state !== "passed").map(({ part, what }) => `${part}: ${what}`);
}

suite("a pasted request", () => {
  test("that is correct passes, in every header notation", async () => {
    const lines = right.headers.trim();
    const asJson = Object.fromEntries(lines.split("\n").map((line) => line.split(": ")));
    for (const headers of [
      lines,
      lines.replaceAll(/^webhook-/gm, "> Webhook-"),
      JSON.stringify(asJson),
      JSON.stringify(Object.fromEntries(Object.entries(asJson).map(([name, value]) => [name, [value]]))),
      lines.replaceAll(/^(.*?): (.*)$/gm, '  "$1": "$2",'),
      lines.replaceAll("webhook-", "svix-"),
    ])
      assert.deepEqual(await found({ headers }), [], headers);
    assert.equal(readHeaders("< Webhook-Id: msg_1\r\n").get("webhook-id"), "msg_1");
  });

  test("without headers, or with an invalid timestamp, reports that", async () => {
    assert.deepEqual(await found({ headers: "webhook-id: msg_1" }), ["headers: headers.missing"]);
    const withTime = (time: string) => right.headers.replace(String(seconds), time);
    assert.equal((await found({ headers: withTime("soon") }))[0], "time: time.form");
    assert.equal((await found({ headers: withTime(String(now)) }))[0], "time: time.milliseconds");
    assert.deepEqual(await found({}, now + 600_000), ["time: time.old"]);
    assert.deepEqual(await found({}, now - 600_000), ["time: time.ahead"]);
  });

  test("reports problems of the secret", async () => {
    for (const [given, what] of [
      ["", "secret.absent"],
      [`whsec_…${secret.slice(-4)}`, "secret.masked"],
      ["whpk_AAAA", "secret.pair"],
      ["whsec_not base64!", "secret.form"],
      [secret.slice(6), "secret.prefix"],
    ] as const)
      assert.deepEqual(await found({ secret: given }), [`secret: ${what}`]);
    const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
    assert.deepEqual(await found({ secret: other }), ["signature: signature.none"]);
    const headers = headersFor(`v1,${signed(body)}`, `content-length: ${Buffer.byteLength(body)}`);
    assert.deepEqual(await found({ secret: other, headers }), ["secret: signature.secret"]);
  });

  test("reports changes to the body", async () => {
    const value = JSON.parse(body) as unknown;
    assert.deepEqual(await found({ body: `${body}\n` }), ["body: body.newline"]);
    assert.deepEqual(await found({ body: JSON.stringify(value, null, 4) }), ["body: body.rewritten"]);
    const pythons = body.replaceAll(":", ": ").replaceAll(",", ", ");
    const headers = headersFor(`v1,${signed(pythons)}`);
    assert.deepEqual(await found({ headers }), ["body: body.rewritten"]);
    const cut = headersFor(`v1,${signed(body)}`, `content-length: ${Buffer.byteLength(body)}`);
    assert.deepEqual(await found({ body: body.slice(0, -3), headers: cut }), ["body: body.length"]);
  });

  test("reports other signature formats", async () => {
    const hex = Buffer.from(signed(body), "base64").toString("hex");
    for (const [signature, what] of [
      [hex, "signature.hex"],
      ["v1a,AAAA", "signature.pair"],
      ["sha256=abc", "signature.form"],
    ] as const)
      assert.deepEqual(await found({ headers: headersFor(signature) }), [`signature: ${what}`]);
  });

  test("derives the wrong step from the signature that the customer's code computed", async () => {
    const made = (content: string, by: Uint8Array | string = key) => createHmac("sha256", by).update(content);
    const whole = `msg_1.${seconds}.${body}`;
    for (const [computed, what] of [
      [`v1,${signed(body)}`, undefined],
      [made(whole).digest("base64url"), undefined],
      [made(whole).digest("hex"), "code.hex"],
      [made(whole, secret).digest("base64"), "code.key"],
      [made(whole, secret.slice(6)).digest("hex"), "code.key"],
      [made(body).digest("base64"), "code.content"],
      [made(`${seconds}.${body}`).digest("base64"), "code.content"],
      [signed(JSON.stringify(JSON.parse(body), null, 2)), "code.rewritten"],
      ["AAAA", "code.unknown"],
    ] as const)
      assert.deepEqual(await found({ computed }), what === undefined ? [] : [`code: ${what}`], computed);
  });
});
