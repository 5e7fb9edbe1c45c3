import { createHash } from "node:crypto";
import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import { portalCapabilitiesDefault } from "../../domain/scope.ts";
import type { Random } from "../../ports/random.ts";
import type { PortalSession } from "../../ports/store/portal.ts";
import { defaultOf } from "../../resources/field.ts";
import {
  portalRevokeFields,
  type PortalRevokeInput,
  portalSessionFields,
  type PortalSessionInput,
} from "../../resources/portal.ts";
import { ProblemList, validFields } from "../input.ts";
import { isVisible, requireWebhook, resolveTenant, tenantFilter } from "../visibility.ts";
import type { FeatureContext, Principal, Scope } from "../services.ts";
import type { PortalLooks } from "./portal-looks.ts";

const secretBytes = 32;
const codeMs = 60_000;
/** Maximum number of valid sessions per tenant. */
const portalSessionsMax = 10_000;
/** Credentials with this prefix are treated as portal tokens. */
export const portalTokenPrefix = "phs_";
const tokenLengthMax = 128;
const rememberedMax = 10_000;
/** If the notification of a revocation is lost, a session stays valid for this long. */
const rememberedMs = 60_000;

/** A new session. The code is returned only here. */
export interface PortalSessionCreated {
  readonly session: PortalSession;
  readonly code: string;
}

/**
 * Portal sessions of customers. Code and token are 32 random bytes each, stored as SHA-256 like API keys. A session is
 * read on first use and cached for one minute; the end of a session is announced to all processes.
 */
export class PortalSessions {
  readonly #context: FeatureContext;
  readonly #looks: Pick<PortalLooks, "settings">;
  readonly #remembered = new Map<string, { readonly session: PortalSession; readonly readAt: number }>();
  /** Incremented whenever the cache is cleared. */
  #generation = 0;

  constructor(context: FeatureContext, looks: Pick<PortalLooks, "settings">) {
    this.#context = context;
    this.#looks = looks;
  }

  async create(scope: Scope, given: PortalSessionInput): Promise<PortalSessionCreated> {
    const {
      access,
      clock,
      random,
      store: { portal: store },
    } = this.#context;
    const input = validFields(portalSessionFields, given, "the session");
    const tenantId = resolveTenant(this.#context.tenants, scope, input.tenantId ?? null);
    await this.#requireWebhooks(tenantId, input.webhookIds ?? []);
    const now = clock.now();
    if ((await store.countSessions(tenantId, now)) >= portalSessionsMax) {
      throw new PosthornError(
        "limit_reached",
        `the limit of ${portalSessionsMax} portal sessions for a tenant is reached`,
      );
    }
    const { capabilities } = await this.#looks.settings(tenantId);
    const session: PortalSession = {
      id: access.nextId(),
      tenantId,
      capabilities: input.capabilities ?? capabilities ?? portalCapabilitiesDefault,
      reference: input.reference ?? null,
      webhookIds: input.webhookIds ?? null,
      origin: input.origin ?? null,
      locale: input.locale ?? null,
      theme: input.theme ?? null,
      createdAt: now,
      expiresAt: now + (input.expiresInSeconds ?? defaultOf(portalSessionFields.expiresInSeconds)) * 1_000,
      redeemedAt: null,
      endedAt: null,
    };
    const code = secretText(random);
    const codes = { codeHash: hashOf(code), codeExpiresAt: now + codeMs };
    await store.createSession({ ...session, ...codes }, scope.audit?.take(session));
    return { session, code };
  }

  async #requireWebhooks(tenantId: string, webhookIds: readonly string[]): Promise<void> {
    const { access } = this.#context;
    if (webhookIds.length === 0) return;
    await access.refresh(webhookIds);
    const problems = new ProblemList();
    for (const [index, id] of webhookIds.entries()) {
      try {
        requireWebhook(access, { tenantId }, id);
      } catch {
        problems.add({ field: `webhook_ids[${index}]`, message: "does not exist" });
      }
    }
    problems.throwIfAny("the session");
  }

  /** The sessions, newest first; `next` is the `after` of the next page. */
  async list(
    scope: Scope,
    query: {
      readonly tenantId: string | null;
      readonly after: string | null;
      readonly offset: number;
      readonly limit: number;
    },
  ): Promise<{ readonly rows: readonly PortalSession[]; readonly next: string | null }> {
    const { limit } = query;
    const tenantId = tenantFilter(scope, query.tenantId);
    const found = await this.#context.store.portal.sessions({ ...query, tenantId, limit: limit + 1 });
    const rows = found.slice(0, limit);
    return { rows, next: found.length > limit ? (rows.at(-1)?.id ?? null) : null };
  }

  async get(scope: Scope, id: string): Promise<PortalSession> {
    const session = await this.#context.store.portal.session(id);
    if (session === null || !isVisible(scope, session.tenantId))
      throw new NotFoundError("the portal session");
    return session;
  }

  /** Ends a session. Idempotent. */
  async end(scope: Scope, id: string): Promise<void> {
    const session = await this.get(scope, id);
    const {
      clock,
      store: { portal: store },
    } = this.#context;
    await store.endSessions({ id, at: clock.now() }, scope.audit?.take(session));
    this.forget();
  }

  /** Ends all sessions with this reference, and returns their number. */
  async revoke(scope: Scope, given: PortalRevokeInput): Promise<number> {
    const {
      tenants,
      clock,
      store: { portal: store },
    } = this.#context;
    const { reference, tenantId: asked } = validFields(portalRevokeFields, given, "the revocation");
    const tenantId = resolveTenant(tenants, scope, asked ?? null);
    const audit = scope.audit?.peek({ id: "", tenantId });
    const ended = await store.endSessions({ tenantId, reference, at: clock.now() }, audit);
    if (ended.length > 0) scope.audit?.written();
    this.forget();
    return ended.length;
  }

  /** Exchanges a code for a token. A code can be used once, within one minute. Null for an invalid code. */
  async redeem(code: string): Promise<{ readonly session: PortalSession; readonly token: string } | null> {
    if (code.length === 0 || code.length > tokenLengthMax) return null;
    const {
      clock,
      random,
      store: { portal: store },
    } = this.#context;
    const token = `${portalTokenPrefix}${secretText(random)}`;
    const exchange = { codeHash: hashOf(code), tokenHash: hashOf(token), at: clock.now() };
    const session = await store.redeem(exchange);
    return session === null ? null : { session, token };
  }

  /** The principal of a token; null if the session is unknown or has ended. */
  async holderOf(token: string): Promise<Principal | null> {
    if (token.length > tokenLengthMax) return null;
    const session = await this.#find(hashOf(token));
    const now = this.#context.clock.now();
    if (session === null || session.endedAt !== null || session.expiresAt <= now) return null;
    const { id, tenantId, webhookIds, capabilities, reference, expiresAt } = session;
    const portal = {
      webhookIds: webhookIds === null ? null : new Set(webhookIds),
      capabilities: new Set(capabilities),
      reference,
      expiresAt,
    };
    return { keyId: id, role: "session", tenantId, portal };
  }

  async #find(tokenHash: string): Promise<PortalSession | null> {
    const {
      clock,
      store: { portal: store },
    } = this.#context;
    const now = clock.now();
    const known = this.#remembered.get(tokenHash);
    if (known !== undefined && Math.abs(now - known.readAt) < rememberedMs) return known.session;
    this.#remembered.delete(tokenHash);
    const generation = this.#generation;
    const session = await store.sessionByToken(tokenHash);
    // If the cache was cleared during the read, the session is not cached, and the next call reads it again.
    if (session === null || generation !== this.#generation) return session;
    if (this.#remembered.size >= rememberedMax) this.#remembered.clear();
    this.#remembered.set(tokenHash, { session, readAt: now });
    return session;
  }

  /** Called when this or another process has ended a session. */
  forget(): void {
    this.#generation += 1;
    this.#remembered.clear();
  }

  /** Valid sessions of all tenants. */
  count(): Promise<number> {
    const {
      clock,
      store: { portal: store },
    } = this.#context;
    return store.countSessions(null, clock.now());
  }
}

function secretText(random: Pick<Random, "bytes">): string {
  return Buffer.from(random.bytes(secretBytes)).toString("base64url");
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret, "utf8").digest("hex");
}
