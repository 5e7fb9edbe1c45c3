import { InvalidRequestError, NotFoundError, PosthornError } from "../../domain/errors.ts";
import { checkFilter } from "../../domain/filter.ts";
import { changedAt } from "../../domain/webhook.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { GatewayStore } from "../../ports/store/gateway.ts";
import {
  type ConnectionChange,
  connectionChangeFields,
  connectionFields,
  type ConnectionInput,
} from "../../resources/connection.ts";
import { ProblemList, readFields } from "../input.ts";
import type { KeyedQueue } from "../keyed-queue.ts";
import { isVisible, tenantFilter } from "../visibility.ts";
import type { Scope } from "../services.ts";
import type { GatewayDirectory } from "./gateway-directory.ts";
import type { ConnectionQuery } from "./gateway-services.ts";
import type { HeldMessages } from "./held-messages.ts";
import type { OwnAddresses } from "./address.ts";
import type { Connection } from "./source.ts";

export interface ConnectionServiceOptions {
  readonly store: GatewayStore;
  readonly directory: GatewayDirectory;
  readonly access: Pick<EngineAccess, "nextId" | "webhook" | "refresh">;
  readonly clock: Pick<Clock, "now">;
  readonly ownAddresses: Pick<OwnAddresses, "includes">;
  readonly held: Pick<HeldMessages, "release" | "counts">;
  /** Serializes changes by connection id. With one global queue, tenants would wait for each other. */
  readonly changes: KeyedQueue;
}

/** Maximum connections per source. Each message becomes one delivery per connection. */
const connectionsPerSourceMax = 50;

export class Connections {
  readonly #options: ConnectionServiceOptions;
  constructor(options: ConnectionServiceOptions) {
    this.#options = options;
  }

  list(scope: Scope, query: ConnectionQuery): readonly Connection[] {
    const tenantId = tenantFilter(scope, query.tenantId);
    const { sourceId, webhookId } = query;
    return this.#options.directory
      .connections()
      .filter(
        (one) =>
          (tenantId ?? one.tenantId) === one.tenantId &&
          (sourceId ?? one.sourceId) === one.sourceId &&
          (webhookId ?? one.webhookId) === one.webhookId,
      )
      .toSorted((left, right) => (left.id > right.id ? -1 : 1));
  }

  get(scope: Scope, id: string): Connection {
    const connection = this.#options.directory.connection(id);
    if (connection === undefined || !isVisible(scope, connection.tenantId))
      throw new NotFoundError("the connection");
    return connection;
  }

  create(scope: Scope, given: ConnectionInput): Promise<Connection> {
    const { store, directory, access, clock, changes } = this.#options;
    // Serialized per source, so that a webhook is not connected twice and the limit on connections holds.
    return changes.run(`create ${given.sourceId}`, async () => {
      const now = clock.now();
      const problems = new ProblemList();
      const input = readFields(connectionFields, given, problems, "create");
      judgeRules(input, problems);
      problems.throwIfAny("the connection");
      const tenantId = await this.#requireEnds(scope, given);
      const { paused = false, deduplicate = null, ...plain } = input;
      const connection: Connection = {
        id: access.nextId(),
        tenantId,
        ...blank,
        ...plain,
        deduplicate: deduplicateOf(deduplicate),
        pausedAt: paused ? now : null,
        createdAt: now,
        updatedAt: now,
      };
      await this.#requireNoCircle(connection);
      await store.saveConnection(connection, scope.audit?.take(connection));
      directory.setConnection(connection);
      return connection;
    });
  }

  /** Requires that both ends exist, belong to the same tenant, and are not connected yet. */
  async #requireEnds(scope: Scope, { sourceId, webhookId }: ConnectionInput): Promise<string> {
    const { directory, access } = this.#options;
    await access.refresh([webhookId]);
    const source = directory.source(sourceId);
    const webhook = access.webhook(webhookId)?.webhook;
    const problems = new ProblemList();
    if (source === undefined || !isVisible(scope, source.tenantId))
      problems.add({ field: "source_id", message: "does not exist" });
    const isForeign = webhook !== undefined && webhook.tenantId !== (source ?? webhook).tenantId;
    if (webhook === undefined || !isVisible(scope, webhook.tenantId) || isForeign)
      problems.add({ field: "webhook_id", message: "does not exist, or belongs to another tenant" });
    problems.throwIfAny("the connection");
    const own = directory.connectionsOf(sourceId);
    if (own.some((one) => one.webhookId === webhookId))
      throw new PosthornError("conflict", "the source is already connected to this webhook");
    if (own.length >= connectionsPerSourceMax)
      throw new PosthornError(
        "limit_reached",
        `the source has ${own.length} connections; its limit is ${connectionsPerSourceMax}`,
      );
    return (source as NonNullable<typeof source>).tenantId;
  }

  /**
   * Refuses a webhook that leads back to this deployment, where a message would loop until its hop limit is reached.
   */
  async #requireNoCircle({ webhookId, allowChain }: Connection): Promise<void> {
    const { access, ownAddresses } = this.#options;
    const url = access.webhook(webhookId)?.webhook.url;
    if (allowChain || url === undefined || !(await ownAddresses.includes(url))) return;
    const problems = new ProblemList();
    const message = "leads back to this deployment; set allow_chain if this is intended";
    problems.add({ field: "webhook_id", message });
    problems.throwIfAny("the connection");
  }

  update(scope: Scope, id: string, given: ConnectionChange): Promise<Connection> {
    const { store, directory, clock, held, changes } = this.#options;
    return changes.run(id, async () => {
      const before = this.get(scope, id);
      const problems = new ProblemList();
      const input = readFields(connectionChangeFields, given, problems);
      judgeRules(input, problems);
      problems.throwIfAny("the connection");
      const now = clock.now();
      const { paused = before.pausedAt !== null, deduplicate: _, ...plain } = input;
      const deduplicate =
        input.deduplicate === undefined ? before.deduplicate : deduplicateOf(input.deduplicate);
      const pausedAt = paused ? (before.pausedAt ?? now) : null;
      const isResumed = before.pausedAt !== null && !paused;
      const releasing = isResumed ? now : before.releasingSince;
      const connection: Connection = {
        ...before,
        ...plain,
        deduplicate,
        pausedAt,
        releasingSince: paused ? null : releasing,
        updatedAt: changedAt(before.updatedAt, now),
      };
      await store.saveConnection(connection, scope.audit?.take(connection));
      directory.setConnection(connection);
      if (isResumed) held.release(id);
      return connection;
    });
  }

  /**
   * Number of waiting messages by connection id, counted up to 10,000; connections without waiting messages are
   * omitted.
   */
  heldCounts(connections: readonly Connection[]): Promise<ReadonlyMap<string, number>> {
    return this.#options.held.counts(connections);
  }

  async delete(scope: Scope, id: string): Promise<void> {
    const { store, directory, changes } = this.#options;
    await changes.run(id, async () => {
      const connection = this.get(scope, id);
      await store.deleteConnection(id, scope.audit?.take(connection));
      directory.removeConnection(id);
    });
  }
}

/** Defaults of a connection. */
const blank = {
  name: "",
  required: true,
  filter: null,
  delayMs: 0,
  retryDelaysMs: null,
  allowChain: false,
  releasingSince: null,
} as const satisfies Partial<Connection>;

function deduplicateOf(given: ConnectionInput["deduplicate"]): Connection["deduplicate"] {
  if (given === undefined || given === null) return null;
  const { windowMs, includeFields = null, excludeFields = null } = given;
  return { windowMs, includeFields, excludeFields };
}

function judgeRules({ filter, deduplicate }: ConnectionChange, problems: ProblemList): void {
  judgeFilter(filter, problems);
  const { includeFields = null, excludeFields = null } = deduplicate ?? {};
  if (includeFields === null || excludeFields === null) return;
  const names = ["deduplicate.include_fields", "deduplicate.exclude_fields"];
  problems.contradiction(names, "cannot be combined");
}

/** Reports each problem with its path in `filter`. */
export function judgeFilter(filter: unknown, problems: ProblemList): void {
  if (filter === undefined || filter === null) return;
  try {
    checkFilter(filter);
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    for (const { field, message } of error.fields) problems.add({ field: `filter${field}`, message });
  }
}
