import type { LookupFunction } from "node:net";
import {
  failed,
  type Finding,
  findingOf,
  notApplicable,
  NothingToExamine,
  passed,
  type Result,
  skipped,
} from "../finding.ts";
import { probe, type ProbeAnswer } from "../probe.ts";
import { type Bench, hasStatus, isRefused, type ReceiverCheck, type SeenAnswer } from "./check.ts";
import { forgedChecks } from "./forged-checks.ts";
import { type ReceiverUnderCheck, SampleMessages } from "./messages.ts";
import { plainChecks } from "./plain-checks.ts";
import { honestCheck, validChecks } from "./valid-checks.ts";

export interface CheckReceiverOptions {
  readonly receiver: ReceiverUnderCheck;
  /** The receiver may process valid messages, so they are sent only if this is true. */
  readonly allowValid: boolean;
  /** Timeout for each response. */
  readonly timeoutMs: number;
  /** Size limit of the endless body. */
  readonly endlessBytesMax?: number;
  /** Replaces the system's DNS lookup. */
  readonly lookup?: LookupFunction;
  /** Called before each rule is checked. */
  readonly trying: (title: string, done: number, of: number) => void;
  /** Called after each rule has been checked. */
  readonly found: (finding: Finding) => void;
}

/**
 * Checks a receiver: sends messages that it must refuse and, if allowed, messages that it must accept, one after the
 * other. Throws a `RangeError` if the secret does not match the profile, and NothingToExamine if the URL does not
 * respond.
 */
export async function checkReceiver(options: CheckReceiverOptions): Promise<readonly Finding[]> {
  const examination = new Examination(options);
  await examination.knock();
  const findings: Finding[] = [];
  for (const [done, check] of receiverChecks.entries()) {
    options.trying(check.title, done, receiverChecks.length);
    const finding = findingOf(check, await examination.resultOf(check));
    findings.push(finding);
    options.found(finding);
  }
  return findings;
}

class Examination {
  readonly #options: CheckReceiverOptions;
  readonly #messages: SampleMessages;
  readonly #seen: SeenAnswer[] = [];
  #isHonestRefused = false;

  constructor(options: CheckReceiverOptions) {
    this.#options = options;
    this.#messages = new SampleMessages(options.receiver);
  }

  /** Send one request first, so that a wrong URL gives one clear failure instead of one per rule. */
  async knock(): Promise<void> {
    const { receiver, timeoutMs } = this.#options;
    const headers = ["Content-Type", "application/json"];
    const answer = await probe({
      ...this.#lookup,
      method: "POST",
      url: receiver.url,
      headers,
      body: Buffer.from("{}"),
      timeoutMs,
    });
    // Closing the connection may be how this receiver refuses unknown senders.
    if (answer.kind === "answer" || answer.cause === "closed") return;
    throw new NothingToExamine(`no response from ${receiver.url.origin}: ${answer.message}`, [
      adviceFor(answer, receiver.url),
    ]);
  }

  async resultOf(check: ReceiverCheck): Promise<Result> {
    const obstacle = this.#obstacle(check);
    if (obstacle !== null) return obstacle;
    const before = this.#seen.length;
    const result = await check.run(this.#benchFor(check));
    const isLimited = this.#seen.slice(before).some(({ answer }) => hasStatus(answer, 429));
    if (isLimited)
      return skipped(
        "responded with 429, which says nothing about this rule",
        "Raise the rate limit for the check.",
      );
    if (check === honestCheck && result.state === "failed") this.#isHonestRefused = true;
    if (check.sends === "forged" && result.state === "passed" && this.#isHonestRefused)
      return skipped("refused like the valid message, so it proves nothing", mendFirst);
    return result;
  }

  get #lookup(): Pick<CheckReceiverOptions, "lookup"> {
    const { lookup } = this.#options;
    return lookup === undefined ? {} : { lookup };
  }

  #benchFor({ sends }: ReceiverCheck): Bench {
    const { receiver } = this.#options;
    const send: Bench["send"] = async ({ method, headers, body = new Uint8Array(0), url = receiver.url }) => {
      const answer = await probe({
        method,
        url,
        headers,
        body,
        timeoutMs: this.#patienceMs(),
        ...this.#lookup,
      });
      this.#seen.push({ answer, sends });
      return answer;
    };
    const post: Bench["post"] = ({ headers, body }) => send({ method: "POST", headers, body });
    const { endlessBytesMax = endlessBytesMaxDefault } = this.#options;
    return { receiver, messages: this.#messages, seen: this.#seen, endlessBytesMax, send, post };
  }

  /**
   * A receiver that hangs on one rule usually hangs on many, so the timeout is shortened once `hungMax` requests have
   * timed out.
   */
  #patienceMs(): number {
    const { timeoutMs } = this.#options;
    const answers = this.#seen.map(({ answer }) => answer);
    const hung = answers.filter((answer) => answer.kind === "failure" && answer.cause === "timeout");
    if (hung.length < hungMax) return timeoutMs;
    const slowestMs = Math.max(0, ...answers.map((one) => (one.kind === "answer" ? one.durationMs : 0)));
    return Math.min(timeoutMs, Math.max(patienceMsMin, 3 * slowestMs));
  }

  /** Why a rule cannot be checked with the given options; null if it can be checked. */
  #obstacle({ sends }: ReceiverCheck): Result | null {
    if (sends !== "forged" && sends !== "valid") return null;
    const { allowValid, receiver } = this.#options;
    if (!this.#messages.canAuthenticate)
      return skipped("needs the secret of the webhook", "Set --secret or POSTHORN_CHECK_SECRET.");
    if (receiver.profile.registration.bearerTokenRequired && receiver.bearerToken === null)
      return skipped("needs the bearer token", "Set --token or POSTHORN_CHECK_TOKEN.");
    if (sends === "forged") return null;
    if (!allowValid)
      return skipped("sends messages that the receiver may process", "Allow it with --allow-valid.");
    return this.#isHonestRefused ? skipped("the valid message was not accepted", mendFirst) : null;
  }
}

/** Far larger than any webhook, and more than the buffers of two operating systems can hold. */
const endlessBytesMaxDefault = 32 * 1024 * 1024;
const hungMax = 2;
const patienceMsMin = 1_000;

const mendFirst = "Fix the reason why the valid message is refused, and check again.";

function adviceFor(answer: ProbeAnswer & { readonly kind: "failure" }, url: URL): string {
  if (answer.cause === "timeout")
    return "Is the receiver running, and is the port right? To wait longer, use --timeout-ms.";
  if (answer.cause === "no_http") return "Is another kind of server listening there?";
  if (answer.message.includes("ENOTFOUND")) return `There is no such host: ${url.hostname}.`;
  if (/certificate|self-signed|CERT_|altname/i.test(answer.message))
    return "Senders refuse this certificate as well. For your own certificate authority, set NODE_EXTRA_CA_CERTS=ca.pem.";
  if (/wrong version number|EPROTO/i.test(answer.message)) return "Is it http:// and not https://?";
  return "Is the receiver running, and is the port right?";
}

/** Rules about all responses; checked last. */
const closingChecks: readonly ReceiverCheck[] = [
  {
    id: "prompt",
    title: "responds to messages in time",
    level: "should",
    sends: "nothing",
    requirements: "TS16-14 TS16-15",
    fix: "Store the message, answer 202, and do the work afterwards. The limit is ten seconds; change it with --prompt-ms if your sender has a different limit.",
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

/** All rules in the order of the check. */
export const receiverChecks: readonly ReceiverCheck[] = [
  ...plainChecks,
  honestCheck,
  ...forgedChecks,
  ...validChecks,
  ...closingChecks,
];
