import type { DeliveryState } from "../../domain/delivery.ts";
import { PosthornError } from "../../domain/errors.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import { recoverFields, testFields } from "../../resources/actions.ts";
import { defaultOf } from "../../resources/field.ts";
import { ProblemList, readFields, validFields } from "../input.ts";
import type { BatchOperations } from "../operations/batch-operations.ts";
import { measureSelection, type Selection } from "../operations/selection-walk.ts";
import type { RecoverCommand, RecoveryStarted, Scope } from "../services.ts";
import { openCircuitOf, requireCircuitRights } from "./webhook-circuit.ts";

/** The default type of test events. */
const testEventType = "posthorn.test";

/**
 * Sends one event through the whole delivery path to one webhook, with the given data or the first example of its type.
 */
export async function sendTestEvent(
  live: LiveWebhook,
  how: {
    readonly access: Pick<EngineAccess, "publishSystemEvent">;
    readonly store: Pick<Store, "registry">;
    readonly clock: Clock;
    readonly eventType: string | null | undefined;
    readonly data: Readonly<Record<string, unknown>> | null | undefined;
  },
): Promise<{ readonly eventId: string; readonly deliveryId: string }> {
  const { webhook } = live;
  validFields(testFields, how, "the test");
  const eventType = how.eventType ?? testEventType;
  if (webhook.status !== "active") {
    const remedy = webhook.status === "unverified" ? "its receiver must permit it first" : "enable it first";
    throw new PosthornError(
      "conflict",
      `the webhook is not active, so it would not receive the test; ${remedy}`,
    );
  }
  const registered = await how.store.registry.eventType({ tenantId: webhook.tenantId, name: eventType });
  const example = registered?.examples[0];
  const fallback = { test: true, webhook_id: webhook.id, sent_at: new Date(how.clock.now()).toISOString() };
  const data = (how.data ?? example ?? fallback) as Readonly<Record<string, unknown>>;
  const sent = await how.access.publishSystemEvent({
    tenantId: webhook.tenantId,
    eventType,
    data,
    onlyWebhookId: webhook.id,
  });
  const deliveryId = sent.deliveryIds[0];
  if (deliveryId === undefined)
    throw new PosthornError("conflict", "the webhook was deleted during the test");
  return { eventId: sent.eventId, deliveryId };
}

const statesDefault: readonly DeliveryState[] = ["exhausted", "skipped"];

/** Resends the events that a webhook missed since a given time (TS16-118). */
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
      webhookIds: [id],
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

  /** Refuses a second recovery, because a customer can run one recovery per webhook at a time. */
  async #refuseSecond({ id, tenantId }: Webhook): Promise<void> {
    const underWay = await this.#operations.unfinished(tenantId);
    const isUnderWay = underWay.some(
      ({ kind, selection }) =>
        kind === "recover" && selection.kind === "deliveries" && selection.webhookIds?.includes(id) === true,
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
