import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { createInbox } from "../../src/receiver/inbox/inbox.ts";
import { createMemoryInboxStore } from "../../src/receiver/inbox/memory-store.ts";
import { receivedHeaders, type ReceivedMessage } from "../../src/receiver/message/message.ts";
import type { ReceiverAnswer } from "../../src/receiver/answers.ts";
import { standardWebhooks } from "../../src/receiver/verifiers.ts";
import { unicodeText } from "../services/unicode-text.fixture.ts";
import { webPaths, webUrls } from "../services/web-urls.fixture.ts";
import { endpointWith } from "./endpoint.fixture.ts";
import { nowMs } from "./messages.fixture.ts";

const seed = Number(process.env["POSTHORN_TEST_SEED"] ?? randomInt(2 ** 31));

const hostileText = fc.oneof(
  unicodeText({ maxLength: 300 }),
  fc.constantFrom(
    "",
    '"',
    '"key-1"',
    "*",
    "a\r\nb: c",
    "\u0000",
    "x".repeat(20_000),
    "application/json",
    "shop",
  ),
);

/** Header names that the receiver reads, and arbitrary other names. */
const headerName = fc.oneof(
  fc.constantFrom(
    "content-type",
    "content-encoding",
    "idempotency-key",
    "x-producer",
    "x-id",
    "x-time",
    "authorization",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "webhook-request-origin",
    "webhook-request-rate",
    "webhook-request-callback",
  ),
  fc.string({ maxLength: 20 }),
);

/** The base of many generated messages. These are nearly valid and therefore pass the first checks. */
const honest = { "content-type": "application/json", "x-producer": "shop", "x-time": String(nowMs / 1_000) };

const message: fc.Arbitrary<ReceivedMessage> = fc.record({
  method: fc.oneof(
    { weight: 3, arbitrary: fc.constant("POST") },
    { weight: 1, arbitrary: fc.constantFrom("OPTIONS", "GET", "post", "") },
    { weight: 1, arbitrary: unicodeText() },
  ),
  url: fc.oneof(webUrls, webPaths, hostileText, fc.constant("/?access_token=a&%")),
  headers: fc
    .tuple(fc.boolean(), fc.array(fc.tuple(headerName, hostileText), { maxLength: 8 }))
    .map(([isHonest, fields]) => receivedHeaders([...(isHonest ? Object.entries(honest) : []), ...fields])),
  body: fc.uint8Array({ maxLength: 300 }),
});

/** Valid and invalid results of a handler. */
const returned = fc.oneof(
  fc.constant(undefined),
  fc.record(
    {
      status: fc.oneof(fc.constantFrom(200, 201, 204, 301, 409, 429, 503), fc.integer()),
      body: fc.anything(),
      contentType: hostileText,
      retryAfterSeconds: fc.double(),
    },
    { requiredKeys: [] },
  ),
  fc.anything(),
);

function assertSound({ status, headers, body }: ReceiverAnswer): void {
  assert.ok((status >= 200 && status < 300) || (status >= 400 && status < 600), `status ${status}`);
  if (status === 429) assert.match(headers["retry-after"] ?? "", /^[1-9][0-9]*$/);
  if (status === 204) assert.equal(body, null);
  if (body !== null) assert.ok(headers["content-type"] !== undefined, "a body has a type");
  // If a server could not send the response, an adapter would throw. `Response` rejects the same values as node:http.
  void new Response(body as string | null, { status, headers });
}

const inbox = () => createInbox({ store: createMemoryInboxStore(), handler: () => undefined });

test(`CEW-2.2-2 CEW-2.2-9 no hostile input causes an exception, a redirect or a missing Retry-After (seed ${seed})`, async () => {
  const handshake = { allow: "*" as const, ratePerMinuteMax: 10 };
  const rateLimit = { requestsPerMinute: 1, burst: 1 };
  const key = { keys: `whsec_${Buffer.alloc(32, 7).toString("base64")}` };
  const endpoints = [
    endpointWith({ contentTypes: "any", deduplication: { keyHeaderAliases: ["x-id"] } }),
    endpointWith({ handshake, rateLimit }),
    endpointWith({ deduplication: false, overload: { inFlightMax: 1 } }),
    endpointWith({ inbox: inbox(), contentTypes: "any" }),
    endpointWith({ verifier: standardWebhooks(key), contentTypes: "any" }),
  ];
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(message, fc.constantFrom(...endpoints), async (received, { receiver }) => {
      const answer = await receiver.handle(received);
      statuses.add(answer.status);
      assertSound(answer);
    }),
    { seed, numRuns: 3_000 },
  );
  for (const status of [202, 204, 401, 405, 415, 429]) assert.ok(statuses.has(status), `never ${status}`);
});

test(`no result or exception of a handler gives a response that cannot be sent (seed ${seed})`, async () => {
  await fc.assert(
    fc.asyncProperty(returned, fc.boolean(), async (value, isThrown) => {
      const { send } = endpointWith({
        handler: () => {
          if (isThrown) throw value;
          return value as never;
        },
      });
      assertSound(await send());
      assertSound(await send());
    }),
    { seed, numRuns: 1_000 },
  );
});
