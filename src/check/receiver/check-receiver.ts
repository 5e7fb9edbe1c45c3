import type { LookupFunction } from "node:net";
import { findingOf, NothingToExamine, skipped } from "../finding.ts";
import type { Finding, Result } from "../finding.ts";
import { probe } from "../probe.ts";
import type { ProbeAnswer } from "../probe.ts";
import { hasStatus } from "./check.ts";
import type { Bench, ReceiverCheck, SeenAnswer } from "./check.ts";
import { closingChecks } from "./closing-checks.ts";
import { forgedChecks } from "./forged-checks.ts";
import { SampleMessages } from "./messages.ts";
import type { ReceiverUnderCheck } from "./messages.ts";
import { plainChecks } from "./plain-checks.ts";
import { honestCheck, validChecks } from "./valid-checks.ts";

export interface CheckReceiverOptions {
  readonly receiver: ReceiverUnderCheck;
  /** Valid messages may be processed by the receiver, so they are sent only when this says so. */
  readonly allowValid: boolean;
  /** For each answer. */
  readonly timeoutMs: number;
  /** Of the body that does not end. */
  readonly endlessBytesMax?: number;
  /** Instead of the system's. */
  readonly lookup?: LookupFunction;
  /** Called before each rule is tried. */
  readonly trying: (title: string, progress: { readonly done: number; readonly of: number }) => void;
  /** Called after each rule was tried. */
  readonly found: (finding: Finding) => void;
}

/** Every rule, in the order in which they are tried. */
export const receiverChecks: readonly ReceiverCheck[] = [
  ...plainChecks,
  honestCheck,
  ...forgedChecks,
  ...validChecks,
  ...closingChecks,
];

/**
 * Is this receiver correct? Sends it messages that must be refused and, when allowed, messages that must be accepted, one
 * after the other. Throws a `RangeError` when the secret does not fit the profile, and NothingToExamine when nobody
 * answers at the URL.
 */
export async function checkReceiver(options: CheckReceiverOptions): Promise<readonly Finding[]> {
  const examination = new Examination(options);
  await examination.knock();
  const findings: Finding[] = [];
  for (const [done, check] of receiverChecks.entries()) {
    options.trying(check.title, { done, of: receiverChecks.length });
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

  /** One question first, so that a wrong URL is one clear failure and not one for each rule. */
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
    // A closed connection may be this receiver's way to refuse unknown senders.
    if (answer.kind === "answer" || answer.cause === "closed") return;
    throw new NothingToExamine(`nothing answers at ${receiver.url.origin}: ${answer.message}`, [
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
      return skipped("answered 429, which says nothing about this rule", {
        hint: "Raise the rate limit for the check.",
      });
    if (check === honestCheck && result.state === "failed") this.#isHonestRefused = true;
    if (check.sends === "forged" && result.state === "passed" && this.#isHonestRefused)
      return skipped("refused, as the valid message was, so it proves nothing", { hint: mendFirst });
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
        ...{ method, url, headers, body, timeoutMs: this.#patienceMs() },
        ...this.#lookup,
      });
      this.#seen.push({ answer, sends });
      return answer;
    };
    const post: Bench["post"] = ({ headers, body }) => send({ method: "POST", headers, body });
    const { endlessBytesMax = endlessBytesMaxDefault } = this.#options;
    return { receiver, messages: this.#messages, seen: this.#seen, endlessBytesMax, send, post };
  }

  /** A receiver that hangs on one rule hangs on many: the second wait is the last long one. */
  #patienceMs(): number {
    const { timeoutMs } = this.#options;
    const answers = this.#seen.map(({ answer }) => answer);
    const hung = answers.filter((answer) => answer.kind === "failure" && answer.cause === "timeout");
    if (hung.length < hungMax) return timeoutMs;
    const slowestMs = Math.max(0, ...answers.map((one) => (one.kind === "answer" ? one.durationMs : 0)));
    return Math.min(timeoutMs, Math.max(patienceMsMin, 3 * slowestMs));
  }

  /** Why a rule cannot be tried as the command was called. */
  #obstacle({ sends }: ReceiverCheck): Result | null {
    if (sends !== "forged" && sends !== "valid") return null;
    const { allowValid, receiver } = this.#options;
    if (!this.#messages.canAuthenticate)
      return skipped("needs the secret of the webhook", { hint: "Give --secret, or POSTHORN_CHECK_SECRET." });
    if (receiver.profile.registration.bearerTokenRequired && receiver.bearerToken === null)
      return skipped("needs the bearer token", { hint: "Give --token, or POSTHORN_CHECK_TOKEN." });
    if (sends === "forged") return null;
    if (!allowValid)
      return skipped("sends what the receiver may process", { hint: "Allow it with --allow-valid." });
    return this.#isHonestRefused ? skipped("the valid message was not accepted", { hint: mendFirst }) : null;
  }
}

/** Far beyond any webhook, and beyond what the buffers of two operating systems swallow. */
const endlessBytesMaxDefault = 32 * 1024 * 1024;
const hungMax = 2;
const patienceMsMin = 1_000;

const mendFirst = "Mend what keeps the valid message out, and check again.";

function adviceFor(answer: ProbeAnswer & { readonly kind: "failure" }, url: URL): string {
  if (answer.cause === "timeout")
    return "Is the receiver running, and is it the right port? More time: --timeout-ms.";
  if (answer.cause === "no_http") return "Does another kind of server listen there?";
  if (answer.message.includes("ENOTFOUND")) return `There is no such host: ${url.hostname}.`;
  if (/certificate|self-signed|CERT_|altname/i.test(answer.message))
    return "Senders refuse such a certificate as well. For your own authority: NODE_EXTRA_CA_CERTS=ca.pem";
  if (/wrong version number|EPROTO/i.test(answer.message)) return "Is it http:// and not https://?";
  return "Is the receiver running, and is it the right port?";
}
