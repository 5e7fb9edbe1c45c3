import type { Result } from "../finding.ts";
import type { ProbeAnswer } from "../probe.ts";
import type { ReceiverUnderCheck, SampleMessage, SampleMessages } from "./messages.ts";

/** One rule for receivers and how to try it. */
export interface ReceiverCheck {
  readonly id: string;
  readonly title: string;
  readonly requirements: string;
  /**
   * What it sends: `nothing_valid` can be processed by no correct receiver; `valid` is a message that a correct receiver
   * accepts, and is sent only when the caller allows it; `forged` needs the secret to make something almost right.
   */
  readonly sends: "nothing_valid" | "forged" | "valid";
  run(bench: Bench): Promise<Result>;
}

/** What a check works with: makes messages, sends them, remembers every answer. */
export interface Bench {
  readonly receiver: ReceiverUnderCheck;
  readonly messages: SampleMessages;
  /** Every answer so far, for rules about all of them. */
  readonly seen: readonly ProbeAnswer[];
  post(message: Pick<SampleMessage, "headers" | "body">): Promise<ProbeAnswer>;
  send(request: {
    readonly method: string;
    readonly headers: readonly string[];
    readonly body?: Uint8Array;
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

/** The headers without one of them, whatever its letter case. */
export function withoutHeader(headers: readonly string[], name: string): readonly string[] {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === name.toLowerCase()) continue;
    kept.push(headers[index] as string, headers[index + 1] as string);
  }
  return kept;
}

/** The headers with one of them replaced; appended when it was not there. */
export function withHeader(
  headers: readonly string[],
  header: { readonly name: string; readonly value: string },
): readonly string[] {
  return [...withoutHeader(headers, header.name), header.name, header.value];
}

export function headerOf(headers: readonly string[], name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === name.toLowerCase()) return headers[index + 1];
  }
  return undefined;
}
