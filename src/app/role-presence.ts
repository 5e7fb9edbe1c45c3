import { messageOf } from "../domain/thrown.ts";
import { type Clock, Loop } from "../ports/clock.ts";
import type { OwnershipStore } from "../ports/store/ownership.ts";
import type { Telemetry } from "../ports/telemetry.ts";

/** Roles that are required by a configured feature but may be missing in a deployment by mistake. */
export type NeededRole = "gateway" | "scheduler";

export interface RolePresenceOptions {
  /** The roles of this process. */
  readonly roles: readonly string[];
  /** Absent if this process is the only one. */
  readonly ownership?: Pick<OwnershipStore, "acquireLeadership" | "leaderships"> | undefined;
  /** Identifies this process among all processes. */
  readonly owner: string;
  readonly clock: Pick<Clock, "schedule" | "monotonicMs">;
  readonly log: Telemetry["log"];
}

/** Features whose roles are checked. */
export interface ConfiguredFeatures {
  readonly hasSources: () => boolean;
  readonly hasChannels: () => Promise<boolean>;
}

/**
 * Tracks which roles run in any process of the deployment, to warn about configured features that no process serves. A
 * process with such a role acquires a leadership of that name. The store tracks when a leadership expires, so no row
 * per process is needed.
 */
export class RolePresence {
  readonly #options: RolePresenceOptions;
  readonly #loop: Loop;
  #features: ConfiguredFeatures | null = null;
  readonly #seenMs = new Map<NeededRole, number>();
  #hasChannels = false;
  #loggedMs = Number.NEGATIVE_INFINITY;

  constructor(options: RolePresenceOptions) {
    const { clock, log } = options;
    this.#options = options;
    // A deployment that is starting needs time until all its processes run.
    for (const role of neededRoles) this.#seenMs.set(role, clock.monotonicMs());
    this.#loop = new Loop({
      clock,
      round: () => this.#look(),
      pauseMs: () => lookMs,
      failed: (error) => log.debug({ err: messageOf(error) }, "reading the roles of other processes failed"),
    });
  }

  start(features: ConfiguredFeatures): void {
    this.#features = features;
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Whether no process has run the role in the last two minutes. */
  isMissing(role: NeededRole): boolean {
    const { roles, ownership, clock } = this.#options;
    if (roles.includes(role)) return false;
    if (ownership === undefined) return true;
    return clock.monotonicMs() - (this.#seenMs.get(role) ?? 0) >= missingMs;
  }

  /** Warnings about configured features that no process serves. */
  warnings(): readonly string[] {
    const needed = [
      ...(this.#features?.hasSources() === true ? (["gateway"] as const) : []),
      ...(this.#hasChannels ? (["scheduler"] as const) : []),
    ];
    return needed.filter((role) => this.isMissing(role)).map((role) => roleWarnings[role]);
  }

  async #look(): Promise<void> {
    const { roles, ownership, owner, clock, log } = this.#options;
    if (ownership !== undefined) {
      for (const role of neededRoles)
        if (roles.includes(role)) await ownership.acquireLeadership(nameOf(role), owner, heldMs);
      const led = await ownership.leaderships();
      for (const role of neededRoles) if (led.has(nameOf(role))) this.#seenMs.set(role, clock.monotonicMs());
    }
    this.#hasChannels = (await this.#features?.hasChannels()) ?? false;
    const warnings = this.warnings();
    if (warnings.length === 0 || clock.monotonicMs() - this.#loggedMs < logMs) return;
    if (ownership !== undefined && !(await ownership.acquireLeadership("role warnings", owner, logMs)))
      return;
    this.#loggedMs = clock.monotonicMs();
    for (const warning of warnings) log.warn({}, warning);
  }
}

export const roleWarnings: Readonly<Record<NeededRole, string>> = {
  gateway:
    "sources exist, but no process runs the gateway role, so senders cannot reach them: add gateway to POSTHORN_ROLES of a process",
  scheduler:
    "notification channels exist, but no process runs the scheduler role, so no notifications are sent: add scheduler to POSTHORN_ROLES of a process",
};

const neededRoles: readonly NeededRole[] = ["gateway", "scheduler"];

function nameOf(role: NeededRole): string {
  return `role ${role}`;
}

const lookMs = 20_000;
/** After the holder has exited, another process with the role takes over within one round. */
const heldMs = 60_000;
const missingMs = 120_000;
const logMs = 3_600_000;
