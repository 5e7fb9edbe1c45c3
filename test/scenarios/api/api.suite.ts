/**
 * What every server must do at its HTTP interface, tested on real sockets. Run it with the stand-in engine, SQLite and
 * PostgreSQL.
 *
 * ```ts
 * apiConformance("embedded", async () => ({ baseUrl, adminKey, close }));
 * ```
 */
import { after, before, describe } from "node:test";
import { accessSuite } from "./access.suite.ts";
import { auditSuite } from "./audit.suite.ts";
import { badInputSuite } from "./bad-input.suite.ts";
import { createClient } from "./client.fixture.ts";
import type { Client, OpenApi, OpenedApi } from "./client.fixture.ts";
import { documentsSuite } from "./documents.suite.ts";
import { fuzzSuite } from "./fuzz.suite.ts";
import { idempotencySuite } from "./idempotency.suite.ts";
import { listingsSuite, storedListingsSuite } from "./listings.suite.ts";
import { publishingSuite } from "./publishing.suite.ts";
import { rawContentSuite } from "./raw-content.suite.ts";
import { sizesSuite } from "./sizes.suite.ts";
import { webhookSettingsSuite } from "./webhook-settings.suite.ts";
import { webhooksSuite } from "./webhooks.suite.ts";

export type Suite = (client: () => Client) => void;

/** Suites of calls that use the queue and the shared state: events, their deduplication, and changes of webhooks. */
const shared: Readonly<Record<string, Suite>> = {
  publishing: publishingSuite,
  "raw content": rawContentSuite,
  webhooks: webhooksSuite,
  idempotency: idempotencySuite,
};

/** Suites of calls that use only the store. */
const deep: Readonly<Record<string, Suite>> = {
  ...shared,
  "webhook settings": webhookSettingsSuite,
  listings: listingsSuite,
  "audit log": auditSuite,
  fuzz: fuzzSuite,
};

/** Suites of calls that get a response before the store is accessed. They behave the same in every mode. */
const shallow: Readonly<Record<string, Suite>> = {
  access: accessSuite,
  "bad input": badInputSuite,
  sizes: sizesSuite,
  documents: documentsSuite,
};

const suitesOf = {
  "everything": { ...deep, "stored listings": storedListingsSuite, ...shallow },
  "everything except a store": { ...deep, ...shallow },
  "inputs that reach the store": { ...deep, "stored listings": storedListingsSuite },
  "inputs that reach queue and shared state": shared,
};

export function apiConformance(
  name: string,
  open: OpenApi,
  part: keyof typeof suitesOf = "everything",
): void {
  describe(`API conformance: ${name}`, () => {
    let opened: OpenedApi;
    let client: Client;
    before(async () => {
      opened = await open();
      client = createClient({ baseUrl: opened.baseUrl, key: opened.adminKey });
    });
    after(() => opened.close());
    for (const [title, suite] of Object.entries(suitesOf[part])) describe(title, () => suite(() => client));
  });
}
