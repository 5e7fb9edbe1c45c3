import { failed, passed, skipped } from "../finding.ts";
import type { Result } from "../finding.ts";
import { headerText } from "./record.ts";
import type { RecordedEvent, RecordedRequest } from "./record.ts";
import type { SenderRule, SenderSession } from "./rule.ts";

/** Rules about what a sender does after it was refused once. */
export const retryRules: readonly SenderRule[] = [
  {
    ...{ id: "retries", title: "sends again after 503", requirements: "EDS-9.2.2-7 TS16-90 WDS-130" },
    judge: (session) => retried(session, ({ requests }) => passed(`${requests.length} requests`)),
  },
  {
    ...{
      id: "retry-after",
      title: "waits as long as Retry-After asks",
      requirements: "EDS-9.5-2 EDS-9.6-6 TS16-110",
    },
    judge: (session) =>
      retried(session, ({ first, second }) => {
        const gapMs = Math.round(second.arrivedAtMs - first.arrivedAtMs);
        const askedMs = (first.retryAfterSeconds ?? 0) * 1000;
        return gapMs >= askedMs
          ? passed(`${gapMs} ms after 503 with Retry-After: ${first.retryAfterSeconds}`)
          : failed(`came again after ${gapMs} ms`, "Retry-After is the least to wait.");
      }),
  },
  {
    ...{ id: "same-bytes", title: "sends the same bytes again", requirements: "TS16-35 EDS-7.1-1" },
    judge: (session) =>
      retried(session, ({ first, second }) =>
        second.body.equals(first.body)
          ? passed(`${first.body.length} bytes`)
          : failed("the body changed between two attempts", "Render the body once and keep it."),
      ),
  },
  {
    ...{ id: "fresh-timestamp", title: "takes the time and signs anew", requirements: "TS16-34" },
    judge: (session) =>
      retried(session, ({ first, second }) => {
        const names = ["webhook-timestamp", "x-webhook-signature", "signature-input"];
        const name = names.find((candidate) => headerText(first.headers, candidate) !== null);
        if (name === undefined) return skipped("no signed time was seen", "Sign the time of sending.");
        return headerText(first.headers, name) !== headerText(second.headers, name)
          ? passed(name)
          : failed(
              `${name} is that of the first attempt`,
              "A message signed long ago is refused by a correct receiver.",
            );
      }),
  },
  {
    ...{ id: "redirect", title: "follows no redirect", requirements: "TS16-97 CEW-2.2-3 C-9" },
    judge: ({ followed, events }) => {
      if (followed.length > 0)
        return failed("asked for the target of a 307", "A redirect is an answer, not an address.");
      return events.length > 1 ? passed("307 was not followed") : secondEventMissing;
    },
  },
  {
    ...{
      id: "distinct-keys",
      title: "gives every event a key of its own",
      requirements: "EDS-7.2-6 EDS-7.2-8 IDK-3",
    },
    judge: ({ events }) => {
      if (events.length < 2) return secondEventMissing;
      const reused = events.find(({ requests }) =>
        requests.some(({ body }) => !body.equals(requests[0]?.body as Buffer)),
      );
      return reused === undefined
        ? passed(`${events.length} events`)
        : failed("one key came with two bodies", "A key stands for one event.");
    },
  },
];

const secondEventMissing: Result = skipped(
  "only one event came",
  "Publish a second event while the check runs.",
);

/** The first event, which was answered 503, once it came again. */
function retried(
  { events }: SenderSession,
  judge: (
    attempts: { readonly first: RecordedRequest; readonly second: RecordedRequest } & RecordedEvent,
  ) => Result,
): Result {
  const [event] = events;
  const [first, second] = event?.requests ?? [];
  if (event === undefined || first === undefined)
    return failed("no event could be told from another", "Name each event in Idempotency-Key or Webhook-ID.");
  if (second === undefined)
    return failed(
      "the event did not come again",
      "Retry after 503; or let the check run longer: --duration-seconds.",
    );
  return judge({ ...event, first, second });
}
