import type { TenantScene } from "../tenant-scene.ts";

/** Scenarios by what they show. They know a deployment by its API, and their receiver by what it is sent. */
export type Scenarios = Readonly<Record<string, (scene: TenantScene) => Promise<void>>>;

/** Retries twice, for scenarios in which the time between attempts is nothing to look at. */
export const soon = { retry_config: { schedule_ms: [50, 50] } };
