/**
 * Posthorn inside a Node program: the same engine, without a separate server.
 *
 * ```ts
 * import { openPosthorn } from "posthorn";
 *
 * const posthorn = await openPosthorn({ dataDir: "./data" });
 * await posthorn.publish({ eventType: "order.completed", data: { orderId: "4711" } });
 * await posthorn.close();
 * ```
 */
import type { Settings } from "../config/options.ts";
import { resolveValues } from "../config/resolve.ts";
import { DuplicateEventError, PosthornError } from "../domain/errors.ts";
import type {
  PublishEntry,
  PublishInput,
  PublishReceipt,
  Scope,
  TenantService,
} from "../features/services.ts";
import type { Logger } from "../ports/telemetry.ts";
import {
  inLibraryWords,
  type LibraryApiKeys,
  type LibraryDeadLetters,
  type LibraryDeliveries,
  type LibraryEvents,
  type LibraryEventTypes,
  libraryOf,
  type LibraryProblems,
  type LibraryWebhooks,
  type Scoped,
} from "./library-calls.ts";
import { startPosthorn } from "./posthorn.ts";

export {
  DuplicateEventError,
  InvalidRequestError,
  NotFoundError,
  PayloadTooLargeError,
  PosthornError,
  SchemaViolationError,
  UnavailableError,
} from "../domain/errors.ts";
export type { ErrorCode, FieldError } from "../domain/errors.ts";
export type { Settings } from "../config/options.ts";
export type { Logger } from "../ports/telemetry.ts";
export type * from "../features/services.ts";
export type { Filters, Lenient, List, ListQuery, Scoped } from "./library-calls.ts";

/** Settings by their names in code, validated like those of the server. Environment variables are not read. */
export interface OpenOptions extends Partial<Settings> {
  /** Also serve the HTTP API on `host` and `port`. */
  readonly listen?: boolean;
  /** Logger. By default, warnings and errors are written to standard error. */
  readonly log?: Logger;
  /** Export traces according to the standard OpenTelemetry variables (`OTEL_*`) of the environment. */
  readonly tracing?: boolean;
  /** Act as this tenant. By default, the caller acts as an administrator, who can name a tenant in each call. */
  readonly tenantId?: string;
}

export interface Posthorn {
  /** Resolves after the commit. Throws {@link DuplicateEventError} if the idempotency key was used before. */
  publish(event: PublishInput): Promise<PublishReceipt>;
  /**
   * Never rejects because of a single invalid event; the entries are in the order of the events. A duplicate is
   * returned as a refused entry.
   */
  publishMany(events: readonly PublishInput[]): Promise<readonly PublishEntry[]>;
  readonly events: LibraryEvents;
  readonly webhooks: LibraryWebhooks;
  readonly deliveries: LibraryDeliveries;
  readonly deadLetters: LibraryDeadLetters;
  readonly problems: LibraryProblems;
  readonly eventTypes: LibraryEventTypes;
  readonly tenants: Scoped<TenantService>;
  readonly apiKeys: LibraryApiKeys;
  /** URL of the HTTP server; null without `listen`. */
  readonly url: string | null;
  /** Metrics in the Prometheus exposition format. */
  metrics(): Promise<string>;
  /** Finishes running work within `shutdownGraceMs`. Safe to call twice. */
  close(): Promise<void>;
}

/** The options are invalid. `problems` lists all problems. */
export class SettingsError extends PosthornError {
  override readonly name = "SettingsError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super("invalid_request", `Posthorn cannot start: ${problems.join("; ")}`);
    this.problems = problems;
  }
}

/** Starts the engine on a data folder. A data folder can be used by one process at a time. */
export async function openPosthorn(options: OpenOptions = {}): Promise<Posthorn> {
  const { listen = false, tracing = false, log, tenantId, ...values } = options;
  const resolution = resolveValues({ logLevel: "warn", ...values });
  if (resolution.kind === "refused") throw new SettingsError(resolution.problems);
  const running = await startPosthorn(resolution.settings, {
    listens: listen,
    sources: resolution.sources,
    log,
    tracingFrom: tracing ? process.env : undefined,
  });
  const scope: Scope = { tenantId: tenantId ?? null };
  const { services } = running;
  return {
    publish: async (event) => {
      try {
        return refuseDuplicate(await services.events.publish(scope, withOwnBytes(event)));
      } catch (error) {
        throw inLibraryWords(error);
      }
    },
    publishMany: async (events) =>
      (await services.events.publishMany(scope, events.map(withOwnBytes))).map(refuseDuplicateEntry),
    events: libraryOf(services, "events", scope),
    webhooks: libraryOf(services, "webhooks", scope),
    deliveries: libraryOf(services, "deliveries", scope),
    deadLetters: libraryOf(services, "deadLetters", scope),
    problems: libraryOf(services, "problems", scope),
    eventTypes: libraryOf(services, "eventTypes", scope),
    tenants: libraryOf(services, "tenants", scope),
    apiKeys: libraryOf(services, "apiKeys", scope),
    url: running.url,
    metrics: () => running.metricsText(),
    close: () => running.stop(),
  };
}

/** Copies the body, so that a caller that reuses its buffer cannot change the stored event. */
function withOwnBytes(event: PublishInput): PublishInput {
  const body: unknown = event.raw?.body;
  if (event.raw === undefined || !(body instanceof Uint8Array)) return event;
  return { ...event, raw: { ...event.raw, body: Uint8Array.from(body) } };
}

function refuseDuplicate(receipt: PublishReceipt): PublishReceipt {
  if (receipt.duplicate) throw duplicate(receipt);
  return receipt;
}

function refuseDuplicateEntry(entry: PublishEntry): PublishEntry {
  if (entry.kind === "refused") {
    inLibraryWords(entry.error);
    return entry;
  }
  if (!entry.receipt.duplicate) return entry;
  return { kind: "refused", error: duplicate(entry.receipt) };
}

function duplicate({ id, idempotencyKey }: PublishReceipt): DuplicateEventError {
  const detail = `the idempotency key "${idempotencyKey}" was already used for event ${id}`;
  return new DuplicateEventError(id, "conflict", detail);
}
