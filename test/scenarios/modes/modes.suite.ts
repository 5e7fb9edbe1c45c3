/**
 * Runs all scenarios concurrently on one deployment.
 *
 * ```ts
 * scenariosOn("embedded", openEmbedded);
 * ```
 */
import { after, before, describe, test } from "node:test";
import { bulkActions } from "./bulk-actions.suite.ts";
import { cancellation } from "./cancellation.suite.ts";
import { circuitBreaker } from "./circuit-breaker.suite.ts";
import { content } from "./content.suite.ts";
import { deadLetters } from "./dead-letters.suite.ts";
import type { Deployment } from "./deployment.fixture.ts";
import { history } from "./history.suite.ts";
import { live } from "./live.suite.ts";
import { explaining } from "./explaining.suite.ts";
import { limits } from "./limits.suite.ts";
import { ordering } from "./ordering.suite.ts";
import { problems } from "./problems.suite.ts";
import { publishing } from "./publishing.suite.ts";
import { records } from "./records.suite.ts";
import { redelivery } from "./redelivery.suite.ts";
import { retries } from "./retries.suite.ts";
import { rotation } from "./rotation.suite.ts";
import { TenantScene } from "../tenant-scene.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";
import { switching } from "./switching.suite.ts";
import { tenants } from "./tenants.suite.ts";

const themes: Readonly<Record<string, Scenarios>> = {
  retries,
  ordering,
  "dead letters": deadLetters,
  "bulk actions": bulkActions,
  rotation,
  "circuit breaker": circuitBreaker,
  switching,
  publishing,
  records,
  content,
  redelivery,
  cancellation,
  limits,
  tenants,
  live,
  explaining,
  problems,
  history,
};

/** Enough scenarios to hide waiting times, but few enough that two cores respond in time. */
const concurrency = 12;

export function scenariosOn(mode: string, open: () => Promise<Deployment>): void {
  describe(`every mode: ${mode}`, { concurrency }, () => {
    let deployment: Deployment;
    let tenantCount = 0;
    before(async () => {
      deployment = await open();
    });
    after(() => deployment.close());
    for (const [theme, scenarios] of Object.entries(themes)) {
      for (const [title, scenario] of Object.entries(scenarios)) {
        test(`${theme}: ${title}`, async (t) => {
          const scene = await TenantScene.open({ ...deployment, tenantId: `tenant-${++tenantCount}` });
          t.after(() => scene.close());
          try {
            await scenario(scene);
          } catch (error) {
            throw withLog(error, deployment);
          }
        });
      }
    }
  });
}

const logLinesMax = 200;

/** Adds the output of the processes to the error. A rare failure must be explained the first time it occurs. */
function withLog(error: unknown, { log }: Deployment): unknown {
  const lines = log().filter((line) => !line.includes('"level":"debug"'));
  // The test runner shows only the stack.
  if (error instanceof Error) error.stack += `\nlog:\n${lines.slice(-logLinesMax).join("\n")}`;
  return error;
}
