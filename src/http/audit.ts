import type { FastifyRequest } from "fastify";
import { maskedParameters } from "../domain/http/request-headers.ts";
import { isRawNumber } from "../domain/json/lossless.ts";
import type { AuditActor, AuditChange, AuditedTarget, AuditRecord, AuditTrail } from "../domain/scope.ts";
import { createUuidV7Source } from "../domain/uuid.ts";
import type { Services } from "../features/services.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { Logger } from "../ports/telemetry.ts";
import type { Schema } from "../resources/schema.ts";
import type { Answer, AuditedAction, Call, Route } from "./route.ts";
import { plainAddress } from "./serve-inbound.ts";

/** Placeholder for values that are never shown. */
const masked = "…";
/** Maximum size of one field as JSON. Longer fields are replaced by their length. */
const bytesMax = 1_024;

/**
 * Matches names of secrets. The schema marks write-only fields; this pattern finds secrets that the schema does not
 * describe, such as headers of receivers and objects without declared properties.
 */
const secretName =
  /secret|password|token|private|authorization|credential|signature|cookie|(^|[_-])key$|^code$/i;
/** Names that match the pattern above but do not contain a secret. */
const plainName = /_url$|^idempotency_key$|^signature_(schemes?|header)|^has_/i;

/** The parts of a JSON Schema that lead to the schemas of nested values. */
interface Described {
  readonly writeOnly?: boolean;
  readonly "x-open-members"?: readonly string[];
  readonly properties?: Readonly<Record<string, Described>>;
  readonly additionalProperties?: boolean | Described;
  readonly items?: Described;
  readonly anyOf?: readonly Described[];
  readonly oneOf?: readonly Described[];
  readonly allOf?: readonly Described[];
}

/** Masks secrets at any depth and shortens values that are too long to keep. */
export function maskedFields(fields: Json, schema?: Schema): Json {
  const described = schema === undefined ? [] : [schema as Described];
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      shortened(maskedValue(name, value, membersOf(described, name))),
    ]),
  );
}

/** The names of the write-only fields of a schema. */
function writeOnlyNames(schema: Schema | undefined): ReadonlySet<string> {
  const { properties = {} } = (schema ?? {}) as Described;
  return new Set(
    Object.entries(properties)
      .filter(([, { writeOnly }]) => writeOnly === true)
      .map(([name]) => name),
  );
}

function maskedValue(name: string, value: unknown, schemas: readonly Described[]): unknown {
  if (value === null || value === undefined || typeof value === "boolean") return value;
  const secret = schemas.find(({ writeOnly }) => writeOnly === true);
  if (secret !== undefined) return maskedWhole(value, secret["x-open-members"]);
  if (secretName.test(name) && !plainName.test(name)) return maskedWhole(value);
  if (Array.isArray(value)) {
    const items = schemas.flatMap(({ items: each }) => (each === undefined ? [] : variantsOf(each)));
    return value.map((one) => maskedValue("", one, items));
  }
  if (typeof value === "string" && /(^|_)url$/.test(name)) return maskedParameters(value);
  return typeof value === "object" && !isRawNumber(value)
    ? Object.fromEntries(
        Object.entries(value).map(([inner, one]) => [
          inner,
          maskedValue(inner, one, membersOf(schemas, inner)),
        ]),
      )
    : value;
}

function membersOf(schemas: readonly Described[], name: string): readonly Described[] {
  return schemas.flatMap(variantsOf).flatMap(({ properties = {}, additionalProperties }) => {
    if (Object.hasOwn(properties, name)) return variantsOf(properties[name] ?? {});
    return typeof additionalProperties === "object" ? variantsOf(additionalProperties) : [];
  });
}

/** The schema and all its alternatives. */
function variantsOf(schema: Described): readonly Described[] {
  const { anyOf = [], oneOf = [], allOf = [] } = schema;
  return [schema, ...[...anyOf, ...oneOf, ...allOf].flatMap(variantsOf)];
}

/** Keeps the member names of an object, because header names are not secret. */
function maskedWhole(value: unknown, openMembers: readonly string[] = []): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return masked;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      openMembers.includes(name) && typeof one === "string" ? one : masked,
    ]),
  );
}

function shortened(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text !== undefined && text.length > bytesMax ? `… (${text.length} characters)` : value;
}

// The audit log. Each mutating route declares how its changes are recorded; dispatch.ts records them with this module.

type Json = Readonly<Record<string, unknown>>;

interface AuditingOptions {
  readonly services: Pick<Services, "audit" | "apiKeys">;
  readonly clock: Clock;
  readonly random: Pick<Random, "bytes">;
  readonly log: Logger;
}

/** Runs the handler of a route and ensures that its change is recorded exactly once. */
export class Auditing {
  readonly #options: AuditingOptions;
  readonly #nextId: () => string;

  constructor(options: AuditingOptions) {
    const { clock, random } = options;
    this.#options = options;
    const ids = createUuidV7Source(
      () => clock.now(),
      (count) => random.bytes(count),
    );
    this.#nextId = () => ids.next();
  }

  async run(
    route: Route,
    audit: AuditedAction,
    call: Call,
    request: FastifyRequest,
    handle: (call: Call) => Promise<Answer>,
  ): Promise<Answer> {
    const before = await jsonBefore(audit, call);
    const trail = new Trail((target) => {
      const { id, tenantId } = target ?? targetOf(audit, call, null, before);
      return {
        id: this.#nextId(),
        at: this.#options.clock.now(),
        tenantId,
        actor: this.#actor(call, request),
        action: audit.action,
        route: `${route.method} ${route.path}`,
        target: { type: audit.target, id: id === "" ? null : id },
        changes: changesOf(audit, call, before, route.body),
        address: addressOf(call),
        requestId: request.id,
      };
    });
    const answer = await handle({ ...call, scope: { ...call.scope, audit: trail } });
    if (!trail.isWritten) await this.#append(trail.peek(targetOf(audit, call, answer, before)));
    return answer;
  }

  /** The change is committed, so the call succeeds even if the audit record cannot be written. */
  async #append(record: AuditRecord): Promise<void> {
    const { services, log } = this.#options;
    try {
      await services.audit.append(record);
    } catch (error) {
      log.error({ err: String(error), audit: record }, "a change is missing from the audit log");
    }
  }

  #actor({ principal }: Call, { dashboardSession: session }: FastifyRequest): AuditActor {
    const nobody = { keyId: null, keyName: null, role: null, sessionId: null, reference: null };
    if (principal === null) return { ...nobody, kind: "anonymous" };
    const { keyId, role, portal } = principal;
    if (portal !== undefined)
      return { ...nobody, role, kind: "portal_session", sessionId: keyId, reference: portal.reference };
    return {
      ...nobody,
      keyId,
      role,
      keyName: this.#options.services.apiKeys.nameOf(keyId),
      kind: session === null ? "api_key" : "dashboard_session",
      sessionId: session?.id ?? null,
    };
  }
}

class Trail implements AuditTrail {
  readonly #record: (target: AuditedTarget | null) => AuditRecord;
  isWritten = false;

  constructor(record: (target: AuditedTarget | null) => AuditRecord) {
    this.#record = record;
  }

  /** Returns the audit record for a change. Only the first change of a call is recorded; its side effects are not. */
  take(target?: AuditedTarget): AuditRecord | undefined {
    if (this.isWritten) return undefined;
    this.isWritten = true;
    return this.#record(target ?? null);
  }

  peek(target?: AuditedTarget): AuditRecord {
    return this.#record(target ?? null);
  }

  written(): void {
    this.isWritten = true;
  }
}

/**
 * Returns the resource before the change; null if it cannot be read. Errors are ignored here, because the handler
 * reports missing and forbidden resources.
 */
async function jsonBefore({ before }: AuditedAction, call: Call): Promise<Json | null> {
  if (before === undefined) return null;
  try {
    return (await before(call as Call<never, never>)) as Json;
  } catch {
    return null;
  }
}

/** Returns the IP address of the caller. Dual-stack sockets report IPv4 addresses in IPv6 form. */
function addressOf({ connection }: Call): string | null {
  return connection.remoteAddress === undefined ? null : plainAddress(connection.remoteAddress);
}

function targetOf(
  { idFrom }: AuditedAction,
  call: Call,
  answer: Answer | null,
  before: Json | null,
): AuditedTarget {
  const params = (call.params ?? {}) as Json;
  const body = (call.body ?? {}) as Json;
  const answered = (answer?.body ?? {}) as Json;
  const id = params[idFrom ?? "id"] ?? answered[idFrom ?? "id"] ?? body[idFrom ?? "id"];
  const query = (call.query ?? {}) as Json;
  const tenants = [call.principal?.tenantId, before?.["tenant_id"], answered["tenant_id"]];
  const tenantId = [...tenants, query["tenant_id"], body["tenant_id"]].find((one) => typeof one === "string");
  return { id: typeof id === "string" ? id : "", tenantId: typeof tenantId === "string" ? tenantId : null };
}

/** The fields that the body or the route sets to a value different from the previous one. */
function changesOf(
  { sets, removes }: AuditedAction,
  call: Call,
  before: Json | null,
  schema: Route["body"],
): AuditRecord["changes"] {
  const { body } = call;
  const given = isObject(body) ? body : {};
  const asked = maskedFields({ ...given, ...sets?.(call as Call<never>) }, schema);
  const known = maskedFields(before ?? {}, schema);
  const writeOnly = writeOnlyNames(schema);
  const changes: Record<string, AuditChange> = {};
  for (const [name, to] of Object.entries(asked)) {
    const from = known[name];
    if (from === undefined || writeOnly.has(name)) changes[name] = { to };
    else if (JSON.stringify(from) !== JSON.stringify(to)) changes[name] = { from, to };
  }
  for (const name of removes ?? []) {
    if (known[name] !== undefined && known[name] !== null) changes[name] = { from: known[name], to: null };
  }
  return changes;
}

function isObject(value: unknown): value is Json {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}
