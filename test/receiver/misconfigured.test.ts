import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { fastify } from "fastify";
import { expressHandler } from "../../src/receiver/frameworks/express.ts";
import { fetchHandler } from "../../src/receiver/frameworks/fetch.ts";
import { honoHandler } from "../../src/receiver/frameworks/hono.ts";
import { nodeHttpListener } from "../../src/receiver/frameworks/node-http.ts";
import { createReceiver } from "../../src/receiver/receiver.ts";
import { allOf, anyOf } from "../../src/receiver/schemes/first-match.ts";
import { createMemoryDeduplicationStore } from "../../src/receiver/stores/memory.ts";
import {
  bearer,
  httpSignatures,
  providers,
  standardWebhooks,
  xWebhook,
} from "../../src/receiver/verifiers.ts";
import { endpointWith } from "./endpoint.fixture.ts";
import { importExpress, listen } from "./frameworks.fixture.ts";

const key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const verifier = standardWebhooks({ keys: key });
const handler = (): void => undefined;

/** Mistakes that newcomers can make if they use JavaScript without types. */
const mistakes: readonly (readonly [string, () => unknown, RegExp])[] = [
  ["no options", () => createReceiver(undefined as never), /^verifier is missing/],
  [
    "a verifier that was not created",
    () => receiver({ verifier: standardWebhooks }),
    /^verifier is missing or not a verifier/,
  ],
  [
    "no deduplication",
    () => createReceiver({ verifier, handler } as never),
    /^deduplication is missing; .*Memory/,
  ],
  [
    "a store that was not created",
    () => deduplicated(createMemoryDeduplicationStore),
    /^deduplication\.store is not a store/,
  ],
  [
    "an unset variable",
    () => standardWebhooks({ keys: undefined as never }),
    /^keys is not set.*environment/,
  ],
  ["an unset variable of one producer", () => standardWebhooks({ keys: { shop: "" } }), /^keys is not set/],
  ["the option of another scheme", () => xWebhook({ keys: key } as never), /^secrets is not set/],
  ["no tokens", () => bearer({} as never), /^tokens is not set/],
  ["secret for secrets", () => providers.stripe({ secret: key } as never), /^secrets is not set/],
  [
    "a key that is not a list",
    () => httpSignatures({ keys: key as never }),
    /^keys must be a list.*\[\{ key: /,
  ],
  ["a list of texts", () => httpSignatures({ keys: [key as never] }), /^key of an entry of keys is not set/],
  ["anyOf of one verifier", () => anyOf(verifier as never), /^anyOf needs a list/],
  ["allOf of one verifier", () => allOf(verifier as never), /^allOf needs a list/],
];

function receiver(options: object): unknown {
  return createReceiver({ deduplication: false, verifier, handler, ...options });
}

function deduplicated(store: unknown): unknown {
  return receiver({ deduplication: { store } });
}

suite("typical first mistakes", () => {
  for (const [name, make, message] of mistakes) {
    test(`${name}: rejected at startup, naming the option`, () => {
      assert.throws(make, { code: "misconfigured", message });
    });
  }

  const wrongAdapters = { fetchHandler, honoHandler };
  for (const [name, adapter] of Object.entries(wrongAdapters)) {
    test(`${name} in Express says which adapters there are`, async (t) => {
      const express = await importExpress("express");
      const { receiver: endpoint } = endpointWith();
      const errors: unknown[] = [];
      const app = express();
      app.all("/", adapter(endpoint));
      app.use(
        (
          error: unknown,
          _request: unknown,
          response: { sendStatus(status: number): void },
          _next: unknown,
        ) => {
          errors.push(error);
          response.sendStatus(500);
        },
      );
      const server = await listen(app);
      t.after(() => server.close());
      await fetch(server.url, { method: "POST", body: "{}" });
      const [{ code, message }] = errors as [{ code: string; message: string }];
      assert.equal(code, "misconfigured");
      assert.match(message, /not called with a Request.*expressHandler/);
    });
  }

  test("expressHandler in Fastify says which adapters there are", async (t) => {
    const { receiver: endpoint } = endpointWith();
    const failed = Promise.withResolvers<unknown>();
    const app = fastify();
    app.post("/", (request, reply) => {
      expressHandler(endpoint)(request as never, reply as never, failed.resolve);
    });
    t.after(() => app.close());
    void app.inject({ method: "POST", url: "/", payload: { a: 1 } });
    const { code, message } = (await failed.promise) as { readonly code: string; readonly message: string };
    assert.equal(code, "misconfigured");
    assert.match(message, /not called with a request of node:http.*fastifyReceiver/);
  });

  test("nodeHttpListener behind express.json() is 500, and not an invalid signature", async (t) => {
    const express = await importExpress("express");
    const { receiver: endpoint, seen } = endpointWith();
    const app = express();
    app.use(express.json());
    app.all("/", nodeHttpListener(endpoint));
    const server = await listen(app);
    t.after(() => server.close());
    const headers = { "content-type": "application/json" };
    const answer = await fetch(server.url, { method: "POST", body: '{"a":1}', headers });
    const { type } = (await answer.json()) as { readonly type: string };
    assert.deepEqual([answer.status, seen.runs], [500, 0]);
    assert.match(type, /#body-already-parsed$/);
  });
});
