import { contentDigest } from "../../domain/signing/http-signatures.ts";
import { failed, notApplicable, passed, type Result, type Rule } from "../finding.ts";
import { type Bench, describe, isRefused, type ReceiverCheck } from "./check.ts";
import { headerOf, honestWord, type SampleMessage, withHeader, withoutHeader } from "./messages.ts";

/** More than any usual tolerance of five minutes (TS16-82). */
const staleMs = 10 * 60_000;

type Posted = Pick<SampleMessage, "headers" | "body">;

/** Messages that look valid but are not: a correct receiver processes none of them. */
export const forgedChecks: readonly ReceiverCheck[] = [
  forged({
    id: "altered-body",
    title: "refuses an altered body",
    requirements: "TS16-55 TS16-61 EDS-11.3-3 EDS-11.4-1",
    fix: "Verify the signature over the raw bytes of the body before anything else, and answer 401.",
    spoil: ({ messages }) => altered(messages.make()),
  }),
  forged({
    id: "wrong-key",
    title: "refuses a message signed with a different key",
    requirements: "TS16-19 TS16-55 EDS-11.3-1",
    fix: "Compare the signature with your own secret; a well-formed signature proves nothing.",
    spoil: ({ messages }) => messages.make({ keys: "wrong" }),
  }),
  forged({
    id: "old-timestamp",
    title: "refuses a message signed ten minutes ago",
    requirements: "TS16-82 TS16-83 EDS-11.5-2 WDS-154",
    fix: "Refuse signed times more than 300 s from your clock, or a captured request can be sent again.",
    spoil: ({ messages }) => messages.make({ now: Date.now() - staleMs }),
  }),
  forged({
    id: "future-timestamp",
    title: "refuses a message signed ten minutes ahead",
    requirements: "TS16-82 TS16-83",
    fix: "The tolerance applies in both directions; check your clock as well.",
    spoil: ({ messages }) => messages.make({ now: Date.now() + staleMs }),
  }),
  forged({
    id: "moved-timestamp",
    title: "refuses a timestamp other than the signed one",
    requirements: "TS16-59 TS16-83 WDS-154 EDS-11.5-2",
    fix: "The time is signed: verify it together with the body.",
    spoil: ({ messages }) => movedTime(messages.make({ now: Date.now() - staleMs })),
  }),
  forged({
    id: "moved-id",
    title: "refuses a message id other than the signed one",
    requirements: "TS16-59",
    fix: "The id is part of the signed text: verify {id}.{timestamp}.{body}.",
    spoil: ({ messages }) => {
      const value = messages.newEventId();
      const isSigned = messages.scheme === "v1" || messages.scheme === "v1a";
      return isSigned ? replaced(messages.make(), "Webhook-ID", value) : null;
    },
  }),
  forged({
    id: "moved-key",
    title: "refuses an Idempotency-Key other than the signed one",
    requirements: "EDS-11.4-1",
    fix: "Require that the signature covers idempotency-key, and verify it; otherwise a replay can use a new key.",
    spoil: ({ messages }) => {
      const message = messages.make();
      if (headerOf(message.headers, "Signature-Input")?.includes('"idempotency-key"') !== true) return null;
      return replaced(message, "Idempotency-Key", `"${messages.newEventId()}"`);
    },
  }),
  forged({
    id: "replaced-digest",
    title: "refuses a different body with a matching Content-Digest",
    requirements: "EDS-11.4-1",
    fix: "Require that the signature covers content-digest; comparing it with the body is not enough.",
    spoil: ({ messages }) => {
      const { headers, body } = altered(messages.make());
      return replaced({ headers, body }, "Content-Digest", contentDigest(body));
    },
  }),
  forged({
    id: "narrow-signature",
    title: "refuses a signature that does not cover the body",
    requirements: "EDS-11.4-1",
    fix: "Define which components a signature must cover, including content-digest, and refuse signatures that cover fewer.",
    spoil: ({ messages }) => messages.withNarrowSignature(messages.make()),
  }),
  ...["Webhook-Signature", "X-Webhook-Signature", "Signature", "Signature-Input", "Content-Digest"].map(
    (name) =>
      forged({
        id: `without-${name.toLowerCase()}`,
        title: `refuses a message without ${name}`,
        requirements: "TS16-19 TS16-55 EDS-11.3-3",
        fix: `Answer 401 when ${name} is missing; never fall back to accepting.`,
        spoil: ({ messages }) => without(messages.make(), name),
      }),
  ),
  ...["Webhook-ID", "Webhook-Timestamp"].map((name) =>
    forged({
      id: `without-${name.toLowerCase()}`,
      title: `refuses a message without ${name}`,
      requirements: "TS16-28 TS16-55",
      fix: `${name} is signed; without it nothing can be verified.`,
      spoil: ({ messages }) => {
        const isSigned = messages.scheme === "v1" || messages.scheme === "v1a";
        return isSigned ? without(messages.make(), name) : null;
      },
    }),
  ),
  forged({
    id: "garbage-signature",
    title: "refuses a malformed signature",
    requirements: "TS16-19 TS16-55",
    fix: "A malformed header is a client error: answer 401, and do not let any input throw.",
    spoil: ({ messages }) => {
      const message = messages.make();
      const name = ["Webhook-Signature", "X-Webhook-Signature", "Signature"].find(
        (candidate) => headerOf(message.headers, candidate) !== undefined,
      );
      return name === undefined ? null : replaced(message, name, "v1,%%%, t=,v1=, sig1=::");
    },
  }),
  forged({
    id: "unknown-signature-version",
    title: "refuses a valid signature under an unknown version",
    requirements: "TS16-67",
    fix: "Ignore versions that you do not know, and refuse the message if none remains.",
    spoil: ({ messages }) => {
      const message = messages.make();
      const value = headerOf(message.headers, "Webhook-Signature")?.replaceAll(/v1a?,/g, "v9,");
      return value === undefined ? null : replaced(message, "Webhook-Signature", value);
    },
  }),
  withToken({
    id: "wrong-token",
    title: "refuses a wrong bearer token",
    requirements: "CEW-3.1-1 EDS-11.3-3",
    fix: "Compare the whole token, in constant time.",
    spoil: ({ messages }, token) => {
      const { headers, body } = messages.make();
      // Same length and beginning as the right token, like a near-correct guess.
      const value = `Bearer ${token.slice(0, -1)}${token.endsWith("x") ? "y" : "x"}`;
      return { headers: withHeader(headers, "Authorization", value), body };
    },
  }),
  withToken({
    id: "without-token",
    title: "refuses a message without its bearer token",
    requirements: "CEW-3.1-1 EDS-11.3-3",
    fix: "Require the token in every message, in addition to any signature.",
    spoil: ({ messages }) => {
      const { headers, body } = messages.make();
      return { headers: withoutHeader(headers, "Authorization"), body };
    },
  }),
];

/** Still well-formed, so that only verification can detect the change. */
function altered({ headers, body }: Posted): Posted {
  const text = Buffer.from(body).toString("utf8");
  return { headers, body: Buffer.from(text.replace(honestWord, "forged")) };
}

/** Replaces the signed timestamp with the current time, in the header that contains it. */
function movedTime(message: Posted): Posted | null {
  const now = String(Math.floor(Date.now() / 1000));
  const places = [
    { name: "X-Webhook-Signature", time: /t=\d+/, moved: `t=${now}` },
    { name: "Signature-Input", time: /;created=\d+/, moved: `;created=${now}` },
    { name: "Webhook-Timestamp", time: /^\d+$/, moved: now },
  ];
  for (const { name, time, moved } of places) {
    const value = headerOf(message.headers, name);
    if (value !== undefined) return replaced(message, name, value.replace(time, moved));
  }
  return null;
}

function replaced(message: Posted, name: string, value: string): Posted | null {
  if (headerOf(message.headers, name) === undefined) return null;
  return { ...message, headers: withHeader(message.headers, name, value) };
}

function without(message: Posted, name: string): Posted | null {
  if (headerOf(message.headers, name) === undefined) return null;
  return { ...message, headers: withoutHeader(message.headers, name) };
}

interface Forgery extends Omit<Rule, "level"> {
  /** Returns the altered message; null if the scheme lacks the element to alter. */
  readonly spoil: (bench: Bench) => Posted | null;
}

/** Creates a check that sends one altered message and expects a client error. */
function forged({ spoil, ...rule }: Forgery): ReceiverCheck {
  return {
    ...rule,
    level: "must",
    sends: "forged",
    run: async (bench): Promise<Result> => {
      if (bench.messages.scheme === null)
        return notApplicable("messages are not signed with the given options");
      const message = spoil(bench);
      if (message === null) return notApplicable(`${bench.messages.scheme} does not have this part`);
      const answer = await bench.post(message);
      return isRefused(answer) ? passed(describe(answer)) : failed(describe(answer));
    },
  };
}

function withToken({
  spoil,
  ...rule
}: Omit<Rule, "level"> & { readonly spoil: (bench: Bench, token: string) => Posted }): ReceiverCheck {
  return {
    ...rule,
    level: "must",
    sends: "forged",
    run: async (bench): Promise<Result> => {
      const { bearerToken } = bench.receiver;
      if (bearerToken === null) return notApplicable("messages carry no token with the given options");
      const answer = await bench.post(spoil(bench, bearerToken));
      return isRefused(answer) ? passed(describe(answer)) : failed(describe(answer));
    },
  };
}
