import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { receiverErrors } from "../../src/receiver/receiver-error.ts";
import { node20For } from "../services/node20.fixture.ts";
import { InstalledPackage, root } from "../packages/built-package.fixture.ts";
import {
  assertHoldsNothingElse,
  assertImportsNeighboursOnly,
  assertStandsAlone,
  assertTypesAreComplete,
  entryFiles,
} from "../packages/package-checks.fixture.ts";

suite("the package @posthorn/receiver", () => {
  let installed: InstalledPackage;
  before(() => {
    installed = new InstalledPackage("receiver");
  });
  after(() => installed[Symbol.dispose]());

  test("has no dependencies, the version of posthorn, a licence and a README", () => {
    assertStandsAlone(installed);
  });

  test("every entry leads to code and types, and every framework, store and inbox has an entry", () => {
    const targets = entryFiles(installed);
    const parts = installed
      .files()
      .filter((path) => /receiver\/(frameworks|stores)\/[^/]+\.js$|inbox\/(inbox|\w+-store)\.js$/.test(path))
      .filter((path) => !/(node-exchange|database-objects|inbox-store)\.js$/.test(path));
    for (const path of parts) assert.ok(targets.includes(`./${path}`), `${path} has no entry`);
  });

  test("contains no tests, and of Posthorn only what it imports", () => {
    assertHoldsNothingElse(installed);
  });

  test("modules import only each other", () => {
    assertImportsNeighboursOnly(installed);
  });

  test("every error code has a section on the page to which its problem details link", () => {
    const page = readFileSync(join(root, "packages/receiver/README.md"), "utf8");
    const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
    assert.deepEqual(
      headings,
      Object.keys(receiverErrors).map((code) => code.replaceAll("_", "-")),
    );
  });

  test("verifies over node:http and the Fetch API on the newest Node", () => {
    assert.deepEqual(run(installed, { node: process.execPath }), expected({ isSynchronous: true }));
  });

  test("does the same with WebCrypto only", () => {
    assert.deepEqual(
      run(installed, { node: process.execPath, argument: "web" }),
      expected({ isSynchronous: false }),
    );
  });

  test("does the same on Node 20, with node:crypto and with WebCrypto", (t) => {
    const node = node20For(t);
    if (node === null) return;
    assert.deepEqual(run(installed, { node }), expected({ isSynchronous: true }));
    assert.deepEqual(run(installed, { node, argument: "web" }), expected({ isSynchronous: false }));
  });

  test("its types are complete: in a strict project with Node's types, and in one with only the browser's types", () => {
    assertTypesAreComplete(installed, typedUse);
  });
});

/** The code of an application, which also checks the types that it relies on. */
const typedUse = `
import { createReceiver, ReceiverError, standardWebhooks, providers, type MessageVerifier } from "@posthorn/receiver";
import { fetchHandler } from "@posthorn/receiver/fetch";
import { createMemoryDeduplicationStore } from "@posthorn/receiver/stores/memory";

const verifier: MessageVerifier = standardWebhooks({ keys: "whsec_" });
export const handle: (request: Request) => Promise<Response> = fetchHandler(
  createReceiver({
    verifier,
    deduplication: { store: createMemoryDeduplicationStore() },
    handler: async ({ producer, messageId, json }) => {
      const id: string | null = messageId;
      if (producer !== "acme") throw new ReceiverError("invalid_message", "not for us");
      return { status: 200, body: { id, data: json() } };
    },
  }),
);
// @ts-expect-error Square signs the address, so it has to be given
providers.square({ secrets: "hush" });
`;

function run(
  installed: InstalledPackage,
  { node, argument }: { readonly node: string; readonly argument?: string },
): unknown {
  const consumer = readFileSync(join(import.meta.dirname, "consumer.mjs"), "utf8");
  const program = installed.write("consumer.mjs", consumer);
  const args = argument === undefined ? [program] : [program, argument];
  return JSON.parse(execFileSync(node, args, { cwd: installed.project, encoding: "utf8" }));
}

function expected({ isSynchronous }: { readonly isSynchronous: boolean }) {
  const statuses = [204, 204, 204, 401, 401];
  return {
    http: statuses,
    fetched: statuses,
    handled: ["http", "fetch"].flatMap((way) => [
      [`${way}-1`, "v1", `${way}-1`],
      [`${way}-2`, "v1a", `${way}-2`],
    ]),
    github: "verified",
    isSynchronous,
  };
}

/** Node as installed on the system, not the version that this project installs. */
