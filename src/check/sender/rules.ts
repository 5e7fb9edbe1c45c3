import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { parseKeyHeader } from "../../domain/http/idempotency-key.ts";
import { tryParseJson } from "../../domain/json/json-text.ts";
import type { HeaderValueSource, Profile, ProfileHeader } from "../../domain/profile.ts";
import { isSignableMessageId } from "../../domain/signing/schemes.ts";
import type { MessageVerifier } from "../../receiver/message/message.ts";
import { failed, notApplicable, passed, type Result, type Rule, skipped } from "../finding.ts";

/** A request as received from a sender. */
export interface ArrivedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** `performance.now()` when its head arrived. */
  readonly arrivedAtMs: number;
  /** Unix milliseconds. */
  readonly receivedAt: number;
}

export interface RecordedRequest extends ArrivedRequest {
  /** The status of the response, and the seconds of its Retry-After. */
  readonly status: number;
  readonly retryAfterSeconds: number | null;
}

/** The requests of one event, in order of arrival. */
export interface RecordedEvent {
  readonly requests: readonly RecordedRequest[];
}

/** Recorded requests of a sender. */
export interface SenderSession {
  readonly profile: Profile;
  /** Null if no secret was given. */
  readonly verifier: MessageVerifier | null;
  readonly bearerToken: string | null;
  readonly events: readonly RecordedEvent[];
  /** All requests except those to the target of the redirect, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  readonly followed: readonly RecordedRequest[];
}

/** One rule for senders. Evaluated if there is at least one request. */
export interface SenderRule extends Rule {
  judge(session: SenderSession): Result | Promise<Result>;
}

/** Timers of some platforms fire slightly early. */
const timerMs = 50;
/**
 * Signed timestamps are whole seconds, so two attempts must have different timestamps only if they are further apart
 * than this.
 */
const clockTickMs = 2_000;

/** Rules about a sender's behaviour after a refusal. */
export const retryRules: readonly SenderRule[] = [
  {
    id: "retries",
    title: "retries after 503",
    level: "must",
    requirements: "EDS-9.2.2-7 TS16-90 WDS-130",
    fix: "Retry after 503, with the same key or message id; or let the check run longer: --duration-seconds.",
    judge: ({ events }) => {
      const count = events[0]?.requests.length ?? 0;
      return count > 1 ? passed(`${count} requests`) : failed("the first event was not sent again");
    },
  },
  {
    id: "retry-after",
    title: "waits as long as Retry-After requires",
    level: "must",
    requirements: "EDS-9.5-2 EDS-9.6-6 TS16-110",
    fix: "Retry-After is the minimum wait.",
    judge: (session) =>
      retried(session, ({ first, second }) => {
        const gapMs = Math.round(second.arrivedAtMs - first.arrivedAtMs);
        const asked = first.retryAfterSeconds ?? 0;
        return gapMs >= asked * 1000 - timerMs
          ? passed(`${gapMs} ms after 503 with Retry-After: ${asked}`)
          : failed(`sent again after ${gapMs} ms, but Retry-After was ${asked}`);
      }),
  },
  {
    id: "same-bytes",
    title: "sends the same bytes again",
    level: "must",
    requirements: "TS16-35 EDS-7.1-1 IDK-3",
    fix: "Render the body once and keep it. If these were two events, each needs its own key.",
    judge: (session) =>
      retried(session, ({ first, requests }) =>
        requests.every(({ body }) => body.equals(first.body))
          ? passed(`${first.body.length} bytes`)
          : failed("the body changed between two attempts"),
      ),
  },
  {
    id: "same-names",
    title: "sends the same key and message id again",
    level: "must",
    requirements: "TS16-31 EDS-9.4-3",
    fix: "Key and message id belong to the event, not to the attempt.",
    judge: (session) =>
      retried(session, ({ first, requests }) => {
        const id = (request: RecordedRequest): string | null => headerText(request.headers, "webhook-id");
        if (keyOf(first) === null && id(first) === null)
          return notApplicable("it has neither a key nor a message id");
        const isSame = requests.every((one) => keyOf(one) === keyOf(first) && id(one) === id(first));
        return isSame ? passed(`${requests.length} requests`) : failed("a different one in a later attempt");
      }),
  },
  {
    id: "fresh-timestamp",
    title: "signs each attempt with the current time",
    level: "must",
    requirements: "TS16-34",
    fix: "A correct receiver refuses a message signed long ago: sign every attempt.",
    judge: (session) =>
      retried(session, ({ first, second }) => {
        const [before, after] = [sentAtMs(first), sentAtMs(second)];
        if (before === null || after === null) return notApplicable("no signed time was seen");
        if (after !== before) return passed(`${(after - before) / 1000} s later`);
        return second.arrivedAtMs - first.arrivedAtMs < clockTickMs
          ? notApplicable("both attempts arrived within one tick of the clock")
          : failed("the time is that of the first attempt");
      }),
  },
  {
    id: "redirect",
    title: "does not follow redirects",
    level: "must",
    requirements: "TS16-97 CEW-2.2-3",
    fix: "A redirect is a response, not a new address: count it as a failure.",
    judge: ({ followed, events }) => {
      if (followed.length > 0) return failed("requested the target of a 307");
      return events.length > 1 ? passed("307 was not followed") : secondEventMissing;
    },
  },
  {
    id: "distinct-keys",
    title: "uses a separate key for every event",
    level: "must",
    requirements: "EDS-7.2-6 EDS-7.2-8 IDK-3",
    fix: "Create a new key, such as a UUID, for each event.",
    judge: ({ events }) => {
      if (events.length < 2) return secondEventMissing;
      const keys = events.flatMap(({ requests: [first] }) =>
        first === undefined ? [] : (keyOf(first) ?? []),
      );
      if (keys.length === 0) return notApplicable("no event has a key");
      return new Set(keys).size === keys.length
        ? passed(`${keys.length} events`)
        : failed("two events had the same key");
    },
  },
];

const secondEventMissing: Result = skipped(
  "only one event arrived",
  "Publish a second event while the check runs.",
);

interface Attempts extends RecordedEvent {
  readonly first: RecordedRequest;
  readonly second: RecordedRequest;
}

/** The first event, which got a 503, if it was sent again. */
function retried({ events }: SenderSession, judge: (attempts: Attempts) => Result): Result {
  const requests = events[0]?.requests ?? [];
  const [first, second] = requests;
  if (first === undefined || second === undefined)
    return skipped("the first event was not sent again", "Fix `retries` first, or let the check run longer.");
  return judge({ requests, first, second });
}

/** Maximum difference between a message's timestamp and its arrival, because clocks differ. */
const clockDifferenceMsMax = 60_000;

/** Rules for every single request. */
export const messageRules: readonly SenderRule[] = [
  everyRequest({
    id: "method",
    title: "sends POST",
    level: "must",
    requirements: "TS16-26 CEW-2.1-2 EDS-9.1-1",
    fix: "Deliveries are POST requests.",
    fault: ({ method }) => (method === "POST" ? null : method),
  }),
  everyRequest({
    id: "content-type",
    title: "names the media type of the body",
    level: "must",
    requirements: "EDS-9.1-4 CEW-2.1-3",
    fix: "Content-Type names the format of the body; a JSON body must be valid JSON.",
    fault: contentTypeFault,
  }),
  everyRequest({
    id: "body",
    title: "sends a body",
    level: "must",
    requirements: "TS16-38 CEW-2.1-4",
    fix: "A delivery without a payload says nothing.",
    fault: ({ body }) => (body.length === 0 ? "an empty body" : null),
  }),
  {
    id: "headers",
    title: "sends the headers of the profile",
    level: "must",
    requirements: "TS16-28 WDS-157 CEW-4.1.2-2",
    fix: "Send them with every attempt.",
    judge: (session) => {
      const required = requiredHeaders(session);
      if (required.length === 0)
        return notApplicable("the profile has no headers other than those of other rules");
      const missing = required.filter((name) =>
        session.requests.some(({ headers }) => headerText(headers, name) === null),
      );
      return missing.length === 0 ? passed(required.join(", ")) : failed(`missing: ${missing.join(", ")}`);
    },
  },
  {
    id: "bearer-token",
    title: "carries its bearer token",
    level: "must",
    requirements: "CEW-3-1 CEW-3.1-1 CEW-3.2-1",
    fix: "Send `Authorization: Bearer …` with every delivery.",
    judge: judgeToken,
  },
  everyRequest({
    id: "idempotency-key",
    title: "sends Idempotency-Key as a quoted string",
    level: "must",
    requirements: "IDK-2 EDS-9.4-1 EDS-9.4-2",
    fix: 'The value is a structured string: Idempotency-Key: "0197…", quotes included.',
    applies: ({ headers }, { profile }) =>
      headerText(headers, "idempotency-key") !== null || profilesWithKey.has(profile.name),
    fault: ({ headers }) => keyFault(headerText(headers, "idempotency-key")),
  }),
  everyRequest({
    id: "message-id",
    title: "sends a message id without a period",
    level: "must",
    requirements: "TS16-31 TS16-62",
    fix: "The period separates the signed parts; with a period in the id, text could be moved into the timestamp.",
    applies: ({ headers }) => headerText(headers, "webhook-id") !== null,
    fault: (request) =>
      hasSignableId(request) ? null : "Webhook-ID contains a period or is not visible ASCII",
  }),
  everyRequest({
    id: "timestamp",
    title: "sends the current time with each attempt",
    level: "must",
    requirements: "TS16-34 WDS-154",
    fix: "Use the current time for every attempt, and keep the clock synchronized.",
    applies: (request) =>
      sentAtMs(request) !== null || headerText(request.headers, "webhook-timestamp") !== null,
    fault: (request) => {
      const sentAt = sentAtMs(request);
      if (sentAt === null) return "Webhook-Timestamp is not whole Unix seconds";
      const difference = Math.abs(request.receivedAt - sentAt);
      const seconds = Math.round(difference / 1000);
      return difference <= clockDifferenceMsMax ? null : `${seconds} s away from this clock`;
    },
  }),
  {
    id: "signature",
    title: "signs so that the receiver kit can verify it",
    level: "must",
    requirements: "TS16-57 TS16-59 WDS-153",
    fix: "Sign exactly the bytes that are sent, with the current key; for a shared secret in RFC 9421, give the keyid: --key-id.",
    judge: judgeSignatures,
  },
];

/** The documents of the other profiles do not define Idempotency-Key, so their senders may omit it. */
const profilesWithKey: ReadonlySet<string> = new Set(["standard", "event-delivery"]);

function contentTypeFault({ headers, body }: RecordedRequest): string | null {
  const type = headerText(headers, "content-type");
  if (type === null || type.trim() === "") return "no Content-Type";
  if (body.length === 0 || !/^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) return null;
  return tryParseJson(body.toString("utf8")) === undefined ? `${type}, and the body is not JSON` : null;
}

function judgeToken({ profile, requests, bearerToken }: SenderSession): Result {
  if (!profile.registration.bearerTokenRequired && bearerToken === null)
    return notApplicable("the profile does not use it");
  const wrong = requests.filter((request) => {
    const token = tokenOf(request);
    if (token === null || bearerToken === null) return token === null;
    return !isSame(Buffer.from(token), Buffer.from(bearerToken));
  });
  if (wrong.length === 0) return passed(`${requests.length} requests`);
  return failed(`${wrong.length} of ${requests.length} without ${bearerToken === null ? "a" : "this"} token`);
}

/** Reads the bearer token from `Authorization`, or from the query, which CEW-3.2-1 also allows. */
function tokenOf({ headers, path }: RecordedRequest): string | null {
  const [, inHeader] = /^Bearer ([\x21-\x7e]+)$/i.exec(headerText(headers, "authorization") ?? "") ?? [];
  return inHeader ?? new URLSearchParams(path.replace(/^[^?]*/, "")).get("access_token");
}

function isSame(given: Buffer, wanted: Buffer): boolean {
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

const signatureHeaders = ["webhook-signature", "x-webhook-signature", "signature"];

async function judgeSignatures({ verifier, requests }: SenderSession): Promise<Result> {
  if (verifier === null) {
    const isUnsigned = ({ headers }: RecordedRequest): boolean =>
      signatureHeaders.every((name) => headerText(headers, name) === null);
    if (requests.some(isUnsigned)) return failed("a request without any signature");
    return skipped("no secret was given", "Set --secret or POSTHORN_CHECK_SECRET.");
  }
  const verifiable = requests.filter(hasSignableId);
  if (verifiable.length === 0)
    return skipped("message ids with a period cannot be verified", "Fix the message id first.");
  for (const request of verifiable) {
    const { method, path: url, body, receivedAt } = request;
    const message = { method, url, body, headers: lookup(request) };
    // A separate rule checks whether the timestamp is right.
    const nowSeconds = Math.floor((sentAtMs(request) ?? receivedAt) / 1000);
    const result = await verifier.verify(message, { nowSeconds });
    if (result.kind === "rejected") return failed(`${result.cause}: ${result.detail}`);
  }
  return passed(`${verifiable.length} requests`);
}

function hasSignableId({ headers }: RecordedRequest): boolean {
  const id = headerText(headers, "webhook-id");
  return id === null || isSignableMessageId(id);
}

function keyFault(value: string | null): string | null {
  if (value === null) return "no Idempotency-Key";
  const parsed = parseKeyHeader(value);
  return parsed.kind === "malformed" ? `Idempotency-Key: ${parsed.reason.replaceAll("_", " ")}` : null;
}

/**
 * Headers that this rule does not require. Signatures depend on the scheme, and `ce-*` headers on the content mode. The
 * others have their own rules or are optional.
 */
const judgedElsewhere: ReadonlySet<HeaderValueSource> = new Set([
  "content_type",
  "content_format",
  "user_agent",
  "idempotency_key",
  "webhook_signature",
  "x_webhook_signature",
  "content_digest",
  "signature_input",
  "signature",
] as const);

function requiredHeaders({ profile }: SenderSession): readonly string[] {
  const isRequired = (header: ProfileHeader): boolean =>
    "literal" in header || !judgedElsewhere.has(header.value);
  return profile.headers.filter(isRequired).map(({ name }) => name);
}

function lookup({ headers }: RecordedRequest): { get(name: string): string | null } {
  return { get: (name) => headerText(headers, name) };
}

/** Creates a rule that every request must satisfy. */
function everyRequest({
  applies = () => true,
  fault,
  ...rule
}: Rule & {
  readonly applies?: (request: RecordedRequest, session: SenderSession) => boolean;
  /** What is wrong with the request; null if it is correct. */
  readonly fault: (request: RecordedRequest) => string | null;
}): SenderRule {
  return {
    ...rule,
    judge: (session): Result => {
      const concerned = session.requests.filter((request) => applies(request, session));
      if (concerned.length === 0) return notApplicable("no request has it");
      const faults = concerned.map(fault).filter((text) => text !== null);
      return faults.length === 0
        ? passed(`${concerned.length} requests`)
        : failed(`${faults.length} of ${concerned.length}: ${faults[0]}`);
    },
  };
}

/**
 * Finds the event of which a request is an attempt; undefined if the event is new. Events are matched by message id, or
 * by key if the message id is missing. If the message ids differ, the same key counts only with the same body. This
 * distinguishes a reused key from a message id that changes between attempts. If both id and key are missing, only the
 * body is compared.
 */
export function eventOf<Event extends RecordedEvent>(
  request: ArrivedRequest,
  events: readonly Event[],
): Event | undefined {
  const same = (name: (request: ArrivedRequest) => string | null): Event | undefined => {
    const value = name(request);
    return events.find(({ requests: [first] }) => {
      return value !== null && first !== undefined && name(first) === value;
    });
  };
  const body = (one: ArrivedRequest): string => one.body.toString("latin1");
  const byId = same(messageIdOf);
  if (byId !== undefined) return byId;
  if (keyOf(request) === null) return messageIdOf(request) === null ? same(body) : undefined;
  if (messageIdOf(request) === null) return same(keyOf);
  return same((one) => `${keyOf(one)} ${body(one)}`);
}

function messageIdOf({ headers }: ArrivedRequest): string | null {
  return headerText(headers, "webhook-id") ?? headerText(headers, "ce-id");
}

/** Reads the idempotency key from the header that contains it. */
function keyOf({ headers }: ArrivedRequest): string | null {
  return headerText(headers, "idempotency-key") ?? headerText(headers, "x-idempotency-key");
}

function headerText(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name.toLowerCase()];
  if (value === undefined) return null;
  return typeof value === "string" ? value : value.join(", ");
}

/** Reads the message's timestamp, in Unix milliseconds, from the header that contains it. */
export function sentAtMs({ headers }: ArrivedRequest): number | null {
  const seconds =
    headerText(headers, "webhook-timestamp") ??
    /(?:^|,)t=(\d{1,15})/.exec(headerText(headers, "x-webhook-signature") ?? "")?.[1] ??
    /;created=(\d{1,15})/.exec(headerText(headers, "signature-input") ?? "")?.[1];
  return seconds !== undefined && /^\d{1,15}$/.test(seconds) ? Number(seconds) * 1000 : null;
}
