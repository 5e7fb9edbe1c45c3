import { createHash } from "node:crypto";
import type { AttemptRecord } from "../delivery.ts";
import type { FailureCategory } from "../outcome.ts";

/**
 * What failures of one webhook have in common. `statusCode` and `errorCode` are null if there was no response or no
 * such code. `answer` is the first line of the response, or the error, without its variable parts. All four are null in
 * the overflow kind.
 */
export interface ProblemKind {
  readonly category: FailureCategory | null;
  readonly statusCode: number | null;
  readonly errorCode: string | null;
  readonly answer: string | null;
}

/** Maximum kinds per webhook; further kinds share the overflow kind. */
export const problemKindsMax = 50;

export const otherKind: ProblemKind = { category: null, statusCode: null, errorCode: null, answer: null };

export function isOtherKind({ category }: ProblemKind): boolean {
  return category === null;
}

/** Null for an accepted attempt. */
export function problemKind(
  attempt: Pick<AttemptRecord, "category" | "statusCode" | "responseSample" | "errorMessage">,
): ProblemKind | null {
  const { category, statusCode, responseSample, errorMessage } = attempt;
  if (category === null) return null;
  const said = statusCode === null ? errorMessage : (responseSample ?? errorMessage);
  const errorCode = statusCode === null ? (systemCode.exec(errorMessage ?? "")?.[0] ?? null) : null;
  return { category, statusCode, errorCode, answer: fingerprint(said ?? "") };
}

/** The first non-empty line, with digits and ids replaced; null if there is none. */
export function fingerprint(text: string): string | null {
  const line = text
    .slice(0, readMax)
    .split(lineEnds)
    .find((each) => each.trim() !== "");
  if (line === undefined) return null;
  const common = line.replaceAll(words, (word) => (individual.test(word) ? "#" : word));
  return common.replaceAll(blanks, " ").trim().slice(0, answerLengthMax);
}

/** A UUIDv8 derived from webhook and kind. Every process computes the same id, so no lookup is needed. */
export function problemIdOf(
  webhookId: string,
  { category, statusCode, errorCode, answer }: ProblemKind,
): string {
  const name = JSON.stringify([webhookId, category, statusCode, errorCode, answer]);
  const hex = createHash("sha256").update(name).digest("hex");
  const variant = "89ab".charAt(Number.parseInt(hex.charAt(16), 16) & 3);
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return [...groups, hex.slice(20, 32)].join("-");
}

const lineEnds = /[\r\n\u2028\u2029]/;
/** Includes control characters, which terminals would interpret. */
const blanks = /[\s\p{Cc}]+/gu;
/** Matches whole words, so that a long one is examined once. */
const words = /[\p{L}\p{N}_.:@+-]+/gu;
/** A word with a digit is an id, a number or a time; a word with @ is an email address. */
const individual = /[\p{N}@]/u;
/** Error codes of Node and OpenSSL. */
const systemCode = /\b(?:E[A-Z]{3,}|E[A-Z]+_[A-Z_]+|ERR_[A-Z_]+|[A-Z]+_CERT_[A-Z_]+|CERT_[A-Z_]+)\b/;
const readMax = 1_024;
const answerLengthMax = 160;
