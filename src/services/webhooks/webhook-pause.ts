import { pauseFields } from "../../core/fields/actions.ts";
import { changedAt, pauseAt, type Webhook, type WebhookPause } from "../../core/webhook.ts";
import { ProblemList } from "../problem-list.ts";
import { readFields } from "../read-fields.ts";
import type { PauseCommand } from "../services.ts";

/** Reads a pause command. Throws InvalidRequestError if the end is in the past or too far ahead. */
export function readPause(command: PauseCommand, now: number): WebhookPause {
  const problems = new ProblemList();
  const { until = null, reason = null } = readFields(pauseFields, command, problems);
  if (until !== null && (until <= now || until - now > pauseMsMax))
    problems.add({ field: "until", message: "must be in the future and at most a year ahead" });
  problems.throwIfAny("the pause");
  return { since: now, until, reason };
}

/** Sets or removes a pause; an existing pause keeps its start. */
export function withPause(webhook: Webhook, pause: WebhookPause | null, now: number): Webhook {
  const since = pauseAt(webhook, now)?.since ?? now;
  return { ...webhook, pause: pause && { ...pause, since }, updatedAt: changedAt(webhook.updatedAt, now) };
}

const pauseMsMax = 366 * 86_400_000;
