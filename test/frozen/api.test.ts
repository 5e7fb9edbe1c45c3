/**
 * The HTTP API: its OpenAPI document, one response of every operation, the common errors, and the error message of
 * every bound.
 */
import assert from "node:assert/strict";
import { after, before, mock, suite, test } from "node:test";
import type { Client } from "../scenarios/api/client.fixture.ts";
import { type ApiDocument, operationsOf } from "../scenarios/api/published-schemas.fixture.ts";
import { openServer, type RunningServer } from "../scenarios/api/running-server.fixture.ts";
import { tour } from "../scenarios/api/tour.fixture.ts";
import { provokeErrors } from "./errors.ts";
import { assertFrozen } from "./golden.ts";
import { Transcript } from "./transcript.ts";

const begin = Date.UTC(2026, 0, 1);

suite("the HTTP API matches the golden files", () => {
  let server: RunningServer;
  let client: Client;
  let now = begin;

  before(async () => {
    // The wall clock advances only between requests. Timers and the monotonic clock are real.
    mock.timers.enable({ apis: ["Date"], now });
    server = await openServer();
    client = server.admin;
  });

  after(async () => {
    await server.close();
    mock.timers.reset();
  });

  const settled = async (): Promise<void> => {
    for (let quietTurns = 0; quietTurns < 20; quietTurns += 1) {
      const { inFlight, uncommitted } = server.running.stopping();
      if (inFlight + uncommitted > 0) quietTurns = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    now += 10;
    mock.timers.setTime(now);
  };

  test("the OpenAPI document", async () => {
    const { body } = await client.get("/openapi.json");
    assertFrozen("openapi.json", `${JSON.stringify(body, null, 2)}\n`);
  });

  test("responses of every operation", async () => {
    const transcript = new Transcript(settled);
    for await (const { reply } of tour(transcript.record(client))) assert.ok(reply.status > 0);
    assertFrozen("api-tour.txt", transcript.text());
    const document = (await client.get("/openapi.json")).body as unknown as ApiDocument;
    const unreached = operationsOf(document).filter(({ method, path }) => {
      const pattern = new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/?]+")}(\\?|$)`);
      return !transcript.exchanges.some(
        (one) => one.method === method && pattern.test(one.path) && one.status < 400,
      );
    });
    const names = unreached.map(
      ({ method, path, operation }) => `${operation.operationId}: ${method} ${path}`,
    );
    assertFrozen("api-tour-without-success.txt", `${names.join("\n")}\n`);
  });

  test("the usual errors", async () => {
    const transcript = new Transcript(settled, "errors");
    await provokeErrors(transcript.record(client));
    assertFrozen("api-errors.txt", transcript.text());
  });
});
