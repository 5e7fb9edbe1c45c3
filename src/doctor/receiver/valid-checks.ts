import { failed, notApplicable, passed } from "../finding.ts";
import type { Result } from "../finding.ts";
import type { ProbeAnswer } from "../probe.ts";
import { describe, headerOf, isAccepted, isRefused, withoutHeader } from "./check.ts";
import type { ReceiverCheck } from "./check.ts";

/** How long a receiver may take: senders give up after 15 to 30 s, and 10 s is the advice (TS16-14). */
const promptMs = 10_000;

/** Messages that a correct receiver accepts. Sent only when the caller allows it: each may be processed. */
export const validChecks: readonly ReceiverCheck[] = [
  {
    ...{ id: "valid", title: "accepts a valid message", sends: "valid" },
    requirements: "TS16-17 EDS-9.2.1-2",
    run: async (bench) => {
      const answer = await bench.post(bench.messages.make());
      return isAccepted(answer)
        ? passed(`${describe(answer)} in ${answer.durationMs} ms`)
        : failed(
            `answered ${describe(answer)}`,
            "Check that the receiver knows this secret and that its clock is right.",
          );
    },
  },
  {
    ...{ id: "success-status", title: "answers success in one of the agreed forms", sends: "valid" },
    requirements: "CEW-2.2-4 CEW-2.2-5 CEW-2.2-6 C-24",
    run: async (bench) => successForm(await bench.post(bench.messages.make())),
  },
  {
    ...{ id: "prompt", title: "answers within ten seconds", sends: "valid" },
    requirements: "TS16-14 TS16-15 WDS-218",
    run: async (bench) => {
      const { durationMs } = await bench.post(bench.messages.make());
      return durationMs <= promptMs
        ? passed(`${durationMs} ms`)
        : failed(`${durationMs} ms`, "Store the message, answer 202, and do the work afterwards.");
    },
  },
  {
    ...{ id: "raw-bytes", title: "verifies the raw bytes, whatever the JSON looks like", sends: "valid" },
    requirements: "TS16-61",
    run: async (bench) => {
      const text = `{\n "type" : "${bench.receiver.eventType}",\t"timestamp":"2026-01-01T00:00:00.000Z",\n "data":{"z":1,"a":"\\u00fc"} }`;
      const raw = { contentType: "application/json", body: Buffer.from(text) };
      const answer = await bench.post(bench.messages.make({ raw }));
      return isAccepted(answer)
        ? passed(describe(answer))
        : failed(
            `answered ${describe(answer)}`,
            "Keep the bytes as received; parsing and printing again changes them.",
          );
    },
  },
  {
    ...{ id: "duplicate", title: "accepts a repeat of a message", sends: "valid" },
    requirements: "TS16-86 IDK-19 EDS-7.2-2 C-22",
    run: async (bench) => {
      const eventId = bench.messages.newEventId();
      const first = await bench.post(bench.messages.make({ eventId }));
      const second = await bench.post(bench.messages.make({ eventId }));
      if (!isAccepted(first)) return notApplicable(`the first was answered ${describe(first)}`);
      return isAccepted(second)
        ? passed(`${describe(first)}, then ${describe(second)}`)
        : failed(
            `${describe(first)}, then ${describe(second)}`,
            "Answer a repeat as the first time, without processing it: an error makes the sender try again.",
          );
    },
  },
  {
    ...{ id: "key-reuse", title: "refuses a known key with another body", sends: "valid" },
    requirements: "IDK-3 IDK-22",
    run: async (bench) => {
      const eventId = bench.messages.newEventId();
      const first = await bench.post(bench.messages.make({ eventId, data: { body: 1 } }));
      const second = await bench.post(bench.messages.make({ eventId, data: { body: 2 } }));
      if (!isAccepted(first)) return notApplicable(`the first was answered ${describe(first)}`);
      return second.kind === "answer" && second.status === 422
        ? passed("422")
        : failed(
            `answered ${describe(second)}`,
            "Keep a fingerprint of the body beside the key, and answer 422.",
          );
    },
  },
  {
    ...{ id: "concurrent", title: "lets one of two at once through, and the other wait", sends: "valid" },
    requirements: "IDK-20 IDK-23 C-22",
    run: async (bench) => {
      const eventId = bench.messages.newEventId();
      const message = bench.messages.make({ eventId });
      return concurrentForm(await Promise.all([bench.post(message), bench.post(message)]));
    },
  },
  {
    ...{ id: "missing-key", title: "answers 400 when it requires a missing Idempotency-Key", sends: "valid" },
    requirements: "IDK-21 IDK-24",
    run: async (bench) => {
      const { headers, body } = bench.messages.make();
      const isSigned = headerOf(headers, "Signature-Input")?.includes("idempotency-key") === true;
      if (isSigned) return notApplicable("the key is part of what the profile signs");
      const answer = await bench.post({ headers: withoutHeader(headers, "Idempotency-Key"), body });
      if (isAccepted(answer)) return notApplicable("the receiver does not require it");
      return answer.kind === "answer" && answer.status === 400
        ? passed("400")
        : failed(`answered ${describe(answer)}`, "400 with a link to your rules for the key.");
    },
  },
  {
    ...{ id: "media-type", title: "answers 415 to a media type it does not know", sends: "valid" },
    requirements: "CEW-2.2-11 C-25",
    run: async (bench) => {
      const raw = { contentType: "application/vnd.posthorn-check", body: Buffer.from("posthorn check") };
      const answer = await bench.post(bench.messages.make({ raw }));
      if (isAccepted(answer)) return notApplicable("the receiver takes any media type");
      return answer.kind === "answer" && answer.status === 415
        ? passed("415")
        : failed(`answered ${describe(answer)}`, "415 tells the sender that the format is the problem.");
    },
  },
];

function successForm(answer: ProbeAnswer): Result {
  if (answer.kind === "failure" || !isAccepted(answer)) return notApplicable(`answered ${describe(answer)}`);
  const { status, body, headers } = answer;
  const hint =
    "200 or 201 with a body and its Content-Type, 204 without a body, or 202 when it is processed later.";
  if (![200, 201, 202, 204].includes(status)) return failed(`${status}`, hint);
  if (status === 200 && body === "") return failed("200 without a body", hint);
  if (status === 200 && headers["content-type"] === undefined)
    return failed("200 without Content-Type", hint);
  return passed(`${status}`);
}

function concurrentForm(answers: readonly [ProbeAnswer, ProbeAnswer]): Result {
  const texts = answers.map(describe).join(" and ");
  if (!answers.some(isAccepted)) return failed(texts, "One of the two has to go through.");
  const other = answers.find((answer) => !isAccepted(answer));
  if (other === undefined) return passed(`${texts}: the first was done, or its answer repeated`);
  if (other.kind !== "answer" || other.status !== 409)
    return failed(texts, "Answer 409 while the first is being processed.");
  return other.headers["retry-after"] === undefined
    ? failed(texts, "A 409 that will pass says when to come back: Retry-After.")
    : passed(texts);
}

/** Rules about everything that was answered; run last. */
export const closingChecks: readonly ReceiverCheck[] = [
  {
    ...{ id: "no-redirect", title: "never answers 3xx", sends: "nothing_valid" },
    requirements: "CEW-2.2-2 TS16-97",
    run: async ({ seen }) => {
      const redirect = seen.find(
        (answer) => answer.kind === "answer" && answer.status >= 300 && answer.status < 400,
      );
      return redirect === undefined
        ? passed(`${seen.length} answers`)
        : failed(
            describe(redirect),
            "Senders follow no redirect: give them the final URL, without a trailing-slash redirect.",
          );
    },
  },
  {
    ...{ id: "no-server-error", title: "answers no mistake of a sender with 5xx", sends: "nothing_valid" },
    requirements: "TS16-23 C-25",
    run: async ({ seen }) => {
      const broken = seen.filter((answer) => answer.kind === "answer" && answer.status >= 500);
      return broken.length === 0
        ? passed(`${seen.length} answers`)
        : failed(
            `${broken.length} of ${seen.length} were 5xx`,
            "5xx makes senders try again for days; what they sent wrong is a 4xx.",
          );
    },
  },
  {
    ...{ id: "retry-after", title: "says with every 429 when to come back", sends: "nothing_valid" },
    requirements: "CEW-2.2-9 TS16-22",
    run: async ({ seen }) => {
      const limited = seen.filter((answer) => answer.kind === "answer" && answer.status === 429);
      if (limited.length === 0) return notApplicable("no 429 was seen");
      const bare = limited.filter(
        (answer) => answer.kind === "answer" && answer.headers["retry-after"] === undefined,
      );
      return bare.length === 0
        ? passed(`${limited.length} times`)
        : failed("429 without Retry-After", "A 429 must carry Retry-After.");
    },
  },
  {
    ...{ id: "problem-details", title: "explains errors as problem details", sends: "nothing_valid" },
    requirements: "EDS-9.2.5-1 CEW-2.2-1",
    run: async ({ seen }) => {
      const errors = seen.filter(
        (answer) => answer.kind === "answer" && isRefused(answer) && answer.body !== "",
      );
      if (errors.length === 0) return notApplicable("errors have no body");
      const explained = errors.filter(
        (answer) =>
          answer.kind === "answer" && answer.headers["content-type"]?.startsWith("application/problem+json"),
      );
      return explained.length === errors.length
        ? passed(`${errors.length} errors`)
        : notApplicable(`${explained.length} of ${errors.length} errors; it is optional`);
    },
  },
];
