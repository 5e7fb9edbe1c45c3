import { failed, notApplicable, passed, type Result } from "../finding.ts";
import type { ProbeAnswer } from "../probe.ts";
import {
  type Bench,
  describe,
  hasStatus,
  isAccepted,
  isBroken,
  isRefused,
  type ReceiverCheck,
} from "./check.ts";
import { headerOf, type SampleMessage, withHeader, withoutHeader } from "./messages.ts";

/** The reference for all other checks: if this message is refused, no other refusal proves anything. */
export const honestCheck: ReceiverCheck = {
  id: "valid",
  title: "accepts a valid message",
  level: "must",
  sends: "valid",
  requirements: "TS16-17 EDS-9.2.1-2",
  fix: "Check that the receiver has this secret, that the profile is right, and that its clock is right.",
  run: async (bench) => {
    const answer = await bench.post(bench.messages.make());
    return isAccepted(answer)
      ? passed(`${describe(answer)} in ${answer.durationMs} ms`)
      : failed(describe(answer), adviceFor(answer));
  },
};

/** A hint for a refusal whose status indicates the cause; null for other statuses. */
function adviceFor(answer: ProbeAnswer): string | null {
  if (hasStatus(answer, 404))
    return "There is nothing at this path: check the URL, including the path of the receiver.";
  if (hasStatus(answer, 405))
    return "This path does not accept POST: check the URL, including the path of the receiver.";
  return null;
}

/** Messages that a correct receiver accepts. Sent only if the caller allows it, because each may be processed. */
export const validChecks: readonly ReceiverCheck[] = [
  {
    id: "success-status",
    title: "answers a success in one of the agreed forms",
    level: "should",
    requirements: "CEW-2.2-4 CEW-2.2-5 CEW-2.2-6 TS16-17",
    sends: "valid",
    fix: "Answer 200 or 201 with a body and its Content-Type, 204 without a body, or 202 when it is processed later.",
    run: async (bench) => successForm(await bench.post(bench.messages.make())),
  },
  accepts({
    id: "raw-bytes",
    title: "verifies the raw bytes, not the parsed JSON",
    requirements: "TS16-61",
    fix: "Keep the bytes as received; parsing and serialising again changes them.",
    message: oddlyWritten,
  }),
  accepts({
    id: "header-case",
    title: "finds headers in any letter case",
    requirements: "TS16-29",
    fix: "Header names are case-insensitive; frameworks provide them in lower case.",
    message: ({ messages }) => {
      const { headers, body } = messages.make();
      return { headers: headers.map((text, index) => (index % 2 === 0 ? oddCase(text) : text)), body };
    },
  }),
  accepts({
    id: "rotation",
    title: "accepts a valid signature among several",
    requirements: "TS16-67 TS16-68",
    fix: "Try every signature of the header: during a rotation there are two, and there may be other versions.",
    message: ({ messages }) => {
      if (messages.scheme === null) return null;
      const { headers, body } = messages.make({ keys: "rotation" });
      const list = headerOf(headers, "Webhook-Signature");
      if (list === undefined) return { headers, body };
      return { headers: withHeader(headers, "Webhook-Signature", `v9,AAAA ${list}`), body };
    },
  }),
  {
    id: "query-token",
    title: "prevents shared caching when the token is in the query",
    level: "should",
    requirements: "CEW-3-2 CEW-3.2-1 CEW-3.2-4",
    sends: "valid",
    fix: "Answer such requests with `Cache-Control: private`, or accept tokens only in Authorization.",
    run: queryToken,
  },
  {
    id: "duplicate",
    title: "accepts a repeated message",
    level: "must",
    sends: "valid",
    requirements: "TS16-86 IDK-19 EDS-7.2-2",
    fix: "Answer a repeated message like the first one, without processing it: an error makes the sender retry.",
    run: async (bench) => {
      const { first, second } = await twice(bench);
      if (!isAccepted(first)) return failed(describe(first), "The first of the two was not accepted.");
      const seen = `${describe(first)}, then ${describe(second)}`;
      return isAccepted(second) ? passed(seen) : failed(seen);
    },
  },
  {
    id: "key-reuse",
    title: "refuses a known key with a different body",
    level: "should",
    sends: "valid",
    requirements: "IDK-3 IDK-22",
    fix: "Store a fingerprint of the body with the key, and answer 422.",
    run: async (bench) => {
      const { first, second } = await twice(bench, "other");
      if (!isAccepted(first)) return failed(describe(first), "The first of the two was not accepted.");
      return hasStatus(second, 422) ? passed("422") : failed(`${describe(first)}, then ${describe(second)}`);
    },
  },
  {
    id: "concurrent",
    title: "accepts one of two concurrent messages, and delays the other",
    level: "should",
    requirements: "IDK-20 IDK-23",
    sends: "valid",
    fix: "Claim the key before you process, and answer 409 with Retry-After while the first one runs.",
    run: async (bench) => {
      const message = bench.messages.make();
      return concurrentForm(await Promise.all([bench.post(message), bench.post(message)]));
    },
  },
  {
    id: "missing-key",
    title: "answers 400 if a required Idempotency-Key is missing",
    level: "should",
    requirements: "IDK-21",
    sends: "valid",
    fix: "Answer 400 with a link to your rules for the key.",
    run: async (bench) => {
      const { headers, body } = bench.messages.make();
      if (signsKey(headers)) return notApplicable("the key is signed");
      const answer = await bench.post({ headers: withoutHeader(headers, "Idempotency-Key"), body });
      if (isAccepted(answer)) return notApplicable(`${describe(answer)}: it does not need the header`);
      return hasStatus(answer, 400) ? passed("400") : failed(describe(answer));
    },
  },
  {
    id: "bare-key",
    title: "accepts a key without quotes, or answers 400",
    level: "should",
    sends: "valid",
    requirements: "IDK-2",
    fix: "Parse Idempotency-Key as a structured string; a bare value is the same key, or a 400.",
    run: async (bench) => {
      const { headers, body, eventId } = bench.messages.make();
      if (signsKey(headers)) return notApplicable("the key is signed");
      const answer = await bench.post({
        headers: withHeader(headers, "Idempotency-Key", eventId),
        body,
      });
      const isFine = isAccepted(answer) || hasStatus(answer, 400);
      return isFine
        ? passed(`${describe(answer)}: ${isAccepted(answer) ? "lenient" : "strict"}`)
        : failed(describe(answer));
    },
  },
  {
    id: "long-key",
    title: "refuses a key of ten thousand characters",
    level: "should",
    sends: "valid",
    requirements: "IDK-28 IDK-29",
    fix: "Check length and characters of the key before any lookup, and answer 400.",
    run: longKey,
  },
  {
    id: "signed-non-json",
    title: "answers 4xx to signed bytes that are not JSON",
    level: "must",
    requirements: "TS16-18",
    sends: "valid",
    fix: "Answer 400 to a body that cannot be parsed; a 5xx makes the sender retry for days.",
    run: async (bench) => {
      const raw = { contentType: "application/json", body: Buffer.from('{"type":') };
      const answer = await bench.post(bench.messages.make({ raw }));
      if (isAccepted(answer)) return notApplicable(`${describe(answer)}: it parses messages later`);
      return isRefused(answer) ? passed(describe(answer)) : failed(describe(answer));
    },
  },
  {
    id: "media-type",
    title: "answers 415 to an unknown media type",
    level: "must",
    requirements: "CEW-2.2-11",
    sends: "valid",
    fix: "415 tells the sender that the format is the problem.",
    run: async (bench) => {
      const raw = { contentType: "application/vnd.posthorn-check", body: Buffer.from("posthorn check") };
      const answer = await bench.post(bench.messages.make({ raw }));
      if (isAccepted(answer)) return notApplicable(`${describe(answer)}: it accepts any media type`);
      return hasStatus(answer, 415) ? passed("415") : failed(describe(answer));
    },
  },
];

type Posted = Pick<SampleMessage, "headers" | "body">;

/**
 * Creates a rule about one valid message with an unusual spelling. `message` returns null if the rule does not apply to
 * the scheme.
 */
function accepts({
  message,
  ...rule
}: Omit<ReceiverCheck, "level" | "sends" | "run"> & {
  readonly message: (bench: Bench) => Posted | null;
}): ReceiverCheck {
  return {
    ...rule,
    level: "must",
    sends: "valid",
    run: async (bench) => {
      const posted = message(bench);
      if (posted === null) return notApplicable("messages are not signed with the given options");
      const answer = await bench.post(posted);
      return isAccepted(answer) ? passed(describe(answer)) : failed(describe(answer));
    },
  };
}

/** A valid message of the profile with spaces, escapes and numbers that no serializer produces. */
function oddlyWritten({ messages }: Bench): Posted {
  const eventId = messages.newEventId();
  const word = "ü 1000";
  const { headers, body } = messages.make({ eventId, word });
  const tidy: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
  const text = JSON.stringify(tidy, null, " \t").replace(`"${word}"`, '"\\u00fc", "number" : 1.0e3');
  const contentType = headerOf(headers, "Content-Type") ?? "application/json";
  return messages.make({ eventId, raw: { contentType, body: Buffer.from(`${text}\r\n`) } });
}

function oddCase(name: string): string {
  return name.replaceAll(
    /(.)(.?)/g,
    (_, odd: string, even: string) => odd.toLowerCase() + even.toUpperCase(),
  );
}

function signsKey(headers: readonly string[]): boolean {
  return headerOf(headers, "Signature-Input")?.includes('"idempotency-key"') === true;
}

/** Sends the same event again as a sender would: with the same body and key, but a new timestamp and signature. */
async function twice(
  bench: Bench,
  word?: string,
): Promise<{ readonly first: ProbeAnswer; readonly second: ProbeAnswer }> {
  const event = { eventId: bench.messages.newEventId(), occurredAt: Date.now() };
  const first = await bench.post(bench.messages.make(event));
  const second = await bench.post(bench.messages.make(word === undefined ? event : { ...event, word }));
  return { first, second };
}

async function queryToken(bench: Bench): Promise<Result> {
  const { bearerToken, url } = bench.receiver;
  if (bearerToken === null) return notApplicable("messages carry no token with the given options");
  if (bench.messages.scheme?.startsWith("rfc9421") === true) return notApplicable("the address is signed");
  const { headers, body } = bench.messages.make();
  const withQuery = new URL(url);
  withQuery.searchParams.set("access_token", bearerToken);
  const answer = await bench.send({
    method: "POST",
    url: withQuery,
    headers: [...withoutHeader(headers, "Authorization"), "Cache-Control", "no-store"],
    body,
  });
  if (isRefused(answer)) return notApplicable(`${describe(answer)}: it accepts tokens only in Authorization`);
  if (isBroken(answer) || answer.kind === "failure") return failed(describe(answer));
  const control = answer.headers["cache-control"] ?? "";
  return /\b(?:private|no-store)\b/i.test(control)
    ? passed(`Cache-Control: ${control}`)
    : failed(`${answer.status}, Cache-Control: ${control === "" ? "(none)" : control}`);
}

async function longKey(bench: Bench): Promise<Result> {
  const { messages } = bench;
  const key = "k".repeat(10_000);
  const sample = messages.make();
  const has = (name: string): boolean => headerOf(sample.headers, name) !== undefined;
  // The idempotency key of a message is its id. It must not change in the other headers either.
  if (signsKey(sample.headers) && (has("Webhook-ID") || has("X-Webhook-Delivery")))
    return notApplicable("the key is signed");
  const { headers, body } = signsKey(sample.headers) ? messages.make({ eventId: key }) : sample;
  const answer = await bench.post({
    headers: withHeader(headers, "Idempotency-Key", `"${key}"`),
    body,
  });
  if (isRefused(answer)) return passed(describe(answer));
  // The unsigned header is not authenticated, so a receiver may ignore it.
  if (isAccepted(answer) && !signsKey(sample.headers))
    return notApplicable(`${describe(answer)}: it identifies messages by signed values`);
  return failed(describe(answer));
}

function successForm(answer: ProbeAnswer): Result {
  if (answer.kind === "failure" || !isAccepted(answer)) return failed(describe(answer));
  const { status, body, headers } = answer;
  if (![200, 201, 202, 204].includes(status)) return failed(`${status}`);
  if (status === 200 && body === "") return failed("200 without a body");
  const isTyped = status === 202 || body === "" || headers["content-type"] !== undefined;
  return isTyped ? passed(`${status}`) : failed(`${status} with a body and no Content-Type`);
}

function concurrentForm(answers: readonly [ProbeAnswer, ProbeAnswer]): Result {
  const texts = answers.map(describe).join(" and ");
  if (!answers.some(isAccepted)) return failed(texts, "One of the two must be accepted.");
  const other = answers.find((answer) => !isAccepted(answer));
  if (other === undefined) return passed(`${texts}: the first was processed, or its response repeated`);
  if (other.kind !== "answer" || other.status !== 409) return failed(texts);
  return other.headers["retry-after"] === undefined
    ? failed(texts, "A 409 for a running request must say when to retry: Retry-After.")
    : passed(texts);
}
