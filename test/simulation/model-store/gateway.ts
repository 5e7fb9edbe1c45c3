import { heldOf, releasedConnection, settledRequest } from "../../../src/store/gateway-rows.ts";
import type { Connection, Source } from "../../../src/features/gateway/source.ts";
import type {
  AnswerCompletion,
  AnswerStore,
  GatewayStore,
  HeldCountQuery,
  HeldMessage,
  HeldQuery,
  ReceivedRequest,
  RecentOutcome,
  RecentQuery,
  RequestFilter,
  RequestMark,
  RequestPlace,
  RequestSearch,
  RequestStep,
  SettledMessage,
} from "../../../src/ports/store/gateway.ts";
import type { SearchPage } from "../../../src/ports/store/search.ts";
import type { StepResult } from "../../../src/ports/store/upkeep.ts";

interface Answer {
  readonly fingerprint: string;
  readonly claimToken: string | null;
  readonly expiresAt: number;
  readonly result: string | null;
}

/** The gateway's tables in memory. */
export class ModelGateway implements GatewayStore {
  readonly #sources = new Map<string, Source>();
  readonly #connections = new Map<string, Connection>();
  readonly #requests = new Map<string, ReceivedRequest>();
  readonly #answers = new Map<string, Answer>();
  #held: readonly HeldMessage[] = [];

  async sources(): Promise<readonly Source[]> {
    return [...this.#sources.values()];
  }

  async saveSource(source: Source): Promise<void> {
    this.#sources.set(source.id, source);
  }

  async deleteSource(id: string): Promise<void> {
    this.#sources.delete(id);
    for (const connection of this.#connections.values())
      if (connection.sourceId === id) this.#connections.delete(connection.id);
  }

  async connections(): Promise<readonly Connection[]> {
    return [...this.#connections.values()];
  }

  async saveConnection(connection: Connection): Promise<void> {
    this.#connections.set(connection.id, connection);
  }

  async deleteConnection(id: string): Promise<void> {
    this.#connections.delete(id);
  }

  async endRelease(id: string, releasingSince: number): Promise<Connection | null> {
    const connection = this.#connections.get(id);
    if (connection === undefined) return null;
    const released = releasedConnection(JSON.stringify(connection), releasingSince);
    if (released !== null) this.#connections.set(id, released);
    return released;
  }

  async addRequests(requests: readonly ReceivedRequest[]): Promise<void> {
    for (const request of requests) if (!this.#requests.has(request.id)) this.putRequest(request);
  }

  /** Called together with storing the request's event. */
  putRequest(request: ReceivedRequest): void {
    const known = this.#requests.get(request.id) ?? request;
    this.#requests.set(request.id, { ...request, body: known.body, bookmark: known.bookmark });
    this.#hold(request);
  }

  #hold(request: ReceivedRequest): void {
    const others = this.#held.filter(({ requestId }) => requestId !== request.id);
    this.#held = [...others, ...heldOf(request)].toSorted((a, b) => (a.requestId < b.requestId ? -1 : 1));
  }

  async held({ connectionId, after, limit }: HeldQuery): Promise<readonly HeldMessage[]> {
    return this.#held
      .filter((one) => one.connectionId === connectionId && one.requestId > (after ?? ""))
      .slice(0, limit);
  }

  async connectionsWithHeld(): Promise<readonly string[]> {
    return [...new Set(this.#held.map(({ connectionId }) => connectionId))];
  }

  async heldCounts({ connectionIds, countMax }: HeldCountQuery): Promise<ReadonlyMap<string, number>> {
    const count = (id: string) => this.#held.filter(({ connectionId }) => connectionId === id).length;
    return new Map(connectionIds.map((id) => [id, Math.min(count(id), countMax)]));
  }

  async settleHeld(messages: readonly SettledMessage[]): Promise<void> {
    for (const message of messages) {
      const isIt = (one: Omit<HeldMessage, "eventId">) =>
        one.connectionId === message.connectionId && one.requestId === message.requestId;
      this.#held = this.#held.filter((one) => !isIt(one));
      const request = this.#requests.get(message.requestId);
      if (request !== undefined) this.#requests.set(request.id, settledRequest(request, [message]));
    }
  }

  async updateRequest(request: ReceivedRequest): Promise<void> {
    const known = this.#requests.get(request.id);
    if (known === undefined) return;
    this.putRequest(request);
  }

  async request(id: string): Promise<ReceivedRequest | null> {
    return this.#requests.get(id) ?? null;
  }

  async searchRequests({
    filter,
    after,
    limit,
  }: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>> {
    const found = [...this.#requests.values()]
      .filter((request) => isAskedFor(request, filter) && (after === null || request.id < after.id))
      .toSorted((left, right) => (left.id > right.id ? -1 : 1))
      .map(withoutBody);
    const rows = found.slice(0, limit);
    const last = found.length > rows.length ? rows.at(-1) : undefined;
    if (last === undefined) return { rows, next: null, searchedTo: null, isCutShort: false };
    return { rows, next: { id: last.id }, searchedTo: last.receivedAt, isCutShort: false };
  }

  async recentOutcomes({ sourceIds, limit }: RecentQuery): Promise<readonly RecentOutcome[]> {
    return sourceIds.flatMap((sourceId) => {
      const newest = [...this.#requests.values()]
        .filter((request) => request.sourceId === sourceId)
        .toSorted((left, right) => (left.id > right.id ? -1 : 1))
        .slice(0, limit);
      return [...Map.groupBy(newest, ({ outcome }) => outcome)].map(([outcome, requests]) => ({
        sourceId,
        outcome,
        count: requests.length,
        lastReceivedAt: Math.max(...requests.map(({ receivedAt }) => receivedAt)),
      }));
    });
  }

  async bookmark({ id, name, body }: RequestMark): Promise<boolean> {
    const known = this.#requests.get(id);
    if (known !== undefined) this.#requests.set(id, { ...known, bookmark: name, body: known.body ?? body });
    return known !== undefined;
  }

  async forgetRequests({ before, bodiesBefore }: RequestStep): Promise<StepResult> {
    let changed = 0;
    for (const request of this.#requests.values()) {
      const { id, bookmark, receivedAt, body } = request;
      if (bookmark !== null) continue;
      if (receivedAt < before) this.#requests.delete(id);
      else if (receivedAt < bodiesBefore && body !== null) this.#requests.set(id, { ...request, body: null });
      else continue;
      changed += 1;
    }
    return { changed, more: false };
  }

  /** False if another caller has claimed the key. */
  keepAnswer({ key, token, expiresAt, result }: AnswerCompletion): boolean {
    const known = this.#answers.get(key);
    if (known?.claimToken !== token) return false;
    this.#answers.set(key, { ...known, claimToken: null, expiresAt, result });
    return true;
  }

  readonly answers: AnswerStore = {
    claim: async ({ key, fingerprint, token, now, expiresAt }) => {
      const known = this.#answers.get(key);
      if (known !== undefined && known.expiresAt > now) {
        if (known.fingerprint !== fingerprint) return { kind: "mismatch" };
        const { result } = known;
        return result === null
          ? { kind: "running", expiresAt: known.expiresAt }
          : { kind: "completed", result };
      }
      this.#answers.set(key, { fingerprint, claimToken: token, expiresAt, result: null });
      return { kind: "claimed" };
    },
    finish: async (completion) => this.keepAnswer(completion),
    release: async (key, token) => {
      if (this.#answers.get(key)?.claimToken === token) this.#answers.delete(key);
    },
    purge: async (now) => {
      const over = [...this.#answers].filter(([, { expiresAt }]) => expiresAt <= now);
      for (const [key] of over) this.#answers.delete(key);
      return { changed: over.length, more: false };
    },
  };
}

function isAskedFor(request: ReceivedRequest, filter: RequestFilter): boolean {
  const { tenantId, sourceId, status, outcome, cause, bookmarked, from, to } = filter;
  return (
    (tenantId ?? request.tenantId) === request.tenantId &&
    (sourceId ?? request.sourceId) === request.sourceId &&
    (status ?? request.status) === request.status &&
    (outcome ?? request.outcome) === request.outcome &&
    (cause === null || cause === request.cause) &&
    (bookmarked ?? request.bookmark !== null) === (request.bookmark !== null) &&
    request.receivedAt >= (from ?? -Infinity) &&
    request.receivedAt < (to ?? Infinity)
  );
}

function withoutBody(request: ReceivedRequest): ReceivedRequest {
  return { ...request, body: null };
}
