import type { LiveTopic } from "../../resources/stream.ts";
import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import type { BatchOperation } from "../../ports/store/operations.ts";
import type { DeliveryProblemView } from "../problems/problem-service.ts";
import type { AlertView } from "../alerts/alert-service.ts";
import type { ListedDelivery } from "../services.ts";
import type { PointView } from "../statistics/statistics-service.ts";

/** A change of a topic. */
export type LiveNews =
  | {
      readonly kind: "deliveries";
      readonly topic: LiveTopic;
      /** New and changed rows in their current state. */
      readonly rows: readonly ListedDelivery[];
      /** Whether there were more new rows than are sent. */
      readonly leftOut: boolean;
    }
  | { readonly kind: "alerts"; readonly topic: LiveTopic; readonly rows: readonly AlertView[] }
  | {
      readonly kind: "problems";
      readonly topic: LiveTopic;
      readonly rows: readonly DeliveryProblemView[];
    }
  | {
      readonly kind: "requests";
      readonly topic: LiveTopic;
      readonly rows: readonly ReceivedRequest[];
      /** As for deliveries. */
      readonly leftOut: boolean;
    }
  | {
      readonly kind: "stats";
      readonly topic: LiveTopic;
      readonly rows: readonly PointView[];
    }
  | { readonly kind: "operation"; readonly topic: LiveTopic; readonly operation: BatchOperation }
  /** The changes since the last message cannot be determined: the client must reload everything. */
  | { readonly kind: "reset"; readonly topic: LiveTopic };

/** A receiver of changes. */
export interface LiveListener {
  told(news: LiveNews): void;
}

/** A topic that is polled for all its listeners. */
export interface Sight {
  /** The first poll, which reports nothing. Rejects with `not_found` for a topic outside the scope. */
  begin(): Promise<void>;
  /** Changes since the last poll. */
  look(): Promise<readonly LiveNews[]>;
  /** For a listener that reconnects: changes after this time (Unix milliseconds), some of them possibly again. */
  missedSince(since: number): Promise<readonly LiveNews[]>;
}
