import { failed, notApplicable, passed } from "../finding.ts";
import type { ProbeAnswer } from "../probe.ts";
import { isRefused } from "./check.ts";
import type { ReceiverCheck, SeenAnswer } from "./check.ts";

/** Rules about all responses; checked last. */
export const closingChecks: readonly ReceiverCheck[] = [
  {
    id: "prompt",
    title: "responds to messages in time",
    level: "should",
    sends: "nothing",
    requirements: "TS16-14 TS16-15",
    fix: "Store the message, answer 202, and do the work afterwards. The limit is ten seconds; change it with --prompt-ms if your sender has another.",
    run: ({ seen, receiver: { promptMs } }) => {
      const durations = seen.filter(({ sends }) => sends === "valid").map(({ answer }) => answer.durationMs);
      if (durations.length === 0) return notApplicable("no message was sent that takes time to process");
      const slowest = Math.max(...durations);
      return slowest <= promptMs
        ? passed(`slowest: ${slowest} ms`)
        : failed(`slowest: ${slowest} ms, allowed: ${promptMs} ms`);
    },
  },
  {
    id: "no-redirect",
    title: "never answers 3xx",
    level: "must",
    sends: "nothing",
    requirements: "CEW-2.2-2 TS16-97",
    fix: "Senders do not follow redirects: give them the final URL, without a trailing-slash redirect.",
    run: ({ seen }) => {
      const redirect = answersOf(seen).find(({ status }) => status >= 300 && status < 400);
      if (redirect === undefined) return passed(`${seen.length} answers`);
      return failed(`${redirect.status}, Location: ${redirect.headers["location"] ?? "(none)"}`);
    },
  },
  {
    id: "no-server-error",
    title: "does not answer a sender's mistake with 5xx",
    level: "must",
    requirements: "TS16-23",
    sends: "nothing",
    fix: "5xx makes senders retry for days; a mistake of the sender is a 4xx.",
    run: ({ seen }) => {
      const mistakes = answersOf(seen.filter(({ sends }) => sends !== "valid"));
      const broken = mistakes.filter(({ status }) => status >= 500);
      return broken.length === 0
        ? passed(`${mistakes.length} answers`)
        : failed(`${broken.length} of ${mistakes.length} were 5xx`);
    },
  },
  {
    id: "retry-after",
    title: "says when to retry with every 429",
    level: "must",
    sends: "nothing",
    requirements: "CEW-2.2-9 TS16-22",
    fix: "A 429 must carry Retry-After, in whole seconds.",
    run: ({ seen }) => {
      const limited = answersOf(seen).filter(({ status }) => status === 429);
      if (limited.length === 0) return notApplicable("no 429 was seen");
      const vague = limited.find(({ headers }) => !isRetryAfter(headers["retry-after"]));
      if (vague === undefined) return passed(`${limited.length} times`);
      return failed(`429, Retry-After: ${vague.headers["retry-after"] ?? "(none)"}`);
    },
  },
  {
    id: "problem-details",
    title: "explains errors as problem details",
    level: "should",
    sends: "nothing",
    requirements: "EDS-9.2.5-1 CEW-2.2-1",
    fix: "Optional: a body of type application/problem+json (RFC 9457).",
    run: ({ seen }) => {
      const errors = answersOf(seen).filter((answer) => isRefused(answer) && answer.body !== "");
      if (errors.length === 0) return notApplicable("errors have no body");
      const explained = errors.filter(({ headers }) =>
        headers["content-type"]?.startsWith("application/problem+json"),
      );
      return explained.length === errors.length
        ? passed(`${errors.length} errors`)
        : notApplicable(`${explained.length} of ${errors.length} errors; it is optional`);
    },
  },
];

type Answered = ProbeAnswer & { readonly kind: "answer" };

function answersOf(seen: readonly SeenAnswer[]): readonly Answered[] {
  return seen.flatMap(({ answer }) => (answer.kind === "answer" ? [answer] : []));
}

function isRetryAfter(value: string | undefined): boolean {
  return value !== undefined && (/^\d+$/.test(value.trim()) || !Number.isNaN(Date.parse(value)));
}
