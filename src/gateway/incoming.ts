/** One request on its way through the gateway. */
import { hash } from "node:crypto";
import type { Filter, FilteredMessage } from "../core/filter/filter.ts";
import { compileFilter } from "../core/filter/filter.ts";
import { withoutParameters } from "../core/http/masked-fields.ts";
import { mappedEventType } from "../core/gateway/mapped-event-type.ts";
import type { Relayed } from "../core/gateway/relayed.ts";
import { type Connection, isHolding, type Source } from "../core/gateway/source.ts";
import type { Clock } from "../ports/clock.ts";
import type { ForwardNote } from "../ports/store/gateway.ts";
import type { Received, SourceVerifier } from "../receiver/configured/source-verifier.ts";
import type { ReceivedMessage } from "../receiver/message/message.ts";
import { queryOf } from "../receiver/message/message-url.ts";
import { type ListedHeaders, receivedHeaders } from "../receiver/message/received-headers.ts";
import { valueReader } from "../receiver/presets/value-source.ts";
import type { InboundRequest } from "../services/gateway/gateway-services.ts";
import type { InboundAddress } from "./address.ts";
import { endToEndReader, forwardedHeaders, handedOn } from "./forwarded-headers.ts";
import { MessageReading } from "./message-reading.ts";
import { type KeyField, rememberedKey } from "./received-key.ts";

export type Verified = Extract<Received, { readonly kind: "verified" }>;

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

/** The claim of a crashed process is free after the time budget of a message plus this. */
const claimSpareMs = 30_000;

export function claimMsOf({ budgetMs }: Source): number {
  return budgetMs + claimSpareMs;
}

/** Routes of a message, by the rules of the connections. */
export interface Routed {
  readonly open: readonly Connection[];
  readonly held: readonly Connection[];
  readonly ignored: readonly ForwardNote[];
}

const filters = new WeakMap<object, Filter>();

/** Throws a StepsSpentError if the filters need more steps than one message may cost. */
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

/** The parts that filters see apart from the body; `url` and `rest` come from the address. */
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

/** The first value of a repeated parameter, as in `valueReader`. */
function firstValues(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...query].reverse());
}
