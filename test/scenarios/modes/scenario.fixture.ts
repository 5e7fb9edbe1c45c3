import type { TenantScene } from "../tenant-scene.fixture.ts";

/**
 * Scenarios by topic. They access a deployment only through its API, and see only the requests that their receiver
 * gets.
 */
export type Scenarios = Readonly<Record<string, (scene: TenantScene) => Promise<void>>>;

/** Retries twice, for scenarios that do not check the time between attempts. */
export const soon = { retry_config: { schedule_ms: [50, 50] } };
