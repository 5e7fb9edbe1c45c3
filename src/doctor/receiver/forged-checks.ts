import { failed, notApplicable, passed } from "../finding.ts";
import type { Result } from "../finding.ts";
import { describe, headerOf, isRefused, withHeader, withoutHeader } from "./check.ts";
import type { Bench, ReceiverCheck } from "./check.ts";
import type { SampleMessage } from "./messages.ts";

/** More than any usual tolerance of five minutes (TS16-82). */
const staleMs = 10 * 60_000;

/** Messages that look right and are not: a correct receiver processes none of them. */
export const forgedChecks: readonly ReceiverCheck[] = [
  forged({
    id: "altered-body",
    title: "refuses an altered body",
    requirements: "TS16-55 TS16-61 EDS-11.3-3 EDS-11.4-1",
    spoil: ({ messages }) => {
      const { headers, body } = messages.make();
      const altered = Buffer.from(body);
      altered[altered.length - 2] = (altered[altered.length - 2] ?? 0) ^ 1;
      return { headers, body: altered };
    },
    hint: "Verify the signature over the raw bytes of the body before anything else, and answer 401.",
  }),
  forged({
    id: "wrong-key",
    title: "refuses a message signed with another key",
    requirements: "TS16-19 TS16-55 EDS-11.3-1",
    spoil: ({ messages }) => messages.make({ wrongKey: true }),
    hint: "Compare the signature with your own secret; a well-formed signature proves nothing.",
  }),
  forged({
    id: "old-timestamp",
    title: "refuses a message signed ten minutes ago",
    requirements: "TS16-82 TS16-83 EDS-11.5-2",
    spoil: ({ messages }) => messages.make({ now: Date.now() - staleMs }),
    hint: "Refuse signed times more than 300 s away from your clock, or a captured request can be sent again.",
  }),
  forged({
    id: "future-timestamp",
    title: "refuses a message signed ten minutes ahead",
    requirements: "TS16-82 TS16-83",
    spoil: ({ messages }) => messages.make({ now: Date.now() + staleMs }),
    hint: "The tolerance holds in both directions; check your clock as well.",
  }),
  forged({
    id: "moved-timestamp",
    title: "refuses a timestamp that is not the signed one",
    requirements: "TS16-59 TS16-83",
    spoil: ({ messages }) => {
      const message = messages.make({ now: Date.now() - staleMs });
      const name = "Webhook-Timestamp";
      if (headerOf(message.headers, name) === undefined) return null;
      const value = String(Math.floor(Date.now() / 1000));
      return { ...message, headers: withHeader(message.headers, { name, value }) };
    },
    hint: "The timestamp is part of the signed text: verify {id}.{timestamp}.{body}.",
  }),
  forged({
    id: "moved-id",
    title: "refuses a message id that is not the signed one",
    requirements: "TS16-59 TS16-62",
    spoil: ({ messages }) => {
      const message = messages.make();
      const name = "Webhook-ID";
      if (headerOf(message.headers, name) === undefined) return null;
      return { ...message, headers: withHeader(message.headers, { name, value: messages.newEventId() }) };
    },
    hint: "The id is part of the signed text: verify {id}.{timestamp}.{body}.",
  }),
  ...["Webhook-Signature", "X-Webhook-Signature", "Signature", "Signature-Input", "Content-Digest"].map(
    (name) =>
      forged({
        id: `without-${name.toLowerCase()}`,
        title: `refuses a message without ${name}`,
        requirements: "TS16-19 TS16-55 EDS-11.3-3",
        spoil: ({ messages }) => without(messages.make(), name),
        hint: `Answer 401 when ${name} is missing; never fall back to accepting.`,
      }),
  ),
  ...["Webhook-ID", "Webhook-Timestamp"].map((name) =>
    forged({
      id: `without-${name.toLowerCase()}`,
      title: `refuses a message without ${name}`,
      requirements: "TS16-28 TS16-55",
      spoil: ({ messages }) => without(messages.make(), name),
      hint: `${name} is part of what is signed; without it nothing can be verified.`,
    }),
  ),
  forged({
    id: "garbage-signature",
    title: "refuses a signature that is no signature",
    requirements: "TS16-19 TS16-55",
    spoil: ({ messages }) => {
      const message = messages.make();
      const name = ["Webhook-Signature", "X-Webhook-Signature", "Signature"].find(
        (candidate) => headerOf(message.headers, candidate) !== undefined,
      );
      if (name === undefined) return null;
      return { ...message, headers: withHeader(message.headers, { name, value: "v1,%%%, t=,v1=, sig1=::" }) };
    },
    hint: "A malformed header is a client error: answer 401, and let no input throw.",
  }),
  forged({
    id: "unknown-signature-version",
    title: "refuses a right signature under an unknown version",
    requirements: "TS16-67",
    spoil: ({ messages }) => {
      const message = messages.make();
      const name = "Webhook-Signature";
      const value = headerOf(message.headers, name);
      if (value === undefined) return null;
      return {
        ...message,
        headers: withHeader(message.headers, { name, value: value.replaceAll(/v1a?,/g, "v9,") }),
      };
    },
    hint: "Skip versions you do not know, and refuse when none is left.",
  }),
];

function without(message: SampleMessage, name: string): SampleMessage | null {
  if (headerOf(message.headers, name) === undefined) return null;
  return { ...message, headers: withoutHeader(message.headers, name) };
}

/** A check that sends one spoiled message and wants a client error; `null` means that the profile has no such thing. */
function forged(rule: {
  readonly id: string;
  readonly title: string;
  readonly requirements: string;
  readonly spoil: (bench: Bench) => Pick<SampleMessage, "headers" | "body"> | null;
  readonly hint: string;
}): ReceiverCheck {
  const { id, title, requirements, spoil, hint } = rule;
  return {
    ...{ id, title, requirements, sends: "forged" },
    run: async (bench): Promise<Result> => {
      const message = spoil(bench);
      if (message === null) return notApplicable("the profile does not send this header");
      const answer = await bench.post(message);
      return isRefused(answer) ? passed(describe(answer)) : failed(`answered ${describe(answer)}`, hint);
    },
  };
}
