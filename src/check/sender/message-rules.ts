import { timingSafeEqual } from "node:crypto";
import { parseKeyHeader } from "../../core/http/idempotency-key.ts";
import { tryParseJson } from "../../core/json/try-parse.ts";
import type { HeaderValueSource, ProfileHeader } from "../../core/profile.ts";
import { isSignableMessageId } from "../../core/signing/message-id.ts";
import { failed, notApplicable, passed, skipped } from "../finding.ts";
import type { Result, Rule } from "../finding.ts";
import { headerText, sentAtMs } from "./record.ts";
import type { RecordedRequest } from "./record.ts";
import type { SenderRule, SenderSession } from "./rule.ts";

/** Allowed difference between sending time and arrival, because clocks differ. */
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
      if (required.length === 0) return notApplicable("the profile has none besides those of other rules");
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
    fix: "Take the current time for every attempt, and keep the clock right.",
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

/** The other documents do not define Idempotency-Key, so their senders may omit it. */
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

/** In `Authorization`, or in the query, which CEW-3.2-1 also allows. */
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
    return skipped("no secret was given", "Give --secret, or POSTHORN_CHECK_SECRET.");
  }
  const verifiable = requests.filter(hasSignableId);
  if (verifiable.length === 0)
    return skipped("message ids with a period cannot be verified", "Fix the message id first.");
  for (const request of verifiable) {
    const { method, path: url, body, receivedAt } = request;
    const message = { method, url, body, headers: lookup(request) };
    // Whether the time is right is checked by a separate rule.
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

/** Signatures depend on the scheme, `ce-*` on the content mode; the others have their own rules or are optional. */
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

/** A rule that every request must satisfy. */
function everyRequest({
  applies = () => true,
  fault,
  ...rule
}: Rule & {
  readonly applies?: (request: RecordedRequest, session: SenderSession) => boolean;
  /** What is wrong with the request; null if nothing is. */
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
