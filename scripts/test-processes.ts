// Determines which test files share a process. Starting a process and linking about six hundred modules takes up to a
// second of CPU time, which is more than the tests of most files take. Most files therefore share a process, and the
// others have a separate one.

import { servicesOf } from "./services.ts";

/** Files that need several seconds of CPU time, or that measure their own CPU time. */
const filesAlone: ReadonlySet<string> = new Set([
  "test/api/field-bounds.test.ts",
  "test/api/slow-clients.test.ts",
  "test/api/stand-in.test.ts",
  "test/api/webhook-documents.test.ts",
  "test/client/kill-nine.test.ts",
  "test/client/package.test.ts",
  "test/conformance/deduplication/redis.redis.test.ts",
  "test/conformance/queue/rabbitmq-connection.rabbit.test.ts",
  "test/conformance/queue/rabbitmq-degraded.rabbit.test.ts",
  "test/conformance/queue/rabbitmq-start.rabbit.test.ts",
  "test/conformance/shared-state/redis.redis.test.ts",
  "test/conformance/store/pooled-postgres.pg.test.ts",
  "test/conformance/store/postgres.pg.test.ts",
  "test/conformance/store/sqlite.test.ts",
  "test/monitoring/monitoring.promtool.test.ts",
  "test/packages/runtimes.test.ts",
  "test/receiver/guide.test.ts",
  "test/receiver/package.test.ts",
  "test/scenarios/api/embedded.test.ts",
  "test/scenarios/check-receiver.test.ts",
  "test/scenarios/check-sender.test.ts",
  "test/scenarios/cli/client-commands.test.ts",
  "test/scenarios/cli/comforts.test.ts",
  "test/scenarios/cli/listen.test.ts",
  "test/scenarios/cli/serve.test.ts",
  "test/scenarios/deployment/image.test.ts",
  "test/scenarios/faults/damaged-data.test.ts",
  "test/scenarios/faults/full-disk.test.ts",
  "test/scenarios/gateway/addresses.test.ts",
  "test/scenarios/gateway/kills.test.ts",
  "test/scenarios/hostile-receivers.test.ts",
  "test/scenarios/kill-nine.test.ts",
  "test/scenarios/languages.test.ts",
  "test/scenarios/modes/embedded.test.ts",
  "test/scenarios/readme.test.ts",
  "test/scenarios/restart-keeps-promises.test.ts",
  "test/scenarios/shared-state/tenant-limits.test.ts",
  "test/scenarios/statistics.test.ts",
  "test/simulation/simulation.test.ts",
]);

/**
 * Browser tests and scenarios with servers always take a long time. Unit tests with a server measure the cost of
 * individual calls.
 */
function isAlone(path: string): boolean {
  const marks = servicesOf(path).map(({ mark }) => mark);
  const isServed = marks.length > 0 && /^(src|test\/scenarios)\//.test(path);
  return filesAlone.has(path) || marks.includes("browser") || isServed;
}

export interface Process {
  /** Path of the file. If several files share the process, what they have in common. */
  readonly title: string;
  readonly paths: readonly string[];
}

/**
 * Returns one process for each long file, followed by `count` processes for the short files. If `count` is 0, each file
 * has a separate process.
 */
export function processesOf(paths: readonly string[], name: string, count: number): readonly Process[] {
  const short = count > 0 && paths.length > count ? paths.filter((path) => !isAlone(path)) : [];
  const together = new Set(short);
  const alone = paths.filter((path) => !together.has(path)).map((path) => ({ title: path, paths: [path] }));
  const shares = Array.from({ length: count }, (): string[] => []);
  for (const [index, path] of short.entries()) shares[index % count]?.push(path);
  const batches = shares
    .filter((some) => some.length > 0)
    .map((some) => ({
      title: `${name}: ${some.length} ${some.length === 1 ? "file" : "files"}`,
      paths: some,
    }));
  return [...alone, ...batches];
}
