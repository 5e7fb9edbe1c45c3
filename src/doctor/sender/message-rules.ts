import { parseKeyHeader } from "../../core/idempotency-key.ts";
import type { ProfileHeader } from "../../core/profile.ts";
import { failed, notApplicable, passed, skipped } from "../finding.ts";
import type { Result } from "../finding.ts";
import { headerText } from "./record.ts";
import type { RecordedRequest } from "./record.ts";
import type { SenderRule, SenderSession } from "./rule.ts";

/** How far the sending time of a message may be from its arrival; clocks differ. */
const clockDifferenceMsMax = 60_000;

/** Rules that every single request has to keep. */
export const messageRules: readonly SenderRule[] = [
  everyRequest({
    ...{ id: "method", title: "sends POST", requirements: "TS16-26 CEW-2.1-2 EDS-9.1-1" },
    fault: ({ method }) => (method === "POST" ? null : method),
    hint: "Deliveries are POST requests.",
  }),
  everyRequest({
    ...{ id: "content-type", title: "names the media type of the body", requirements: "EDS-9.1-4 CEW-2.1-3" },
    fault: ({ headers }) => (headerText(headers, "content-type") === null ? "no Content-Type" : null),
    hint: "Content-Type says what the body is.",
  }),
  everyRequest({
    ...{ id: "body", title: "sends a body", requirements: "TS16-38 CEW-2.1-4" },
    fault: ({ body }) => (body.length === 0 ? "an empty body" : null),
    hint: "A delivery without a payload says nothing.",
  }),
  {
    ...{
      id: "headers",
      title: "sends the headers of the profile",
      requirements: "TS16-28 WDS-155 WDS-157 EDS-9.4-1",
    },
    judge: (session) => {
      const missing = requiredHeaders(session).filter((name) =>
        session.requests.some(({ headers }) => headerText(headers, name) === null),
      );
      return missing.length === 0
        ? passed(requiredHeaders(session).join(", "))
        : failed(`missing: ${missing.join(", ")}`, "Send them with every attempt.");
    },
  },
  everyRequest({
    ...{
      id: "idempotency-key",
      title: "sends Idempotency-Key as a quoted string",
      requirements: "IDK-2 EDS-9.4-1 EDS-9.4-2",
    },
    fault: ({ headers }) => keyFault(headerText(headers, "idempotency-key")),
    hint: 'The value is a structured string: Idempotency-Key: "0197…", quotes included.',
  }),
  everyRequest({
    ...{ id: "message-id", title: "sends a message id without a period", requirements: "TS16-31 TS16-62" },
    applies: ({ headers }) => headerText(headers, "webhook-id") !== null,
    fault: ({ headers }) => {
      const id = headerText(headers, "webhook-id") ?? "";
      return /^[\x21-\x2d\x2f-\x7e]{1,255}$/.test(id)
        ? null
        : "Webhook-ID has a period or is no visible ASCII";
    },
    hint: "The period separates the signed parts; an id with one can be shifted into the timestamp.",
  }),
  everyRequest({
    ...{ id: "timestamp", title: "sends the time of this sending", requirements: "TS16-34 WDS-154" },
    applies: ({ headers }) => sentAtMs(headers) !== null || headerText(headers, "webhook-timestamp") !== null,
    fault: ({ headers, receivedAt }) => {
      const sentAt = sentAtMs(headers);
      if (sentAt === null) return "Webhook-Timestamp is not whole Unix seconds";
      const difference = Math.abs(receivedAt - sentAt);
      return difference <= clockDifferenceMsMax
        ? null
        : `${Math.round(difference / 1000)} s away from this clock`;
    },
    hint: "Take the time anew for every attempt, and keep the clock right.",
  }),
  {
    ...{
      id: "signature",
      title: "signs so that the receiver kit verifies it",
      requirements: "TS16-57 TS16-59 TS16-60 WDS-153 C-18",
    },
    judge: async (session) => {
      const { verifier, requests, url } = session;
      if (verifier === null) return skipped("no secret was given", "Give --secret.");
      for (const request of requests) {
        const message = { ...request, url: new URL(request.path, url).href, headers: lookup(request) };
        const result = await verifier.verify(message, { nowSeconds: Math.floor(request.receivedAt / 1000) });
        if (result.kind === "rejected")
          return failed(
            `${result.cause}: ${result.detail}`,
            "Sign exactly the bytes that are sent, with the key in force.",
          );
      }
      return passed(`${requests.length} requests`);
    },
  },
];

function keyFault(value: string | null): string | null {
  if (value === null) return "no Idempotency-Key";
  const parsed = parseKeyHeader(value);
  return parsed.kind === "malformed" ? `Idempotency-Key: ${parsed.reason}` : null;
}

function requiredHeaders({ profile }: SenderSession): readonly string[] {
  return profile.headers.filter(isAlwaysSent).map(({ name }) => name);
}

/** Signature headers depend on the scheme, which the rule about signatures looks at; `ce-*` on the content mode. */
function isAlwaysSent(header: ProfileHeader): boolean {
  if ("literal" in header) return true;
  const depends = [
    "content_format",
    "webhook_signature",
    "x_webhook_signature",
    "content_digest",
    "signature_input",
    "signature",
  ];
  return !depends.includes(header.value);
}

function lookup({ headers }: RecordedRequest): { get(name: string): string | null } {
  return { get: (name) => headerText(headers, name) };
}

/** Sending time in Unix milliseconds, of whichever header has it. */
function sentAtMs(headers: RecordedRequest["headers"]): number | null {
  const seconds =
    headerText(headers, "webhook-timestamp") ??
    /(?:^|,)t=(\d{1,15})/.exec(headerText(headers, "x-webhook-signature") ?? "")?.[1] ??
    /;created=(\d{1,15})/.exec(headerText(headers, "signature-input") ?? "")?.[1];
  return seconds !== undefined && seconds !== null && /^\d{1,15}$/.test(seconds)
    ? Number(seconds) * 1000
    : null;
}

/** A rule of which no request may have a fault. */
function everyRequest(rule: {
  readonly id: string;
  readonly title: string;
  readonly requirements: string;
  readonly applies?: (request: RecordedRequest) => boolean;
  /** What is wrong with the request, null when nothing is. */
  readonly fault: (request: RecordedRequest) => string | null;
  readonly hint: string;
}): SenderRule {
  const { id, title, requirements, applies = () => true, fault, hint } = rule;
  return {
    ...{ id, title, requirements },
    judge: ({ requests }): Result => {
      const concerned = requests.filter(applies);
      if (concerned.length === 0) return notApplicable("no request has it");
      const faults = concerned.map(fault).filter((text) => text !== null);
      return faults.length === 0
        ? passed(`${concerned.length} requests`)
        : failed(`${faults.length} of ${concerned.length}: ${faults[0]}`, hint);
    },
  };
}
