import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import type { ClientCertificateSeen } from "../../domain/http/client-certificate.ts";
import { tryParseJson } from "../../domain/json/json-text.ts";
import { StepsSpentError } from "../../domain/step-budget.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import { type Clock, SearchBudget } from "../../ports/clock.ts";
import {
  everyRequest,
  type ForwardNote,
  type GatewayStore,
  type ReceivedRequest,
  type RequestPlace,
} from "../../ports/store/gateway.ts";
import type { HistoryStore, StoredEvent } from "../../ports/store/history.ts";
import type { SearchPage } from "../../ports/store/search.ts";
import { requestReplayFields, type RequestReplayInput } from "../../resources/gateway-request.ts";
import { originalsOf, replaysOf, requireAccepted } from "../deliveries/redelivery.ts";
import { validFields } from "../input.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import { isVisible, tenantFilter } from "../visibility.ts";
import { searchBounds, type SearchedPage, searchedPage } from "../searched-pages.ts";
import type { Scope } from "../services.ts";
import { readAddress } from "./address.ts";
import type { Delivered, Deliverer } from "./deliverer.ts";
import { hopHeader, nextHops } from "./relayed.ts";
import type { GatewayDirectory, VerificationBox } from "./gateway-directory.ts";
import type { RequestQuery } from "./gateway-services.ts";
import { answerConsent, type ConsentSender, giveConsent } from "./request-admission.ts";
import { authenticOf, type Incoming, messageOf, readKeyField, routed } from "./incoming.ts";
import type { RequestLog } from "./request-log.ts";
import type { Connection, Source } from "./source.ts";

/** Sends a received event again as new deliveries, with the sender's key and ID. */
export async function requeueFor(
  event: StoredEvent,
  connections: readonly Connection[],
  /** The event's original deliveries, keyed by webhook. The new deliveries copy them. */ originals: ReadonlyMap<
    string,
    string
  >,
  access: Pick<EngineAccess, "gateway" | "nextId" | "placeOf" | "requeue" | "webhook">,
  now: number,
): Promise<readonly ForwardNote[]> {
  await access.gateway.known(connections.map(({ webhookId }) => webhookId));
  const targets = connections.flatMap((connection) => {
    const webhook = access.webhook(connection.webhookId)?.webhook;
    return webhook?.status === "active" ? [{ connection, webhook }] : [];
  });
  if (targets.length === 0) throw new PosthornError("conflict", "no connection leads to an active webhook");
  const webhooks = targets.map(({ webhook }) => webhook);
  const deliveries = replaysOf(access, event, webhooks, originals, now);
  requireAccepted(await access.requeue({ eventId: event.id, deliveries }));
  return targets.map(({ connection: { id, webhookId } }) => ({
    connectionId: id,
    webhookId,
    result: "stored",
    detail: "replayed",
  }));
}

interface RequestServiceOptions {
  readonly store: GatewayStore;
  readonly history: Pick<HistoryStore, "getEvent" | "searchDeliveries">;
  readonly directory: GatewayDirectory;
  readonly box: VerificationBox;
  readonly deliverer: Deliverer;
  readonly log: RequestLog;
  readonly access: Pick<EngineAccess, "gateway" | "nextId" | "placeOf" | "requeue" | "webhook">;
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "defer">;
  readonly deploymentId: string;
  readonly consent: ConsentSender;
}

const bookmarksPerTenantMax = 200;

/** The request log and replays. */
export class Requests {
  readonly #options: RequestServiceOptions;
  /** Serialized by tenant, because two concurrent calls could both take the last slot. */
  readonly #marks = new KeyedQueue();

  constructor(options: RequestServiceOptions) {
    this.#options = options;
  }

  /** The logged requests, newest first. A page may end early when its budget is used up. */
  async list(
    scope: Scope,
    { page, ...query }: RequestQuery,
  ): Promise<SearchedPage<ReceivedRequest, RequestPlace>> {
    const { store, log, clock } = this.#options;
    const filter = { ...query, tenantId: tenantFilter(scope, query.tenantId) };
    await log.flush();
    const budget = new SearchBudget(clock, searchBounds);
    return searchedPage<ReceivedRequest, RequestPlace>(page, {
      budget,
      takes: null,
      read: (part) => store.searchRequests({ filter, budget, ...part }),
      placeOf: ({ id }) => ({ id }),
      createdAtOf: ({ receivedAt }) => receivedAt,
    });
  }

  /** A logged request with its body, from the log or from the event that the request became. */
  async get(scope: Scope, id: string): Promise<ReceivedRequest> {
    const request = await this.#find(scope, id);
    const event = request.body === null ? await this.#eventOf(request) : null;
    return event === null ? request : { ...request, body: event.body };
  }

  async #find(scope: Scope, id: string): Promise<ReceivedRequest> {
    await this.#options.log.flush();
    const request = await this.#options.store.request(id);
    if (request === null || !isVisible(scope, request.tenantId)) throw new NotFoundError("the request");
    return request;
  }

  async bookmark(scope: Scope, id: string, name: string | null): Promise<ReceivedRequest> {
    const request = await this.#find(scope, id);
    await this.#marks.run(request.tenantId, async () => {
      if (name !== null && request.bookmark === null) await this.#requireRoom(request.tenantId);
      const event = name === null ? null : await this.#eventOf(request);
      const mark = { id, name, body: event?.body ?? null };
      await this.#options.store.bookmark(mark, scope.audit?.take(request));
    });
    return this.get(scope, id);
  }

  /** Limits the number of bookmarks, because bookmarks exempt rows and bodies from retention. */
  async #requireRoom(tenantId: string): Promise<void> {
    const { store, clock } = this.#options;
    const filter = { ...everyRequest, tenantId, bookmarked: true };
    let count = 0;
    let after: RequestPlace | null = null;
    do {
      const budget = new SearchBudget(clock, searchBounds);
      const page: SearchPage<ReceivedRequest, RequestPlace> = await store.searchRequests({
        filter,
        budget,
        after,
        limit: bookmarksPerTenantMax,
      });
      count += page.rows.length;
      after = page.next;
    } while (after !== null && count < bookmarksPerTenantMax);
    if (count < bookmarksPerTenantMax) return;
    throw new PosthornError(
      "limit_reached",
      `the tenant has ${bookmarksPerTenantMax} bookmarked requests, which is its limit; remove a bookmark first`,
    );
  }

  /**
   * Replays a request through the current connections. A rejected request is verified again first, regardless of its
   * age.
   */
  async replay(scope: Scope, id: string, given: RequestReplayInput): Promise<ReceivedRequest> {
    const { connectionIds = null } = validFields(requestReplayFields, given, "the replay");
    const request = await this.#find(scope, id);
    const source = this.#options.directory.source(request.sourceId);
    if (source === undefined) throw new NotFoundError("the source");
    const connections = this.#chosen(source, connectionIds);
    if (request.method === "OPTIONS") return this.#consent(scope, request, source);
    if (request.eventId === null)
      return this.#retry(scope, { request, source, connections }).catch((error: unknown) => {
        if (!(error instanceof StepsSpentError)) throw error;
        throw new PosthornError("conflict", `${error.message}; simplify the rules of its source`);
      });
    return this.#again(scope, { request, source, connections });
  }

  #chosen({ id }: Source, connectionIds: readonly string[] | null): readonly Connection[] {
    const own = this.#options.directory.connectionsOf(id);
    if (connectionIds === null) return own;
    const chosen = own.filter((one) => connectionIds.includes(one.id));
    if (chosen.length < connectionIds.length) throw new NotFoundError("a connection");
    return chosen;
  }

  /** Sends a stored event through the current connections, with the sender's key and ID. */
  async #again(scope: Scope, replay: Replay): Promise<ReceivedRequest> {
    const { request, connections } = replay;
    const { access, clock } = this.#options;
    const event = await this.#eventOf(request);
    if (event === null || event.body === null)
      throw new PosthornError("payload_gone", "the payload was removed by retention");
    const webhooks = connections.map(({ webhookId }) => ({ id: webhookId }));
    const originals = await originalsOf(this.#options.history, event, webhooks);
    const sent = await requeueFor(event, connections, originals, access, clock.now());
    scope.audit?.written();
    const others = request.forwards.filter(
      ({ connectionId }) => !sent.some((one) => one.connectionId === connectionId),
    );
    return this.#noted({ ...request, forwards: [...sent, ...others] });
  }

  /**
   * Processes the request as if it arrived now, but checks its timestamp against the time when it was received. A
   * rejected request is verified with the current secrets.
   */
  async #retry(scope: Scope, { request, source, connections }: Replay): Promise<ReceivedRequest> {
    const incoming = this.#incomingOf(request, source);
    const { box, deliverer, deploymentId, clock } = this.#options;
    const verifier = box.verifier(source);
    const nowSeconds = Math.floor(request.receivedAt / 1_000);
    const received = await verifier.receive(incoming.message, { nowSeconds });
    if (received.kind !== "verified")
      throw new PosthornError(
        "conflict",
        received.kind === "challenge"
          ? "the request only checks the address"
          : `the request is still not authentic: ${received.detail}`,
      );
    const field = readKeyField(incoming.request.rawHeaders);
    const hops = nextHops(incoming.message.headers.get(hopHeader), deploymentId);
    if (field.kind === "malformed" || hops.kind === "loop")
      throw new PosthornError(
        "conflict",
        "the request cannot be accepted: its key or its hops are not valid",
      );
    const authentic = authenticOf(incoming, received, verifier, field, hops.value);
    const { eventType, originalType, scheme } = authentic;
    const noted = ({ outcome, forwards, eventId }: Delivered): ReceivedRequest => ({
      ...request,
      eventType,
      originalType,
      scheme,
      outcome,
      forwards,
      eventId,
    });
    const ways = { ...(await routed(authentic, connections, clock)), request: noted };
    const delivered = await deliverer.store(authentic, ways);
    if (delivered.answer.status >= 300)
      throw new PosthornError("conflict", `the request was not accepted: ${delivered.answer.status}`);
    scope.audit?.written();
    return delivered.isLogged === true ? noted(delivered) : this.#noted(noted(delivered));
  }

  /** Notifies the sender that it may deliver, once its name is in `allowed_origins`. */
  async #consent(scope: Scope, request: ReceivedRequest, source: Source): Promise<ReceivedRequest> {
    if (source.handshake === null)
      throw new PosthornError("conflict", "the source does not answer handshakes");
    const { message } = this.#incomingOf(request, source);
    const consent = await answerConsent(message, source);
    if (!consent.isGiven) throw new PosthornError("conflict", consent.detail);
    await giveConsent(this.#options.consent, source.tenantId, message, consent);
    scope.audit?.written();
    return this.#noted({ ...request, detail: "The sender was notified that it may deliver." });
  }

  #incomingOf(request: ReceivedRequest, source: Source): Incoming {
    const { box, access } = this.#options;
    const { sealedHeaders, body } = request;
    if (sealedHeaders === null || body === null)
      throw new PosthornError("payload_gone", "the body of the request was not kept, or is no longer kept");
    const {
      url,
      rawHeaders,
      clientCertificate = null,
    } = tryParseJson(box.open(source, sealedHeaders)) as {
      readonly url: string;
      readonly rawHeaders: readonly string[];
      readonly clientCertificate?: ClientCertificateSeen | null;
    };
    const address = readAddress(url);
    if (address === null || address.isUnsafe) throw new NotFoundError("the address");
    const whole = { method: request.method, url, rawHeaders, body, clientCertificate };
    const { receivedAt } = request;
    return { id: access.nextId(), source, address, request: whole, message: messageOf(whole), receivedAt };
  }

  async #noted(request: ReceivedRequest): Promise<ReceivedRequest> {
    await this.#options.store.updateRequest(request);
    return request;
  }

  async #eventOf({ eventId, tenantId }: ReceivedRequest): Promise<StoredEvent | null> {
    if (eventId === null) return null;
    return this.#options.history.getEvent(tenantId, eventId);
  }
}

interface Replay {
  readonly request: ReceivedRequest;
  readonly source: Source;
  readonly connections: readonly Connection[];
}
