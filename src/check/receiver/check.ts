import type { Result, Rule } from "../finding.ts";
import type { ProbeAnswer, ProbeBody } from "../probe.ts";
import type { ReceiverUnderCheck, SampleMessage, SampleMessages } from "./messages.ts";

/**
 * What a rule sends: `nothing_valid` can be processed by no correct receiver; `forged` needs the secret or token to make
 * something almost right; `valid` is a message that a correct receiver may accept, and is sent only when the caller
 * allows it; `nothing` looks at what was answered before.
 */
export type Sends = "nothing" | "nothing_valid" | "forged" | "valid";

/** One rule for receivers and how to try it. */
export interface ReceiverCheck extends Rule {
  readonly sends: Sends;
  run(bench: Bench): Promise<Result> | Result;
}

/** One answer, and what kind of rule asked for it. */
export interface SeenAnswer {
  readonly answer: ProbeAnswer;
  readonly sends: Sends;
}

/** What a check works with: makes messages, sends them, remembers every answer. */
export interface Bench {
  readonly receiver: ReceiverUnderCheck;
  readonly messages: SampleMessages;
  /** Every answer so far, for rules about all of them. */
  readonly seen: readonly SeenAnswer[];
  /** Of the body that does not end. */
  readonly endlessBytesMax: number;
  post(message: Pick<SampleMessage, "headers" | "body">): Promise<ProbeAnswer>;
  send(request: {
    readonly method: string;
    readonly headers: readonly string[];
    readonly body?: ProbeBody;
    /** Instead of the receiver's URL. */
    readonly url?: URL;
  }): Promise<ProbeAnswer>;
}

/** `204`, `503 (Retry-After: 5)` or what went wrong. */
export function describe(answer: ProbeAnswer): string {
  if (answer.kind === "failure") return answer.message;
  const retryAfter = answer.headers["retry-after"];
  return retryAfter === undefined ? `${answer.status}` : `${answer.status} (Retry-After: ${retryAfter})`;
}

export function isAccepted(answer: ProbeAnswer): boolean {
  return answer.kind === "answer" && answer.status >= 200 && answer.status < 300;
}

/** A client error: the receiver answered, and it did not accept. */
export function isRefused(answer: ProbeAnswer): boolean {
  return answer.kind === "answer" && answer.status >= 400 && answer.status < 500;
}

/** A server error, a redirect, nonsense, or no answer at all: neither a yes nor a no. */
export function isBroken(answer: ProbeAnswer): boolean {
  return !isAccepted(answer) && !isRefused(answer);
}

export function hasStatus(answer: ProbeAnswer, status: number): boolean {
  return answer.kind === "answer" && answer.status === status;
}
