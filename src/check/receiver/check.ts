import type { Result, Rule } from "../finding.ts";
import type { ProbeAnswer, ProbeRequest } from "../probe.ts";
import type { ReceiverUnderCheck, SampleMessage, SampleMessages } from "./messages.ts";

/**
 * What a rule sends. `nothing_valid`: a message that a correct receiver never processes. `forged`: an almost valid
 * message, which can only be created with the secret or token. `valid`: a message that a correct receiver may accept,
 * sent only if the caller allows it. `nothing`: no request; the rule examines earlier responses.
 */
export type Sends = "nothing" | "nothing_valid" | "forged" | "valid";

/** One rule for receivers and how to check it. */
export interface ReceiverCheck extends Rule {
  readonly sends: Sends;
  run(bench: Bench): Promise<Result> | Result;
}

/** One response, and the kind of rule that caused it. */
export interface SeenAnswer {
  readonly answer: ProbeAnswer;
  readonly sends: Sends;
}

/** The tools of a check: creates messages, sends them, records every response. */
export interface Bench {
  readonly receiver: ReceiverUnderCheck;
  readonly messages: SampleMessages;
  /** All responses so far, for rules about all of them. */
  readonly seen: readonly SeenAnswer[];
  /** Size limit of the endless body. */
  readonly endlessBytesMax: number;
  post(message: Pick<SampleMessage, "headers" | "body">): Promise<ProbeAnswer>;
  /** `url` defaults to the receiver's URL. */
  send(
    request: Pick<ProbeRequest, "method" | "headers"> & Partial<Pick<ProbeRequest, "body" | "url">>,
  ): Promise<ProbeAnswer>;
}

/** Describes a response for findings, such as `204`, `503 (Retry-After: 5)`, or the failure. */
export function describe(answer: ProbeAnswer): string {
  if (answer.kind === "failure") return answer.message;
  const retryAfter = answer.headers["retry-after"];
  return retryAfter === undefined ? `${answer.status}` : `${answer.status} (Retry-After: ${retryAfter})`;
}

export function isAccepted(answer: ProbeAnswer): boolean {
  return answer.kind === "answer" && answer.status >= 200 && answer.status < 300;
}

/** A client error: the receiver responded and did not accept. */
export function isRefused(answer: ProbeAnswer): boolean {
  return answer.kind === "answer" && answer.status >= 400 && answer.status < 500;
}

/** A server error, a redirect, an invalid response or no response: neither an acceptance nor a refusal. */
export function isBroken(answer: ProbeAnswer): boolean {
  return !isAccepted(answer) && !isRefused(answer);
}

export function hasStatus(answer: ProbeAnswer, status: number): boolean {
  return answer.kind === "answer" && answer.status === status;
}
