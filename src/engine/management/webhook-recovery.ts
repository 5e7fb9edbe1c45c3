import { type DeliveryState, deliveryStates } from "../../core/delivery.ts";
import { PosthornError } from "../../core/errors.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import type { BatchOperation } from "../../ports/store/operations.ts";
import type { LiveWebhook } from "../engine-access.ts";
import type { RecoverCommand } from "../services.ts";
import type { BatchOperations } from "./batch-operations.ts";
import { measureSelection, type Selection } from "./operation-selection.ts";
import { ProblemList } from "./problem-list.ts";

/** Fastest rate of a bulk retry. */
const requestsPerSecondMax = 1_000;
const requestsPerSecondDefault = 50;
const statesDefault: readonly DeliveryState[] = ["exhausted", "skipped"];
/** What waits is delivered anyway. */
const statesRecoverable: readonly DeliveryState[] = ["exhausted", "skipped", "cancelled", "success"];

/** Delivers again what a webhook missed (TS16-118, C-46). */
export class WebhookRecovery {
  readonly #history: HistoryStore;
  readonly #operations: BatchOperations;

  constructor(options: { readonly history: HistoryStore; readonly operations: BatchOperations }) {
    this.#history = options.history;
    this.#operations = options.operations;
  }

  async recover(
    live: LiveWebhook,
    command: RecoverCommand,
  ): Promise<{ readonly operation: BatchOperation | null; readonly count: number }> {
    const { id, tenantId, status } = live.webhook;
    validate(command);
    const selection: Selection = {
      kind: "deliveries",
      tenantId,
      webhookId: id,
      eventId: null,
      states: command.states ?? statesDefault,
      from: command.since,
      to: command.until,
    };
    const { count, before } = await measureSelection(this.#history, selection);
    if (command.dryRun) return { operation: null, count };
    if (status !== "active") {
      throw new PosthornError(
        "conflict",
        `the webhook is ${status}; ${status === "unverified" ? "verify" : "enable"} it first, then recover what it missed`,
      );
    }
    const operation = await this.#operations.create({
      tenantId,
      kind: "recover",
      selection,
      priority: "low",
      requestsPerSecond: command.requestsPerSecond ?? requestsPerSecondDefault,
      total: count,
      before,
    });
    return { operation, count };
  }
}

function validate(command: RecoverCommand): void {
  const problems = new ProblemList();
  const { since, until, states, requestsPerSecond } = command;
  const time = { min: 0, max: Number.MAX_SAFE_INTEGER, whole: true };
  problems.number("since", { ...time, value: since });
  if (until !== null) problems.number("until", { ...time, value: until });
  if (until !== null && until <= since) problems.add({ field: "until", message: "must be after since" });
  for (const [index, state] of (states ?? []).entries()) {
    const known = problems.oneOf(`statuses[${index}]`, { value: state, allowed: deliveryStates });
    if (known !== null && !statesRecoverable.includes(known)) {
      problems.add({
        field: `statuses[${index}]`,
        message: `must be one of ${statesRecoverable.join(", ")}`,
      });
    }
  }
  if (states?.length === 0) problems.add({ field: "statuses", message: "must not be empty" });
  checkRate(problems, { field: "requests_per_second", requestsPerSecond });
  problems.throwIfAny("the recovery");
}

/** Checks the rate of a bulk retry; null takes the default. */
export function checkRate(
  problems: ProblemList,
  rate: { readonly field: string; readonly requestsPerSecond: number | null },
): void {
  if (rate.requestsPerSecond === null) return;
  const range = { value: rate.requestsPerSecond, min: 0.1, max: requestsPerSecondMax, whole: false };
  problems.number(rate.field, range);
}
