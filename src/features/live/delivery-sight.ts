import { NotFoundError } from "../../domain/errors.ts";
import type { LiveTopic } from "../../resources/stream.ts";
import type { DeliveryListing } from "../deliveries/delivery-listing.ts";
import { seenWebhooks, seesWebhook } from "../visibility.ts";
import type { ListedDelivery, Scope } from "../services.ts";
import type { LiveNews, Sight } from "./live-feed.ts";

/**
 * Maximum number of rows sent per poll. Additional new rows are dropped; additional changed rows wait for the next
 * poll.
 */
const toldMax = 50;
/** Maximum number of recent deliveries that are tracked until they end. */
const followedMax = 250;
/** Allowance for clock differences between processes and for delayed commits. */
const slackMs = 5_000;

/** Dependencies of a delivery topic. */
export interface DeliverySightOptions {
  readonly listing: Pick<DeliveryListing, "page" | "byIds">;
  /** The recipient of the updates; rows that it may not see are omitted. */
  readonly scope: Pick<Scope, "tenantId" | "portal">;
}

/** A delivery in its last sent state. */
interface Followed {
  readonly position: number;
  readonly mark: string;
  readonly hasEnded: boolean;
}

/** Stores what was sent, so that each change is sent once. */
class FollowedDeliveries {
  readonly #byId = new Map<string, Followed>();

  knows(row: ListedDelivery): boolean {
    return this.#byId.has(row.delivery.id);
  }

  isAsTold(row: ListedDelivery): boolean {
    return this.#byId.get(row.delivery.id)?.mark === markOf(row);
  }

  get waitingIds(): readonly string[] {
    return [...this.#byId].filter(([, { hasEnded }]) => !hasEnded).map(([id]) => id);
  }

  note(rows: readonly ListedDelivery[]): void {
    for (const row of rows) {
      const { id, position } = row.delivery;
      this.#byId.set(id, { position, mark: markOf(row), hasEnded: row.waitingFor === null });
    }
    const tooMany = this.#byId.size - followedMax;
    if (tooMany <= 0) return;
    const oldest = [...this.#byId].sort(([, one], [, other]) => one.position - other.position);
    for (const [id] of oldest.slice(0, tooMany)) this.#byId.delete(id);
  }

  /** Stops tracking deliveries that history no longer contains, because they cannot change again. */
  forget(ids: Iterable<string>): void {
    for (const id of ids) this.#byId.delete(id);
  }
}

/**
 * The visible state of a delivery. Excludes the time until which the delivery waits, because that time keeps moving
 * while a limit applies.
 */
function markOf({ delivery, status, waitingFor }: ListedDelivery): string {
  const { attemptCount, dueAt, retried } = delivery.progress;
  return [status, attemptCount, dueAt, waitingFor, retried?.at, delivery.replayedBy].join(" ");
}

/** Tracks new deliveries of all webhooks or of one webhook, and changes to the latest ones. */
export class DeliveriesSight implements Sight {
  readonly #webhookId: string | null;
  readonly #options: DeliverySightOptions;
  readonly #followed = new FollowedDeliveries();

  constructor(webhookId: string | null, options: DeliverySightOptions) {
    this.#webhookId = webhookId;
    this.#options = options;
  }

  async begin(): Promise<void> {
    this.#followed.note(await this.#newest(followedMax));
  }

  async missedSince(since: number): Promise<readonly LiveNews[]> {
    const rows = await this.#newest(followedMax);
    const missed = rows.filter((row) => changedAt(row) >= since - slackMs);
    // If every row that was read is newer, there may be more changes than one read covers.
    if (missed.length === followedMax) return [{ kind: "reset", topic: this.#topic }];
    return newsOf(this.#topic, missed, false);
  }

  async look(): Promise<readonly LiveNews[]> {
    const newest = await this.#newest(toldMax + 1);
    const fresh = newest.filter((row) => !this.#followed.knows(row));
    const inView = new Set(newest.map(({ delivery }) => delivery.id));
    const waitingIds = this.#followed.waitingIds.filter((id) => !inView.has(id));
    const waiting = await this.#options.listing.byIds(this.#options.scope.tenantId, waitingIds);
    this.#followed.forget(missing(waitingIds, waiting));
    const changed = [...newest, ...waiting].filter(
      (row) => this.#followed.knows(row) && !this.#followed.isAsTold(row),
    );
    const rows = [...fresh, ...changed].slice(0, toldMax);
    this.#followed.note(fresh);
    this.#followed.note(rows);
    return newsOf(this.#topic, rows, fresh.length > toldMax);
  }

  get #topic(): LiveTopic {
    return { kind: "deliveries", webhookId: this.#webhookId };
  }

  async #newest(limit: number): Promise<readonly ListedDelivery[]> {
    const { listing, scope } = this.#options;
    const { rows } = await listing.page(scope.tenantId, {
      webhookIds: seenWebhooks(scope, this.#webhookId === null ? null : [this.#webhookId]),
      page: { limit, offset: 0, after: null },
    });
    return rows;
  }
}

/** Tracks one delivery until history no longer contains it. */
export class DeliverySight implements Sight {
  readonly #id: string;
  readonly #options: DeliverySightOptions;
  readonly #followed = new FollowedDeliveries();

  constructor(id: string, options: DeliverySightOptions) {
    this.#id = id;
    this.#options = options;
  }

  async begin(): Promise<void> {
    const rows = await this.#read();
    if (rows.length === 0) throw new NotFoundError("the delivery");
    this.#followed.note(rows);
  }

  /** Sends the single row again, which is harmless. */
  async missedSince(): Promise<readonly LiveNews[]> {
    return this.#news(await this.#read());
  }

  async look(): Promise<readonly LiveNews[]> {
    const rows = (await this.#read()).filter((row) => !this.#followed.isAsTold(row));
    this.#followed.note(rows);
    return this.#news(rows);
  }

  #news(rows: readonly ListedDelivery[]): readonly LiveNews[] {
    return newsOf({ kind: "delivery", id: this.#id }, rows, false);
  }

  async #read(): Promise<readonly ListedDelivery[]> {
    const { listing, scope } = this.#options;
    const rows = await listing.byIds(scope.tenantId, [this.#id]);
    return rows.filter(({ delivery }) => seesWebhook(scope, delivery.webhookId));
  }
}

function newsOf(topic: LiveTopic, rows: readonly ListedDelivery[], leftOut: boolean): readonly LiveNews[] {
  return rows.length === 0 ? [] : [{ kind: "deliveries", topic, rows, leftOut }];
}

function missing(ids: readonly string[], found: readonly ListedDelivery[]): readonly string[] {
  const foundIds = new Set(found.map(({ delivery }) => delivery.id));
  return ids.filter((id) => !foundIds.has(id));
}

/** Time of the last visible change of the delivery. */
function changedAt({ delivery }: ListedDelivery): number {
  const { completedAt, lastAttempt, progress } = delivery;
  return Math.max(progress.createdAt, completedAt ?? 0, lastAttempt?.executedAt ?? 0);
}
