/** A webhook's request format, its credentials, and its verification before activation, through the API. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { expiredPair, otherHostPair, validPair } from "../../peers/certificates.ts";
import { assertProblem, fieldsOf, textOf } from "./client.fixture.ts";
import type { Client, Json } from "./client.fixture.ts";

const minimal = { url: "https://example.com/hooks", events: ["never.sent"] };
const oauth2 = {
  token_url: "https://auth.example.com/token",
  client_id: "posthorn",
  client_secret: "never-shown-secret",
};
const certificate = { certificate_pem: validPair.cert, private_key_pem: validPair.key };

export function webhookSettingsSuite(client: () => Client): void {
  const create = async (more: object = {}): Promise<Json> => {
    const reply = await client().post("/v1/webhooks", { ...minimal, ...more });
    assert.equal(reply.status, 201, reply.text);
    return reply.body;
  };
  const refused = async (more: object): Promise<string[]> => {
    const reply = await client().post("/v1/webhooks", { ...minimal, ...more });
    assertProblem(reply, { status: 400, code: "invalid_request" });
    return fieldsOf(reply).toSorted();
  };

  test("WDS-100 WDS-66 fields that were not given have their default, and are shown", async () => {
    const webhook = await create();
    assert.equal(webhook["payload_format"], "standard");
    assert.equal(webhook["bearer_token_in"], "header");
    assert.deepEqual(webhook["credential_headers"], {});
    for (const name of ["client_certificate", "oauth2"]) assert.equal(webhook[name], null, name);
    for (const name of ["http2", "migration_headers"]) assert.equal(webhook[name], false, name);
    assert.deepEqual(webhook["agreements"], {
      accept_multi_status: false,
      follow_permanent_redirect: false,
      idempotency_enforced: false,
    });
    assert.deepEqual(webhook["verification"], {
      method: "none",
      state: "none",
      detail: null,
      granted_at: null,
      requested_rate_per_minute: null,
      allowed_rate_per_minute: null,
      when_unsupported: "refuse",
      dns_record: null,
    });
  });

  test("EDS-9.2-2 agreements that differ from the profile can be read by both parties", async () => {
    const agreements = { accept_multi_status: true, idempotency_enforced: true };
    const webhook = await create({ agreements });
    const reader = client().withKey(await client().keyFor("read"));
    const shown = await reader.get(`/v1/webhooks/${textOf(webhook["id"])}`);
    assert.deepEqual(shown.body["agreements"], { ...agreements, follow_permanent_redirect: false });
    assert.equal((await reader.get("/v1/profiles/standard")).status, 200);
  });

  test("credentials are accepted and never shown", async () => {
    const created = await client().post("/v1/webhooks", {
      ...minimal,
      oauth2,
      credential_headers: { "X-Api-Key": "never-shown-value", "X-Two": "never-shown-value" },
      client_certificate: certificate,
    });
    assert.equal(created.status, 201, created.text);
    const webhook = created.body;
    assert.deepEqual(webhook["credential_headers"], { "X-Api-Key": "…", "X-Two": "…" });
    const { client_secret: _, ...shown } = oauth2;
    assert.deepEqual(webhook["oauth2"], { ...shown, scope: null, audience: null, authentication: "basic" });
    assert.equal(webhook["client_certificate"]?.["subject"], "CN=localhost");
    assert.equal(webhook["client_certificate"]?.["expires_at"], "2120-01-01T00:00:00.000Z");
    const path = `/v1/webhooks/${textOf(webhook["id"])}`;
    const bearer = await client().call("PATCH", path, {
      body: { oauth2: null, bearer_token: "never-shown-token" },
    });
    assert.deepEqual([bearer.body["oauth2"], bearer.body["has_bearer_token"]], [null, true]);
    const inQuery = await client().call("PUT", path, { body: { bearer_token_in: "query" } });
    assert.equal(inQuery.body["bearer_token_in"], "query");
    const texts = [
      created,
      bearer,
      inQuery,
      await client().get(path),
      await client().get("/v1/webhooks?limit=250"),
    ];
    for (const { text } of texts) assert.ok(!/never-shown|PRIVATE KEY/.test(text), text);
    const back = { credential_headers: webhook["credential_headers"] };
    assertProblem(await client().call("PATCH", path, { body: back }), {
      status: 400,
      code: "invalid_request",
    });
  });

  test("WDS-106 PUT and PATCH can be repeated, keep omitted fields, and accept null for the default", async () => {
    const webhook = await create({
      http2: true,
      credential_headers: { "X-Key": "1" },
      agreements: { accept_multi_status: true },
    });
    const path = `/v1/webhooks/${textOf(webhook["id"])}`;
    for (const method of ["PUT", "PATCH", "PUT"]) {
      const { body } = await client().call(method, path, {
        body: { migration_headers: true, verification: "none" },
      });
      assert.deepEqual(
        [
          body["http2"],
          body["migration_headers"],
          body["credential_headers"],
          body["agreements"]?.["accept_multi_status"],
        ],
        [true, true, { "X-Key": "…" }, true],
      );
    }
    const body = { http2: null, credential_headers: null, agreements: null, migration_headers: null };
    const cleared = await client().call("PATCH", path, { body });
    assert.deepEqual(
      [
        cleared.body["http2"],
        cleared.body["credential_headers"],
        cleared.body["agreements"]?.["accept_multi_status"],
      ],
      [false, {}, false],
    );
  });

  test("every invalid field is named", async () => {
    for (const [body, fields] of [
      [{ payload_format: "xml" }, ["payload_format"]],
      [{ bearer_token_in: "body" }, ["bearer_token_in"]],
      [{ credential_headers: { "Webhook-Id": "1" } }, ["credential_headers.Webhook-Id"]],
      [{ credential_headers: { "X-Key": 1 } }, ["credential_headers.X-Key"]],
      [{ client_certificate: { certificate_pem: "x" } }, ["client_certificate.private_key_pem"]],
      [
        { client_certificate: { ...certificate, private_key_pem: otherHostPair.key } },
        ["client_certificate.private_key_pem"],
      ],
      [
        { client_certificate: { certificate_pem: expiredPair.cert, private_key_pem: expiredPair.key } },
        ["client_certificate.certificate_pem"],
      ],
      [{ oauth2: { ...oauth2, token_url: "https://localhost/" } }, ["oauth2.token_url"]],
      [{ oauth2: { client_id: "x" } }, ["oauth2.client_secret", "oauth2.token_url"]],
      [{ oauth2: { ...oauth2, secret: "x" } }, ["oauth2.secret"]],
      [{ http2: "yes" }, ["http2"]],
      [{ agreements: { accept: true } }, ["agreements.accept"]],
      [{ signing: { schemes: ["v2"] } }, ["signing.schemes[0]"]],
      [{ verification: "email" }, ["verification"]],
      [{ verification: {} }, ["verification.method"]],
      [{ verification: { method: "email" } }, ["verification.method"]],
      [
        { verification: { method: "cloudevents", requested_rate_per_minute: 0 } },
        ["verification.requested_rate_per_minute"],
      ],
      [{ verification: { method: "cloudevents", rate: 1 } }, ["verification.rate"]],
    ] as const) {
      assert.deepEqual(await refused(body), fields, JSON.stringify(body));
    }
  });

  test("contradicting fields are both named", async () => {
    for (const [body, fields] of [
      [{ bearer_token: "t", oauth2 }, ["bearer_token", "oauth2"]],
      [{ bearer_token_in: "query" }, ["bearer_token", "bearer_token_in"]],
      [
        { bearer_token: "t", credential_headers: { Authorization: "x" } },
        ["bearer_token", "credential_headers"],
      ],
      [{ payload_format: "cloudevents-binary" }, ["payload_format", "profile"]],
      [{ profile: "x-webhook", signing: { schemes: ["v1"] } }, ["profile", "signing.schemes"]],
      [{ profile: "cloudevents" }, ["bearer_token", "profile"]],
      [{ verify_url: true, verification: "dns" }, ["verification", "verify_url"]],
      [{ verification: "dns", url: "https://8.8.8.8/" }, ["url", "verification"]],
    ] as const) {
      assert.deepEqual(await refused(body), fields, JSON.stringify(body));
    }
  });

  test("every profile accepts its own formats and schemes", async () => {
    for (const { name, payload_formats: formats } of [
      { name: "standard", payload_formats: ["standard", "standard-thin"] },
      { name: "x-webhook", payload_formats: ["x-webhook"] },
      { name: "cloudevents", payload_formats: ["cloudevents-structured", "cloudevents-binary"] },
    ]) {
      for (const format of formats) {
        const webhook = await create({ profile: name, payload_format: format, bearer_token: "t" });
        assert.deepEqual([webhook["profile"], webhook["payload_format"]], [name, format]);
      }
    }
  });

  test("a webhook that needs permission waits, and verify requires a method", async () => {
    const webhook = await create({ verification: { method: "dns" } });
    const path = `/v1/webhooks/${textOf(webhook["id"])}`;
    assert.deepEqual([webhook["status"], webhook["active"]], ["unverified", false]);
    assert.equal(typeof webhook["verification"]?.["dns_record"]?.["value"], "string");
    assert.equal((await client().post(`${path}/enable`)).body["status"], "unverified");
    const off = await client().call("PATCH", path, { body: { verification: "none" } });
    assert.equal(off.body["status"], "active");
    assertProblem(await client().post(`${path}/verify`), { status: 409, code: "conflict" });
    const publisher = client().withKey(await client().keyFor("publish"));
    assertProblem(await publisher.post(`${path}/verify`), { status: 403, code: "forbidden" });
  });

  test("a callback without its key has no effect, whatever it contains", async () => {
    const path = `/v1/webhooks/${textOf((await create())["id"])}/verification-callback`;
    const attacker = client().withKey(null);
    for (const key of ["", "x", "x".repeat(257)]) {
      const status = key === "x" ? 404 : 400;
      assert.equal((await attacker.get(`${path}?key=${key}`)).status, status, key.slice(0, 3));
    }
    assertProblem(await attacker.get(path), { status: 400, code: "invalid_request" });
    const form = { raw: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } };
    assertProblem(await attacker.post(`${path}?key=x`, undefined, form), { status: 404, code: "not_found" });
  });

  test("CEW-4.1.3-3 a callback is confirmed only by GET and POST: HEAD, which link previews send, has no effect", async () => {
    const path = `/v1/webhooks/${textOf((await create())["id"])}/verification-callback?key=x`;
    const reply = await client().withKey(null).call("HEAD", path);
    assert.equal(reply.status, 405);
    assert.deepEqual(reply.headers.get("allow")?.split(", ").toSorted(), ["GET", "POST"]);
  });

  test("callers without a key cannot have responses stored: a callback ignores Idempotency-Key", async () => {
    const path = `/v1/webhooks/${textOf((await create())["id"])}/verification-callback?key=x`;
    const attacker = client().withKey(null);
    const headers = { "idempotency-key": '"shared-by-all-outsiders"' };
    assert.equal((await attacker.post(path, undefined, { headers })).status, 404);
    const again = await attacker.post(path, undefined, { headers });
    assert.equal(again.status, 404);
    assert.equal(again.headers.get("idempotency-replayed"), null);
  });

  test("incidents are reported by the affected parties", async () => {
    const path = `/v1/webhooks/${textOf((await create())["id"])}/incidents`;
    const publisher = client().withKey(await client().keyFor("publish"));
    const reported = await publisher.post(path, { kind: "other", detail: "x" });
    assert.equal(reported.status, 202, reported.text);
    assert.equal(typeof reported.body["event_id"], "string");
    const bad = await publisher.post(path, { kind: "x", message_id: "a\nb" });
    assert.deepEqual(fieldsOf(bad).toSorted(), ["detail", "kind", "message_id"]);
    const attacker = client().withKey(await client().keyFor("manage", "stranger"));
    assertProblem(await attacker.post(path, { kind: "other", detail: "x" }), {
      status: 404,
      code: "not_found",
    });
  });
}
