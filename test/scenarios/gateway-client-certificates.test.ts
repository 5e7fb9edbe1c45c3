/**
 * Mutual TLS that ends at a proxy, which forwards the certificate. Tests which proxies are trusted and which formats
 * are accepted.
 */
import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { createServer, request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, suite, test, type TestContext } from "node:test";
import type { TLSSocket } from "node:tls";
import { clientCertificateReader, readCertificate } from "../../src/http/serve-inbound.ts";
import { resolveValues } from "../../src/config/resolve.ts";
import { expiredPair, type KeyPair, otherHostPair, testAuthority, validPair } from "../peers/certificates.ts";
import { assertProblem } from "./api/client.fixture.ts";
import { GatewayScene } from "./gateway/gateway-scene.fixture.ts";
import { post } from "./gateway/scene.fixture.ts";

const known = new X509Certificate(validPair.cert);
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const ofCertificate = sha256(known.raw);
const ofKey = sha256(known.publicKey.export({ type: "spki", format: "der" }));
const inField = (pair: KeyPair) => `:${new X509Certificate(pair.cert).raw.toString("base64")}:`;

/**
 * A proxy that terminates TLS, requests a client certificate, and sets `Client-Cert` to it. A value from the sender is
 * replaced.
 */
async function startProxy(t: TestContext, target: string): Promise<string> {
  const tls = { ...validPair, ca: testAuthority, requestCert: true, rejectUnauthorized: false };
  const proxy = createServer(tls, (request, response) => {
    const { raw } = (request.socket as TLSSocket).getPeerCertificate();
    const { "client-cert": _, ...headers } = request.headers;
    const seen = raw === undefined ? {} : { "client-cert": `:${raw.toString("base64")}:` };
    const onward = httpRequest(`${target}${request.url}`, {
      method: request.method,
      headers: { ...headers, ...seen },
    });
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 0);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  t.after(() => proxy.close());
  return `https://localhost:${(proxy.address() as AddressInfo).port}`;
}

async function sendOverTls(url: string, pair: KeyPair | null, forged?: string): Promise<number> {
  const headers = {
    "content-type": "application/json",
    ...(forged !== undefined && { "client-cert": forged }),
  };
  const options = { method: "POST", ca: testAuthority, agent: false, headers, ...pair };
  const request = httpsRequest(url, options);
  request.end('{"a":1}');
  const [response] = (await once(request, "response")) as [{ statusCode: number; resume(): void }];
  response.resume();
  return response.statusCode;
}

suite("client certificates of senders", () => {
  const scene = new GatewayScene({
    clientCertificateHeader: "Client-Cert",
    trustedProxies: ["127.0.0.1/32"],
  });
  const untrusting = new GatewayScene({
    clientCertificateHeader: "Client-Cert",
    trustedProxies: ["192.0.2.0/24"],
  });
  before(() => Promise.all([scene.start(), untrusting.start()]));
  after(() => Promise.all([scene.stop(), untrusting.stop()]));
  const verification = (...fingerprints: string[]) => ({ type: "client_certificate", fingerprints });

  test("TS16-80 a sender that proved its key to the proxy is accepted, and no other", async (t) => {
    const { url, requests } = await scene.source({ source: { verification: verification(ofCertificate) } });
    const proxy = await startProxy(t, scene.running.url ?? "");
    const address = `${proxy}${new URL(url).pathname}`;
    assert.equal(await sendOverTls(address, validPair), 200);
    assert.equal(await sendOverTls(address, otherHostPair), 401);
    assert.equal(await sendOverTls(address, null), 401);
    assert.equal(
      await sendOverTls(address, null, inField(validPair)),
      401,
      "what a sender writes there is taken away",
    );
    const causes = (await requests()).map(({ rejection_cause: cause }) => cause);
    assert.deepEqual(causes, ["missing_header", "missing_header", "bad_token", null]);
  });

  test("the fingerprint of the public key is accepted too, with colons and capital letters", async () => {
    const colons = ofKey.toUpperCase().match(/../g)?.join(":") ?? "";
    const { url } = await scene.source({ source: { verification: verification(colons) } });
    const headers = { "client-cert": inField(validPair) };
    assert.equal((await post(url, "{}", { headers })).status, 200);
  });

  test("an expired certificate is rejected", async () => {
    const expired = sha256(new X509Certificate(expiredPair.cert).raw);
    const { url, requests } = await scene.source({ source: { verification: verification(expired) } });
    const headers = { "client-cert": inField(expiredPair) };
    assert.equal((await post(url, "{}", { headers })).status, 401);
    assert.equal((await requests())[0]?.["rejection_cause"], "too_old");
  });

  test("the header is ignored unless it comes from a trusted proxy", async () => {
    const { url } = await untrusting.source({ source: { verification: verification(ofCertificate) } });
    const headers = { "client-cert": inField(validPair) };
    assert.equal((await post(url, "{}", { headers })).status, 401);
  });

  test("a duplicate header is ignored", async () => {
    const { url } = await scene.source({ source: { verification: verification(ofCertificate) } });
    const headers = { "client-cert": [inField(validPair), inField(validPair)] };
    assert.equal((await post(url, "{}", { headers })).status, 401);
  });
});

test("without a proxy that sends certificates, no source can require one", async (t) => {
  const scene = new GatewayScene();
  await scene.start();
  t.after(() => scene.stop());
  for (const verification of [
    { type: "client_certificate", fingerprints: [ofCertificate] },
    { type: "any_of", verifiers: [{ type: "client_certificate", fingerprints: [ofCertificate] }] },
  ]) {
    const answer = await scene.admin.post("/v1/sources", { name: "x", verification });
    assertProblem(answer, { status: 400, code: "invalid_request" });
    assert.match(answer.text, /POSTHORN_TRUSTED_PROXIES/);
  }
});

test("the header without a named proxy is rejected at startup", () => {
  const resolution = resolveValues({ clientCertificateHeader: "Client-Cert" });
  assert.equal(resolution.kind, "refused");
  assert.match(JSON.stringify(resolution), /only from trusted proxies/);
});

test("every format in which proxies send a certificate is accepted, and nothing similar", () => {
  const der = known.raw.toString("base64");
  const pem = encodeURIComponent(validPair.cert);
  for (const value of [
    `:${der}:`,
    pem,
    validPair.cert.replaceAll("\n", " "),
    der,
    `${der},${der}`,
    `By=x;Cert="${pem}";Chain="x"`,
  ])
    assert.equal(readCertificate(value)?.certificateSha256, ofCertificate, value.slice(0, 40));
  assert.equal(
    readCertificate(`Hash=${ofCertificate};Subject="CN=a;b, c"`)?.certificateSha256,
    ofCertificate,
  );
  const severalNames = `Hash=${ofCertificate};DNS=a.example.com;DNS=b.example.com`;
  assert.equal(readCertificate(severalNames)?.certificateSha256, ofCertificate);
  for (const value of [
    "",
    "::",
    "%",
    ofCertificate,
    `:${der.slice(0, 100)}:`,
    "Hash=abc",
    `Hash=${ofCertificate},Hash=${ofCertificate}`,
    `Subject="Hash=${ofCertificate}"`,
    `Subject="a\\";Hash=${ofCertificate}`,
    `Hash=${ofKey};Subject="x";Hash=${ofCertificate}`,
    `Cert="Hash=${ofCertificate}"`,
  ])
    assert.equal(readCertificate(value), null, value.slice(0, 40));
});

test("the named address blocks are trusted, in both families and for mapped addresses", () => {
  const read = clientCertificateReader({
    header: "Client-Cert",
    trustedProxies: ["10.0.3.0/24", "fd00::/8"],
  });
  const headers = ["CLIENT-CERT", inField(validPair)];
  const trusted = ["10.0.3.7", "::ffff:10.0.3.7", "fd12::1"];
  const others = ["10.0.4.7", "::ffff:10.0.4.7", "::1", "127.0.0.1", "", undefined];
  assert.deepEqual(
    trusted.map((peer) => read(peer, headers)?.certificateSha256),
    trusted.map(() => ofCertificate),
  );
  for (const peer of others) assert.equal(read(peer, headers), null, String(peer));
});
