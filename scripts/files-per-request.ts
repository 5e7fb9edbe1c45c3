// Counts the files of src with at least one function that runs while the server handles GET and PATCH
// /v1/webhooks/{id}. Uses V8 coverage of the process during one request. `node scripts/with-runtime.mjs
// scripts/files-per-request.ts [--list]`

import { Session } from "node:inspector/promises";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { textOf } from "../test/scenarios/api/client.fixture.ts";
import { openServer } from "../test/scenarios/api/running-server.fixture.ts";
import { projectRoot } from "./source-files.ts";

/** Number of requests of each kind. A background task may run during some of them, but not during all. */
const requestsEach = 7;
const sources = pathToFileURL(join(projectRoot, "src", "/")).href;
const session = new Session();

const server = await openServer();
const { admin } = server;
try {
  const { body } = await admin.post("/v1/webhooks", { url: "https://example.com/", events: ["order.*"] });
  const id = textOf(body["id"]);
  const path = `/v1/webhooks/${id}`;
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await report(`GET ${path.replace(id, "{id}")}`, () => admin.get(path));
  let changes = 0;
  await report(`PATCH ${path.replace(id, "{id}")}`, () =>
    admin.call("PATCH", path, { body: { description: String(++changes) } }),
  );
} finally {
  await server.close();
}

async function report(title: string, request: () => Promise<unknown>): Promise<void> {
  // The first request fills caches.
  await request();
  let files: ReadonlySet<string> | null = null;
  for (let number = 0; number < requestsEach; number += 1) {
    await filesThatRan();
    await request();
    const ran = await filesThatRan();
    files = files === null ? ran : new Set(files).intersection(ran);
  }
  process.stdout.write(`${title}: ${files?.size} files\n`);
  if (!process.argv.includes("--list")) return;
  for (const file of [...(files ?? [])].toSorted()) process.stdout.write(`  ${file}\n`);
}

/**
 * Files that ran since the last call. Each call resets the counts. Loading a module counts as running a function of its
 * file.
 */
async function filesThatRan(): Promise<ReadonlySet<string>> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const ran = result.filter(
    ({ url, functions }) =>
      url.startsWith(sources) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
  );
  return new Set(ran.map(({ url }) => relative(projectRoot, fileURLToPath(url))));
}
