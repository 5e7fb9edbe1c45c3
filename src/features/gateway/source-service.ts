import { hash } from "node:crypto";
import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import { changedAt } from "../../domain/webhook.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { GatewayStore } from "../../ports/store/gateway.ts";
import {
  verifierFromConfiguration,
  weakSecretProblems,
} from "../../receiver/configured/configured-verifier.ts";
import type { SourceVerifier } from "../../receiver/configured/source-verifier.ts";
import { defaultOf } from "../../resources/field.ts";
import {
  type SourceInput,
  type SourceRotateInput,
  sourceAcknowledgeFields,
  sourceFields,
  sourceRotateFields,
} from "../../resources/source.ts";
import { mergeRateLimit, ProblemList, readFields, validFields } from "../input.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import type { Scope } from "../services.ts";
import type { TenantDirectory } from "../tenants/tenant-service.ts";
import { isVisible, resolveTenant, tenantFilter } from "../visibility.ts";
import type { GatewayDirectory, VerificationBox } from "./gateway-directory.ts";
import type { RecentRequests, ServiceDescription, SourceView, SourceWithPath } from "./gateway-services.ts";
import { isForwardable, recentRequestsMax } from "./relayed.ts";
import type { RequestLog } from "./request-log.ts";
import {
  type EventTypeSource,
  type GatewayMode,
  isPossibleOverride,
  type Source,
  type SourceToken,
  type StatusOverrides,
  sourceDefaults,
} from "./source.ts";

/** Merges a caller's input into a stored source. The result is validated as a whole and never applied partially. */

const overridesMax = 32;
const noCertificates =
  "needs a proxy that passes on client certificates: POSTHORN_CLIENT_CERTIFICATE_HEADER and POSTHORN_TRUSTED_PROXIES";

const onlyOperators =
  "requires an API key without a tenant, because all tenants share these names; use the secret address, or ask the operator";

/** A source without the fields that are fixed at creation. */
type Settable = Omit<Source, "id" | "tenantId" | "tokens" | "createdAt">;

export const newSource: Settable = {
  name: "",
  description: "",
  party: null,
  verification: "",
  mode: "pass_through",
  acknowledgement: null,
  active: true,
  whenInactive: "unavailable",
  eventType: null,
  keyPointers: null,
  forwardHeaders: [],
  forwardPath: false,
  passSignatures: false,
  allowPut: false,
  allowProbes: [],
  customResponse: null,
  rateLimit: null,
  bodyBytesMax: null,
  budgetMs: sourceDefaults.budgetMs,
  retriesWithinBudget: false,
  statusOverrides: {},
  handshake: null,
  dedupWindowMs: sourceDefaults.dedupWindowMs,
  updatedAt: 0,
};

interface Reading {
  /** True if the caller acts for the whole deployment, not for one tenant. */
  readonly isOperator: boolean;
  readonly problems: ProblemList;
  /** The current verifier; null for a new source. */
  readonly verifier: SourceVerifier | null;
  /** Whether a proxy forwards the client certificates of senders. */
  readonly takesCertificates: boolean;
  readonly now: number;
}

interface ReadSource {
  readonly source: Settable;
  /** The verification as JSON with its secrets, to be sealed; null if it is unchanged. */
  readonly verification: string | null;
}

function readSource(given: SourceInput, base: Settable, how: Reading): ReadSource {
  const { problems, now } = how;
  const use = how.verifier === null ? "create" : "update";
  const input = readFields(sourceFields, given, problems, use);
  const verifier = input.verification === undefined ? how.verifier : verifierOf(input.verification, problems);
  if (input.verification !== undefined && verifier?.needsClientCertificate === true && !how.takesCertificates)
    problems.add({ field: "verification.type", message: noCertificates });
  if (!how.isOperator && (input.party ?? base.party) !== base.party)
    problems.add({ field: "party", message: onlyOperators });
  const eventType = input.eventType === undefined ? base.eventType : input.eventType;
  if (eventType !== null) judgeEventType(eventType, problems, verifier);
  judgeHeaders(input.forwardHeaders ?? [], problems);
  judgeOverrides(input.statusOverrides ?? {}, problems);
  const { verification, customResponse, rateLimit, tenantId: _, ...others } = input;
  const { handshake, statusOverrides, ...plain } = others;
  const source: Settable = {
    ...base,
    ...plain,
    eventType,
    rateLimit: mergeRateLimit(base.rateLimit, rateLimit),
    customResponse: responseOf(customResponse, base),
    handshake: handshakeOf(handshake, base),
    statusOverrides: (statusOverrides as StatusOverrides | undefined) ?? base.statusOverrides,
    updatedAt: changedAt(base.updatedAt, now),
  };
  return { source, verification: verification === undefined ? null : JSON.stringify(verification) };
}

function judgeHeaders(names: readonly string[], problems: ProblemList): void {
  for (const [index, name] of names.entries())
    if (!isForwardable(name))
      problems.add({ field: `forward_headers[${index}]`, message: "is never forwarded" });
}

function responseOf(
  given: SourceInput["customResponse"],
  base: Pick<Settable, "customResponse">,
): Settable["customResponse"] {
  if (given === undefined) return base.customResponse;
  if (given === null) return null;
  const { status, contentType = null, body = null } = given;
  return { status, contentType, body };
}

function handshakeOf(
  given: SourceInput["handshake"],
  base: Pick<Settable, "handshake">,
): Settable["handshake"] {
  if (given === undefined) return base.handshake;
  if (given === null) return null;
  const { allowedOrigins, ratePerMinuteMax = null } = given;
  return { allowedOrigins, ratePerMinuteMax };
}

function judgeOverrides(overrides: Readonly<Record<string, unknown>>, problems: ProblemList): void {
  if (Object.keys(overrides).length > overridesMax)
    problems.add({ field: "status_overrides", message: `must have at most ${overridesMax} entries` });
  for (const [row, upstream] of Object.entries(overrides).slice(0, overridesMax))
    if (!isPossibleOverride(row, upstream))
      problems.add({
        field: `status_overrides.${row.slice(0, 16)}`,
        message:
          "must map a webhook status, timeout, not_reached or oversized to a status: successes to a success, all others to 400 to 599",
      });
}

function verifierOf(configuration: unknown, problems: ProblemList): SourceVerifier | null {
  const made = verifierFromConfiguration(configuration);
  const found = made.kind === "ok" ? weakSecretProblems(configuration) : made.problems;
  for (const { pointer, detail } of found)
    problems.add({ field: `verification${pointer.replaceAll("/", ".")}`, message: detail });
  return made.kind === "ok" ? made.source : null;
}

function judgeEventType(
  source: EventTypeSource,
  problems: ProblemList,
  verifier: SourceVerifier | null,
): void {
  const places = (["fixed", "header", "pointer", "query", "path"] as const).filter(
    (name) => source[name] !== undefined && source[name] !== null && source[name] !== false,
  );
  if (places.length !== 1)
    return problems.add({
      field: "event_type",
      message: "must have one of fixed, header, pointer, query and path",
    });
  if (verifier === null || source.allowUnsigned === true || verifier.isUnverified) return;
  const [place = "fixed"] = places;
  const isVouchedFor =
    place === "path"
      ? verifier.vouchesFor({ query: "" })
      : verifier.vouchesFor({ [place]: source[place] } as never);
  if (!isVouchedFor)
    problems.add({
      field: `event_type.${place}`,
      message: `is not covered by the signature of ${verifier.type}; read it from the body, or set allow_unsigned`,
    });
}

export interface SourceServiceOptions {
  readonly store: GatewayStore;
  readonly directory: GatewayDirectory;
  readonly box: VerificationBox;
  readonly tenants: Pick<TenantDirectory, "has">;
  readonly access: Pick<EngineAccess, "nextId">;
  readonly clock: Pick<Clock, "now">;
  readonly random: Pick<Random, "bytes">;
  readonly description: ServiceDescription;
  readonly log: Pick<RequestLog, "flush">;
  /** Whether a proxy forwards the client certificates of senders. */
  readonly takesCertificates: boolean;
  /** Whether no process of the deployment has the role `gateway`. */
  readonly isUnserved: () => boolean;
  readonly sourcesPerTenantMax: number;
}

/** 192 bits; at least 128 are required. */
const tokenBytes = 24;

const noRequests: RecentRequests = {
  accepted: 0,
  duplicate: 0,
  rejected: 0,
  ignored: 0,
  challenge: 0,
  failed: 0,
  lastReceivedAt: null,
};

export class Sources {
  readonly #options: SourceServiceOptions;
  readonly #changes = new KeyedQueue();

  constructor(options: SourceServiceOptions) {
    this.#options = options;
  }

  list(scope: Scope, asked: string | null): readonly SourceView[] {
    const tenantId = tenantFilter(scope, asked);
    return this.#options.directory
      .sources()
      .filter((source) => (tenantId ?? source.tenantId) === source.tenantId)
      .toSorted((left, right) => (left.id > right.id ? -1 : 1))
      .map((source) => this.#view(source));
  }

  get(scope: Scope, id: string): SourceView {
    return this.#view(this.#require(scope, id));
  }

  /** Outcomes of the latest requests of each source, up to 100 per source, keyed by source id. */
  async recent(views: readonly SourceView[]): Promise<ReadonlyMap<string, RecentRequests>> {
    const { store, log } = this.#options;
    await log.flush();
    const sourceIds = views.map(({ source }) => source.id);
    const rows = await store.recentOutcomes({ sourceIds, limit: recentRequestsMax });
    const known = new Map(sourceIds.map((id) => [id, noRequests]));
    for (const { sourceId, outcome, count, lastReceivedAt: last } of rows) {
      const before = known.get(sourceId) ?? noRequests;
      const lastReceivedAt = Math.max(last, before.lastReceivedAt ?? last);
      known.set(sourceId, { ...before, [outcome]: count, lastReceivedAt });
    }
    return known;
  }

  /** The current secret address. */
  address(scope: Scope, id: string): SourceWithPath {
    return this.#withPath(this.#require(scope, id));
  }

  create(scope: Scope, given: SourceInput): Promise<SourceWithPath> {
    const { tenants, access, clock, store, box, takesCertificates } = this.#options;
    return this.#changes.run("sources", async () => {
      const now = clock.now();
      const problems = new ProblemList();
      const isOperator = scope.tenantId === null;
      const read = readSource(given, newSource, {
        problems,
        verifier: null,
        takesCertificates,
        now,
        isOperator,
      });
      problems.throwIfAny("the source");
      const tenantId = resolveTenant(tenants, scope, given.tenantId ?? null);
      this.#requireRoom(tenantId);
      const id = access.nextId();
      const verification = box.seal({ id }, read.verification ?? "");
      const tokens = [this.#newToken(id)];
      const source: Source = { ...read.source, id, tenantId, tokens, verification, createdAt: now };
      this.#requireFree(source);
      this.#requireMode(source);
      await store.saveSource(source, scope.audit?.take(source));
      this.#options.directory.setSource(source);
      return this.#withPath(source);
    });
  }

  update(scope: Scope, id: string, input: SourceInput): Promise<SourceView> {
    return this.#change(scope, id, (before) => {
      const { box, clock, takesCertificates } = this.#options;
      const problems = new ProblemList();
      const verifier = this.#verifierOf(before);
      const read = readSource(input, before, {
        problems,
        verifier,
        takesCertificates,
        now: clock.now(),
        isOperator: scope.tenantId === null,
      });
      problems.throwIfAny("the source");
      const verification =
        read.verification === null ? before.verification : box.seal({ id }, read.verification);
      const source: Source = { ...before, ...read.source, verification };
      this.#requireFree(source);
      this.#requireMode(source);
      return source;
    });
  }

  async delete(scope: Scope, id: string): Promise<void> {
    await this.#changes.run("sources", async () => {
      const source = this.#require(scope, id);
      await this.#options.store.deleteSource(id, scope.audit?.take(source));
      this.#options.directory.removeSource(id);
    });
  }

  /** Creates a new secret address; the previous one works during the overlap. */
  async rotate(scope: Scope, id: string, input: SourceRotateInput): Promise<SourceWithPath> {
    const { overlapSeconds = defaultOf(sourceRotateFields.overlapSeconds) } = validFields(
      sourceRotateFields,
      input,
      "the rotation",
    );
    await this.#change(scope, id, (before) => {
      const now = this.#options.clock.now();
      const expiresAt = now + overlapSeconds * 1_000;
      const [newest] = before.tokens;
      const old = newest === undefined || overlapSeconds === 0 ? [] : [{ ...newest, expiresAt }];
      return { ...before, tokens: [this.#newToken(id), ...old], updatedAt: changedAt(before.updatedAt, now) };
    });
    return this.#withPath(this.#require(scope, id));
  }

  /** Records the acknowledgement of the service description. `by` names the caller. */
  async acknowledge(scope: Scope, id: string, version: string, by: string): Promise<SourceView> {
    validFields(sourceAcknowledgeFields, { version }, "the acknowledgement");
    return this.#change(scope, id, (before) => {
      const { description, clock } = this.#options;
      if (version !== description.version)
        throw new PosthornError(
          "conflict",
          `the service description now has the version ${description.version}; read GET /service-description again`,
        );
      const now = clock.now();
      return {
        ...before,
        acknowledgement: { by, at: now, version },
        updatedAt: changedAt(before.updatedAt, now),
      };
    });
  }

  #change(scope: Scope, id: string, change: (before: Source) => Source): Promise<SourceView> {
    return this.#changes.run("sources", async () => {
      const source = change(this.#require(scope, id));
      await this.#options.store.saveSource(source, scope.audit?.take(source));
      this.#options.directory.setSource(source);
      return this.#view(source);
    });
  }

  #require(scope: Scope, id: string): Source {
    const source = this.#options.directory.source(id);
    if (source === undefined || !isVisible(scope, source.tenantId)) throw new NotFoundError("the source");
    return source;
  }

  #requireRoom(tenantId: string): void {
    const own = this.#options.directory.sources().filter((source) => source.tenantId === tenantId);
    const { sourcesPerTenantMax } = this.#options;
    if (own.length < sourcesPerTenantMax) return;
    throw new PosthornError(
      "limit_reached",
      `the tenant has ${own.length} sources; its limit is ${sourcesPerTenantMax}. Delete one first`,
    );
  }

  #requireFree({ id, party }: Source): void {
    if (party === null) return;
    const holder = this.#options.directory.sourceByParty(party);
    if (holder !== undefined && holder.id !== id)
      throw new PosthornError("conflict", "the party is taken; choose another name");
  }

  /**
   * Throws if store-and-forward is set without the acknowledgement. Without it, no message is answered before it is
   * delivered (EDS-9.7-6).
   */
  #requireMode(source: Source): void {
    if (source.mode === "pass_through" || this.#effectiveMode(source) === source.mode) return;
    throw new PosthornError(
      "acknowledgement_required",
      "store_and_forward requires an acknowledgement of GET /service-description for the senders of this source: " +
        "POST /v1/sources/{id}/acknowledge, then change the mode",
      { fields: [{ field: "mode", message: "needs an acknowledgement of the service description" }] },
    );
  }

  #effectiveMode({ mode, acknowledgement }: Source): GatewayMode {
    return acknowledgement?.version === this.#options.description.version ? mode : "pass_through";
  }

  #verifierOf(source: Source) {
    try {
      return this.#options.box.verifier(source);
    } catch {
      // The master key changed, or the kit no longer supports the type. A new verification can still be set.
      return null;
    }
  }

  #newToken(id: string): SourceToken {
    const token = Buffer.from(this.#options.random.bytes(tokenBytes)).toString("base64url");
    return { hash: hashOfToken(token), sealed: this.#options.box.seal({ id }, token), expiresAt: null };
  }

  #withPath(source: Source): SourceWithPath {
    const [newest] = source.tokens;
    if (newest === undefined) throw new NotFoundError("the address");
    return { view: this.#view(source), path: `/in/${this.#options.box.open(source, newest.sealed)}` };
  }

  #view(source: Source): SourceView {
    const { box } = this.#options;
    const verifier = this.#verifierOf(source);
    const effectiveMode = this.#effectiveMode(source);
    const warnings = [
      ...(source.active && this.#options.isUnserved()
        ? [
            "no process runs the gateway role, so senders cannot reach this source: add gateway to POSTHORN_ROLES of a process",
          ]
        : []),
      ...(verifier?.isUnverified === true
        ? ["messages are not verified: anyone who knows the address can send"]
        : []),
      ...(verifier?.needsClientCertificate === true && !this.#options.takesCertificates
        ? ["no proxy passes on client certificates any more, so messages that require one are rejected"]
        : []),
      ...(verifier === null ? ["the verification cannot be used, so all messages are rejected"] : []),
      ...(effectiveMode === source.mode
        ? []
        : [
            "the service description changed since it was acknowledged; messages are passed through until it is acknowledged again",
          ]),
      ...(this.#options.directory.connectionsOf(source.id).length === 0
        ? [
            effectiveMode === "pass_through"
              ? "the source has no connection: senders are asked to retry"
              : "the source has no connection: messages are stored, but not delivered",
          ]
        : []),
    ];
    const verification = verifier === null ? {} : box.shown(source);
    return { source, verification, warnings, effectiveMode };
  }
}

/** The hash that is used to compare address secrets. */
export function hashOfToken(token: string): string {
  return hash("sha256", token);
}
