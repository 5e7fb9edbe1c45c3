import assert from "node:assert/strict";
import { test } from "node:test";
import { maskedFields } from "./audit.ts";

test("secrets are masked at any depth, and header names stay", () => {
  assert.deepEqual(
    maskedFields({
      secret: "whsec_1",
      bearer_token: "t",
      credential_headers: { "x-api-key": "k" },
      headers: { "x-tenant": "a", authorization: "Bearer b", "x-access-key": "c" },
      oauth2: { client_id: "me", client_secret: "s", token_url: "https://example.com/token" },
      client_certificate: { certificate_pem: "public", private_key_pem: "private" },
      retry: [{ password: "p" }],
    }),
    {
      secret: "…",
      bearer_token: "…",
      credential_headers: { "x-api-key": "…" },
      headers: { "x-tenant": "a", authorization: "…", "x-access-key": "…" },
      oauth2: { client_id: "me", client_secret: "…", token_url: "https://example.com/token" },
      client_certificate: { certificate_pem: "public", private_key_pem: "…" },
      retry: [{ password: "…" }],
    },
  );
});

test("values that are not secret are kept: publishers' keys, names of schemes, empty values, and whether there is one", () => {
  const plain = {
    idempotency_key: "order-1",
    signature_scheme: "standard",
    secret: null,
    force: true,
    has_bearer_token: true,
  };
  assert.deepEqual(maskedFields(plain), plain);
});

test("long values are replaced by their length", () => {
  const data_schema = { description: "x".repeat(2_000) };
  assert.deepEqual(maskedFields({ data_schema }), { data_schema: "… (2018 characters)" });
});
