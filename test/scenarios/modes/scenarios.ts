/**
 * Runs every scenario on one deployment, side by side.
 *
 * ```ts
 * scenariosOn("embedded", openEmbedded);
 * ```
 */
import { after, before, describe, test } from "node:test";
import { bulkActions } from "./bulk-actions.ts";
import { cancellation } from "./cancellation.ts";
import { circuitBreaker } from "./circuit-breaker.ts";
import { content } from "./content.ts";
import { deadLetters } from "./dead-letters.ts";
import type { Deployment } from "./deployment.ts";
import { history } from "./history.ts";
import { live } from "./live.ts";
import { explaining } from "./explaining.ts";
import { limits } from "./limits.ts";
import { ordering } from "./ordering.ts";
import { problems } from "./problems.ts";
import { publishing } from "./publishing.ts";
import { records } from "./records.ts";
import { redelivery } from "./redelivery.ts";
import { retries } from "./retries.ts";
import { rotation } from "./rotation.ts";
import { TenantScene } from "../tenant-scene.ts";
import type { Scenarios } from "./scenario.ts";
import { switching } from "./switching.ts";
import { tenants } from "./tenants.ts";

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

/** Enough to hide waiting times; few enough that two cores respond in time. */
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

/** The error, with the output of the processes: a rare failure must show enough the first time. */
function withLog(error: unknown, { log }: Deployment): unknown {
  const lines = log().filter((line) => !line.includes('"level":"debug"'));
  // The stack is the part that a runner shows.
  if (error instanceof Error) error.stack += `\nlog:\n${lines.slice(-logLinesMax).join("\n")}`;
  return error;
}
