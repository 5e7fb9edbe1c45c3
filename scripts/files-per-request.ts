// Counts the files of src that run a function while the server handles GET and PATCH /v1/webhooks/{id}. Uses V8
// coverage of the process around one request. `node scripts/with-runtime.mjs scripts/files-per-request.ts [--list]`

import { Session } from "node:inspector/promises";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { textOf } from "../test/scenarios/api/client.fixture.ts";
import { openServer } from "../test/scenarios/api/running-server.fixture.ts";
import { projectRoot } from "./source-files.ts";

/** A background task may run during some of the requests, but not during all of them. */
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
 * Files that ran since the last call, which resets the counts. A module itself counts as a function that ran when it
 * was loaded.
 */
async function filesThatRan(): Promise<ReadonlySet<string>> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const ran = result.filter(
    ({ url, functions }) =>
      url.startsWith(sources) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
  );
  return new Set(ran.map(({ url }) => relative(projectRoot, fileURLToPath(url))));
}
