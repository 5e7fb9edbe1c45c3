import type { DeliveryState } from "../../core/delivery.ts";
import { PosthornError } from "../../core/errors.ts";
import { defaultOf } from "../../core/fields/field.ts";
import { recoverFields } from "../../core/fields/actions.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import type { Webhook } from "../../core/webhook.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import type { RecoverCommand, RecoveryStarted, Scope } from "../services.ts";
import type { BatchOperations } from "../operations/batch-operations.ts";
import { measureSelection, type Selection } from "../operations/operation-selection.ts";
import { ProblemList } from "../problem-list.ts";
import { readFields } from "../read-fields.ts";
import { openCircuitOf, requireCircuitRights } from "./webhook-circuit.ts";

const statesDefault: readonly DeliveryState[] = ["exhausted", "skipped"];

/** Sends again what a webhook missed, from a time on (TS16-118). */
export class WebhookRecovery {
  readonly #history: HistoryStore;
  readonly #operations: BatchOperations;
  readonly #clock: Pick<Clock, "now">;

  constructor(history: HistoryStore, operations: BatchOperations, clock: Pick<Clock, "now">) {
    this.#history = history;
    this.#operations = operations;
    this.#clock = clock;
  }

  async recover(scope: Scope, live: LiveWebhook, command: RecoverCommand): Promise<RecoveryStarted> {
    const { id, tenantId, status } = live.webhook;
    validate(command);
    if (command.closeCircuits === true) requireCircuitRights(scope);
    const selection: Selection = {
      kind: "deliveries",
      tenantId,
      webhookId: id,
      eventId: null,
      states: command.states ?? statesDefault,
      from: command.since,
      to: command.until ?? null,
    };
    const { count, before } = await measureSelection(this.#history, selection);
    const openCircuits = count === 0 ? [] : openCircuitOf(live, count, this.#clock.now());
    if (command.dryRun === true) return { operation: null, count, openCircuits };
    if (status !== "active") {
      throw new PosthornError(
        "conflict",
        `the webhook is ${status}; ${status === "unverified" ? "verify" : "enable"} it first, then recover its deliveries`,
      );
    }
    if (scope.portal !== undefined) await this.#refuseSecond(live.webhook);
    const operation = await this.#operations.create(scope, {
      tenantId,
      kind: "recover",
      selection,
      priority: "low",
      requestsPerSecond: command.requestsPerSecond ?? defaultOf(recoverFields.requestsPerSecond),
      closesCircuits: command.closeCircuits ?? false,
      total: count,
      before,
    });
    return { operation, count, openCircuits };
  }

  /** A customer can run one recovery per webhook at a time. */
  async #refuseSecond({ id, tenantId }: Webhook): Promise<void> {
    const underWay = await this.#operations.unfinished(tenantId);
    const isUnderWay = underWay.some(
      ({ kind, selection }) =>
        kind === "recover" && selection.kind === "deliveries" && selection.webhookId === id,
    );
    if (!isUnderWay) return;
    throw new PosthornError(
      "conflict",
      "a recovery of this webhook is running; wait until it ends, or cancel it",
    );
  }
}

function validate(command: RecoverCommand): void {
  const problems = new ProblemList();
  const { since, until = null } = readFields(recoverFields, command, problems);
  if (until !== null && until <= since) problems.add({ field: "until", message: "must be after since" });
  problems.throwIfAny("the recovery");
}
