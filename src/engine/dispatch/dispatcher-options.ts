import type { Clock } from "../../ports/clock.ts";
import type { DeliveryStore } from "../../ports/store/deliveries.ts";
import type { Attempts } from "../attempt/attempts.ts";
import type { Settler } from "../attempt/settle.ts";
import type { Shortages } from "../attempt/shortages.ts";
import type { Ownership } from "../endpoint/ownership.ts";
import type { CommitGroup } from "../commit/commit-group.ts";
import type { CapacityLimits, CapacityOptions } from "./capacity.ts";
import type { BacklogReader } from "./recovery.ts";
import type { SendPermitsOptions } from "./send-permits.ts";

export interface DispatcherOptions
  extends CapacityLimits,
    Pick<CapacityOptions, "severalTenants" | "waitingSlots">,
    Omit<SendPermitsOptions, "close"> {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  /** Longer than the longest request; checked at start. */
  readonly leaseMs: number;
  /** Body bytes held in memory for all lanes together. */
  readonly bufferBytesMax: number;
  readonly attempts: Pick<Attempts, "start">;
  /** Ends deliveries that are not sent. */
  readonly settler: Pick<Settler, "withoutAttempt">;
  readonly commits: Pick<CommitGroup, "backlog" | "trouble">;
  readonly shortages: Pick<Shortages, "pausing">;
  /** Created after the dispatcher, like the backlog reader. */
  readonly ownership: () => Pick<Ownership, "holds" | "wanted" | "owned">;
  readonly backlog: () => Pick<BacklogReader, "finished">;
}
