import { alerts } from "./alerts.ts";
import { audit } from "./audit.ts";
import { claims } from "./claims.ts";
import { counters } from "./counters.ts";
import { deadLetters } from "./dead-letters.ts";
import { documentEdges } from "./document-edges.ts";
import { durability } from "./durability.ts";
import { handEndings } from "./hand-endings.ts";
import { history } from "./history.ts";
import { idempotency } from "./idempotency.ts";
import { lateAnswers } from "./late-answers.ts";
import { leases } from "./leases.ts";
import { model } from "./model.ts";
import { notifications } from "./notification-queue.ts";
import { operations } from "./operations.ts";
import { orderedLanes } from "./ordered-lanes.ts";
import { deliveryProblems } from "./delivery-problems.ts";
import { ownership } from "./ownership.ts";
import { workerPools } from "./worker-pools.ts";
import { gateway } from "./gateway.ts";
import { portal } from "./portal.ts";
import { publishing } from "./publishing.ts";
import { registry } from "./registry.ts";
import { requeues } from "./requeues.ts";
import { retries } from "./retries.ts";
import { retention } from "./retention.ts";
import { stateMachine } from "./state-machine.ts";
import { sharing } from "./sharing.ts";
import { settlements } from "./settlements.ts";
import { statistics } from "./statistics.ts";
import { statisticsOfEnds } from "./statistics-of-ends.ts";
import { searches } from "./searches.ts";
import { sourceSearches } from "./source-searches.ts";
import { runThemes, type StoreSubject, type ThemeEntry } from "./suite.ts";
import { expiry } from "./expiry.ts";
import { largeEvents } from "./large-events.ts";
import { futureTimes } from "./future-times.ts";
import { webhookHistories } from "./webhook-history.ts";
import { webhooks } from "./webhooks.ts";

/** Every promise of src/ports/store.ts, checked on one adapter; `without` omits topics. */
export function storeConformance(
  subject: StoreSubject,
  { without = [] }: { readonly without?: readonly string[] } = {},
): void {
  const themes: readonly ThemeEntry[] = [
    ["publish and deduplication", publishing],
    ["claims", claims],
    ["ordered lanes", orderedLanes],
    ["leases and their tokens", leases],
    ["settlements", settlements],
    ["late settlements", lateAnswers],
    ["state machine", stateMachine],
    ["requeues", requeues],
    ["manual retries", retries],
    ["endings by hand", handEndings],
    ["counters", counters],
    ["history", history],
    ["searches", searches],
    ["searches by source", sourceSearches],
    ["dead letters", deadLetters],
    ["webhooks and secrets", webhooks],
    ["history of webhooks", webhookHistories],
    ["registry", registry],
    ["idempotency", idempotency],
    ["operations", operations],
    ["audit log", audit],
    ["notifications", notifications],
    ["alerts", alerts],
    ["portal", portal],
    ["gateway", gateway],
    ["documents at the edges", documentEdges],
    ["expiry and cancellation", expiry],
    ["large events", largeEvents],
    ["times from a clock that was ahead", futureTimes],
    ["retention", retention],
    ["statistics", statistics],
    ["statistics of ends", statisticsOfEnds],
    ["problems", deliveryProblems],
    ["durability", durability],
    ["model", model],
    ["several processes", sharing, "shared"],
    ["ownership of webhooks", ownership, "shared"],
    ["pools of workers", workerPools, "shared"],
  ];
  runThemes(
    subject,
    themes.filter(([name]) => !without.includes(name)),
  );
}
