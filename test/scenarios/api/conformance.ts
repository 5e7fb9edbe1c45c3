/**
 * What every server must do at its HTTP surface, tested over real sockets: run it on the stand-in engine, on SQLite, on
 * PostgreSQL.
 *
 * ```ts
 * apiConformance("embedded", async () => ({ baseUrl, adminKey, close }));
 * ```
 */
import { after, before, describe } from "node:test";
import { accessSuite } from "./access.ts";
import { auditSuite } from "./audit.ts";
import { badInputSuite } from "./bad-input.ts";
import { createClient } from "./client.ts";
import type { Client, OpenApi, OpenedApi } from "./client.ts";
import { documentsSuite } from "./documents.ts";
import { fuzzSuite } from "./fuzz.ts";
import { idempotencySuite } from "./idempotency.ts";
import { listingsSuite, storedListingsSuite } from "./listings.ts";
import { publishingSuite } from "./publishing.ts";
import { rawContentSuite } from "./raw-content.ts";
import { sizesSuite } from "./sizes.ts";
import { webhookSettingsSuite } from "./webhook-settings.ts";
import { webhooksSuite } from "./webhooks.ts";

export type Suite = (client: () => Client) => void;

/** Calls that reach the queue and the shared state: events and their deduplication, and changes of webhooks. */
const shared: Readonly<Record<string, Suite>> = {
  publishing: publishingSuite,
  "raw content": rawContentSuite,
  webhooks: webhooksSuite,
  idempotency: idempotencySuite,
};

/** Calls that reach the store. */
const deep: Readonly<Record<string, Suite>> = {
  ...shared,
  "webhook settings": webhookSettingsSuite,
  listings: listingsSuite,
  "audit log": auditSuite,
  fuzz: fuzzSuite,
};

/** Calls answered before any access to a store, and therefore the same in every mode. */
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
