import type { LiveTopic } from "../../core/live-topic.ts";
import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import type { BatchOperation } from "../../ports/store/operations.ts";
import type { DeliveryProblemView } from "../delivery-problems/delivery-problem-service.ts";
import type { AlertView } from "../alerts/alert-service.ts";
import type { ListedDelivery } from "../services.ts";
import type { PointView } from "../statistics/statistics-service.ts";

/** What is new about a topic. */
export type LiveNews =
  | {
      readonly kind: "deliveries";
      readonly topic: LiveTopic;
      /** As they are now: those that are new, and those that changed. */
      readonly rows: readonly ListedDelivery[];
      /** There were more new ones than are shown. */
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
      /** As of deliveries. */
      readonly leftOut: boolean;
    }
  | {
      readonly kind: "stats";
      readonly topic: LiveTopic;
      readonly rows: readonly PointView[];
    }
  | { readonly kind: "operation"; readonly topic: LiveTopic; readonly operation: BatchOperation }
  /** What happened since the listener was last told cannot be said: everything shown has to be read again. */
  | { readonly kind: "reset"; readonly topic: LiveTopic };

/** Whoever wants to hear. */
export interface LiveListener {
  told(news: LiveNews): void;
}

/** Something that is looked at again and again, for all who want to know of it. */
export interface Sight {
  /** Looks for the first time, which tells nothing. Rejects with `not_found` for what the scope does not have. */
  begin(): Promise<void>;
  /** What has happened since the last look. */
  look(): Promise<readonly LiveNews[]>;
  /** For a listener who comes back: what happened after this time (Unix milliseconds), some of it once more. */
  missedSince(since: number): Promise<readonly LiveNews[]>;
}
