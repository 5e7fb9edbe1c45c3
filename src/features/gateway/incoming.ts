import { hash } from "node:crypto";
import { eventTypeLengthMax, isEventTypeName, isSystemEventType } from "../../domain/event-type.ts";
import { compileFilter, type Filter, type FilteredMessage, Look } from "../../domain/filter.ts";
import { parseKeyHeader } from "../../domain/http/idempotency-key.ts";
import { withoutParameters } from "../../domain/http/request-headers.ts";
import { isRawNumber } from "../../domain/json/lossless.ts";
import { StepBudget } from "../../domain/step-budget.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ForwardNote } from "../../ports/store/gateway.ts";
import type { Received, SourceVerifier } from "../../receiver/configured/source-verifier.ts";
import {
  type ListedHeaders,
  type ReceivedMessage,
  queryOf,
  receivedHeaders,
} from "../../receiver/message/message.ts";
import { memberAt, readJsonBody, valueReader } from "../../receiver/presets/value-source.ts";
import type { InboundAddress } from "./address.ts";
import { type Relayed, endToEndReader, forwardedHeaders, handedOn, relayedKeyPrefix } from "./relayed.ts";
import type { InboundRequest } from "./gateway-services.ts";
import { type Connection, isHolding, type Source } from "./source.ts";

/** Event type of messages whose type is unknown. */
const unknownEventType = "gateway.message";

/** Converts the sender's spelling of an event type to a valid one: `customers/create` becomes `customers.create`. */
function mappedEventType(original: string | null): string {
  if (original === null) return unknownEventType;
  const mapped = original
    .replaceAll(/[/:\\]+/g, ".")
    .replaceAll(/[^A-Za-z0-9_.]+/g, "_")
    .replaceAll(/\.{2,}/g, ".")
    .replaceAll(/^[._]+|[._]+$/g, "")
    .slice(0, eventTypeLengthMax)
    .replace(/\.$/, "");
  if (isSystemEventType(mapped)) return `relayed.${mapped}`.slice(0, eventTypeLengthMax);
  return isEventTypeName(mapped) ? mapped : unknownEventType;
}

/**
 * Maximum steps of all rules of all connections for one message (docs/decisions/steps-per-message.md). Fifty
 * connections with filters of 500 conditions take 25,000.
 */
const stepsMax = 1_000_000;
/** Number of serialized characters that cost one step. */
const charactersPerStep = 16;
/** After this many steps (a few milliseconds), the message yields to other requests. */
const stepsPerTurn = 50_000;

/**
 * A message as read by the rules of its source and all its connections. It is parsed only once, and all rules share one
 * budget.
 */
export class MessageReading {
  readonly look: Look;
  readonly #budget: StepBudget;
  readonly #bytes: Uint8Array;
  readonly #texts = new Map<string, string | undefined>();
  #body: { readonly value: unknown } | null = null;
  #turnAt = stepsPerTurn;

  constructor(bytes: Uint8Array, budget = new StepBudget(stepsMax)) {
    this.#bytes = bytes;
    this.#budget = budget;
    this.look = new Look(budget);
  }

  /** Undefined if the body is not JSON. */
  get body(): unknown {
    this.#body ??= { value: readJsonBody(this.#bytes) };
    return this.#body.value;
  }

  /**
   * The value at a JSON pointer as JSON text; undefined if it is missing. Throws a RangeError if the value is nested
   * too deeply.
   */
  textAt(pointer: string): string | undefined {
    if (!this.#texts.has(pointer)) {
      this.#budget.spend(1 + Math.floor(pointer.length / charactersPerStep));
      this.#texts.set(pointer, this.#written(memberAt(this.body, pointer)));
    }
    return this.#texts.get(pointer);
  }

  /** The body without these members as JSON text; undefined if it is not JSON. */
  textWithout(pointers: readonly string[]): string | undefined {
    let value = this.body;
    for (const pointer of pointers) value = this.#without(value, pointer === "" ? [] : tokensOf(pointer));
    return this.#written(value);
  }

  /** Call between pieces of work. Yields to other requests if this message took many steps since the last call. */
  async turn(clock: Pick<Clock, "defer">): Promise<void> {
    if (this.#budget.spent < this.#turnAt) return;
    await new Promise<void>((resolve) => clock.defer(resolve));
    this.#turnAt = this.#budget.spent + stepsPerTurn;
  }

  /** Copies the value along the path, because other rules read the same value. */
  #without(value: unknown, [token, ...rest]: readonly string[]): unknown {
    if (token === undefined || typeof value !== "object" || value === null || isRawNumber(value))
      return value;
    if (!Object.hasOwn(value, token)) return value;
    const entries = Object.keys(value).length;
    this.#budget.spend(1 + entries);
    const copy = (Array.isArray(value) ? [...(value as readonly unknown[])] : { ...value }) as Record<
      string,
      unknown
    >;
    if (rest.length === 0) Reflect.deleteProperty(copy, token);
    else copy[token] = this.#without(copy[token], rest);
    return copy;
  }

  #written(value: unknown): string | undefined {
    const text = value === undefined ? undefined : JSON.stringify(value);
    this.#budget.spend(Math.ceil((text?.length ?? 0) / charactersPerStep));
    return text;
  }
}

function tokensOf(pointer: string): readonly string[] {
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

// The keys of a message: the received header field, the identity of the message, and the key under which the store
// records it.

type KeyField =
  | { readonly kind: "none" }
  /** `raw` is relayed byte for byte; `key` is its parsed value. */
  | { readonly kind: "ok"; readonly raw: string; readonly key: string }
  | { readonly kind: "malformed"; readonly detail: string };

const name = "idempotency-key";
const lengthMax = 255;

/** Reads the key field. A field that is repeated, too long or malformed is never used for a lookup. */
export function readKeyField(rawHeaders: readonly string[]): KeyField {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name)
      values.push(rawHeaders[at + 1] ?? "");
  const [raw] = values;
  if (raw === undefined) return { kind: "none" };
  if (values.length > 1) return malformed("it is present more than once");
  if (!/^[\x20-\x7e]+$/.test(raw) || raw.trim() === "")
    return malformed("it must have 1 to 255 printable ASCII characters");
  if (!raw.startsWith('"'))
    return raw.length <= lengthMax ? { kind: "ok", raw, key: raw.trim() } : malformed("it is too long");
  const parsed = parseKeyHeader(raw);
  if (parsed.kind === "ok") return { kind: "ok", raw, key: parsed.key };
  return malformed(`it is ${parsed.reason.replaceAll("_", " ")}`);
}

function malformed(what: string): KeyField {
  return { kind: "malformed", detail: `The Idempotency-Key cannot be used: ${what}.` };
}

interface Identified {
  readonly sourceId: string;
  readonly received: Verified;
  readonly field: KeyField;
  readonly bodyDigest: () => string;
  readonly reading: Pick<MessageReading, "textAt">;
  readonly keyPointers: readonly string[] | null;
}

/** The key under which the store records the message; hashed, so that no header content is stored. */
function rememberedKey(message: Identified): string {
  const { sourceId, received } = message;
  const text = `[${JSON.stringify(received.verification.producer ?? null)},${identityOf(message)}]`;
  return `${relayedKeyPrefix(sourceId)}${hash("sha256", text)}`;
}

/**
 * The identity of a message as JSON text. Values that the sender signed take precedence: with an unsigned key, a
 * captured message could pass as a different one.
 */
function identityOf({ received, field, bodyDigest, reading, keyPointers }: Identified): string {
  const { verification, key } = received;
  if (field.kind === "ok" && verification.isKeyAuthentic === true) return JSON.stringify(["key", field.key]);
  if (verification.messageId !== null) return JSON.stringify(["id", verification.messageId]);
  if (verification.replayId !== undefined) return JSON.stringify(["replay", verification.replayId]);
  if (field.kind === "ok") return JSON.stringify(["key", field.key]);
  if (key !== null) return JSON.stringify(["id", key.value]);
  const texts = keyPointers === null ? null : pointedAt(reading, keyPointers);
  if (texts !== null) return `["pointers",[${texts.join(",")}]]`;
  return JSON.stringify(["body", verification.scheme, bodyDigest()]);
}

/** The values at these pointers. Null if a value is missing or nested too deeply. */
function pointedAt(reading: Identified["reading"], pointers: readonly string[]): readonly string[] | null {
  const texts: string[] = [];
  try {
    for (const pointer of pointers) {
      const text = reading.textAt(pointer);
      if (text === undefined) return null;
      texts.push(text);
    }
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  return texts;
}

// One request on its way through the gateway.

type Verified = Extract<Received, { readonly kind: "verified" }>;

/** A message before verification. */
export interface Incoming {
  readonly id: string;
  readonly source: Source;
  readonly address: InboundAddress;
  readonly request: InboundRequest & { readonly body: Uint8Array };
  readonly message: ReceivedMessage & { readonly headers: ListedHeaders };
  readonly receivedAt: number;
}

export function messageOf(request: InboundRequest & { readonly body: Uint8Array }): Incoming["message"] {
  const { method, url, rawHeaders, body, clientCertificate = null } = request;
  const fields: [name: string, value: string][] = [];
  for (let at = 0; at < rawHeaders.length; at += 2)
    fields.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  return { method, url, body, clientCertificate, headers: receivedHeaders(fields) };
}

/** An authentic message, ready to be delivered. */
export interface Authentic {
  readonly incoming: Incoming;
  readonly eventType: string;
  readonly originalType: string | null;
  readonly scheme: string;
  readonly contentType: string;
  readonly relayed: Relayed;
  /** Deduplication key in the store. */
  readonly key: string;
  /** SHA-256 of the body, computed on first use. */
  readonly bodyDigest: () => string;
  /** Shared by all rules of the source and of its connections. */
  readonly reading: MessageReading;
}

export function authenticOf(
  incoming: Incoming,
  received: Verified,
  verifier: SourceVerifier,
  field: KeyField,
  hops: string,
): Authentic {
  const { source, address, message, receivedAt, request } = incoming;
  const { body } = request;
  const reading = new MessageReading(body);
  const originalType = originalTypeOf(incoming, received, reading);
  const { messageId } = received.verification;
  const get = endToEndReader(message.headers);
  const names = handedOnBy(source, verifier);
  const { name: sourceName } = source;
  const rest = withoutParameters(address.rest, verifier.secretParameters);
  let digest: string | null = null;
  const bodyDigest = (): string => (digest ??= hash("sha256", body));
  const isOwnId = messageId !== null && get("webhook-id") === messageId;
  return {
    incoming,
    eventType: mappedEventType(originalType),
    originalType,
    scheme: received.verification.scheme,
    contentType: contentTypeOf(get("content-type")),
    relayed: {
      key: field.kind === "ok" && get("idempotency-key") !== null ? field.raw : null,
      webhookId: isOwnId ? messageId : null,
      path: source.forwardPath && rest !== "" ? rest : null,
      headers: forwardedHeaders({ get, names, sourceName, receivedAt, hops }),
    },
    key: rememberedKey({
      sourceId: source.id,
      received,
      field,
      bodyDigest,
      keyPointers: source.keyPointers,
      reading,
    }),
    bodyDigest,
    reading,
  };
}

/** The received value, even if it is not a media type; values that no header can carry are replaced. */
function contentTypeOf(received: string | null): string {
  return received !== null && /^[\x21-\x7e](?:[\x20-\x7e\t]{0,254}[\x21-\x7e])?$/.test(received)
    ? received
    : "application/octet-stream";
}

const handedOnNames = new WeakMap<Source, readonly string[]>();

function handedOnBy(source: Source, { forwardHeaders }: SourceVerifier): readonly string[] {
  let names = handedOnNames.get(source);
  if (names === undefined)
    handedOnNames.set(
      source,
      (names = handedOn([...forwardHeaders, ...source.forwardHeaders], source.passSignatures)),
    );
  return names;
}

function originalTypeOf(
  { source, address, message }: Incoming,
  received: Verified,
  reading: MessageReading,
): string | null {
  const { eventType } = source;
  if (eventType === null) return received.eventType ?? address.eventType;
  if (eventType.path === true) return address.eventType;
  const { fixed, header, pointer, query } = eventType;
  if (typeof fixed === "string") return fixed;
  const read = valueReader(message, () => reading.body);
  if (typeof header === "string") return read({ header });
  if (typeof pointer === "string") return read({ pointer });
  return typeof query === "string" ? read({ query }) : null;
}

/** The claim of a crashed process expires after the time budget of a message plus this time. */
const claimSpareMs = 30_000;

export function claimMsOf({ budgetMs }: Source): number {
  return budgetMs + claimSpareMs;
}

/** The connections that route a message, grouped by what their rules decide. */
export interface Routed {
  readonly open: readonly Connection[];
  readonly held: readonly Connection[];
  readonly ignored: readonly ForwardNote[];
}

const filters = new WeakMap<object, Filter>();

/**
 * Groups the connections by what their rules decide. Throws a StepsSpentError if the filters need more steps than one
 * message is allowed.
 */
export async function routed(
  { incoming, reading }: Authentic,
  connections: readonly Connection[],
  clock: Pick<Clock, "defer">,
): Promise<Routed> {
  const open: Connection[] = [];
  const held: Connection[] = [];
  const ignored: ForwardNote[] = [];
  let filtered: FilteredMessage | null = null;
  for (const connection of connections) {
    const { filter } = connection;
    if (filter !== null) {
      await reading.turn(clock);
      filtered ??= filteredMessage(incoming, reading);
    }
    const rule = filter === null || filtered === null ? null : filterOf(filter)(filtered, reading.look);
    if (rule !== null) ignored.push({ ...placeOf(connection), result: "ignored", detail: `filter: ${rule}` });
    else if (isHolding(connection)) held.push(connection);
    else open.push(connection);
  }
  return { open, held, ignored };
}

export function placeOf({ id, webhookId }: Connection): Pick<ForwardNote, "connectionId" | "webhookId"> {
  return { connectionId: id, webhookId };
}

function filterOf(source: object): Filter {
  let filter = filters.get(source);
  if (filter === undefined) filters.set(source, (filter = compileFilter(source)));
  return filter;
}

function filteredMessage(
  { message, address, request }: Incoming,
  { body }: Pick<MessageReading, "body">,
): FilteredMessage {
  const { headers } = message;
  return { ...filteredHead(headers, request.url, address.rest), body };
}

/** The message parts that filters see, except the body. `url` and `rest` come from the address. */
export function filteredHead(
  headers: Iterable<readonly [name: string, value: string]>,
  url: string,
  rest: string,
): Omit<FilteredMessage, "body"> {
  return {
    headers: Object.fromEntries([...headers]),
    query: firstValues(queryOf(url)),
    path: rest.split("?")[0] ?? "",
  };
}

/** The query parameters. Uses the first value of a repeated parameter, as `valueReader` does. */
function firstValues(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...query].reverse());
}
