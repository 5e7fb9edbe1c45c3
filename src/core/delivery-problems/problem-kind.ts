import { createHash } from "node:crypto";
import type { AttemptRecord } from "../delivery.ts";
import type { FailureCategory } from "../outcome.ts";

/**
 * What failures of one webhook have in common. `statusCode` and `errorCode` are null where there was no answer, or no such
 * code; `answer` is the first line of the answer, or the error, without what differs from one to the next. All four are
 * null in the kind that stands for what no room was left for.
 */
export interface ProblemKind {
  readonly category: FailureCategory | null;
  readonly statusCode: number | null;
  readonly errorCode: string | null;
  readonly answer: string | null;
}

/** Beyond so many kinds of a webhook all others are one. */
export const problemKindsMax = 50;

export const otherKind: ProblemKind = { category: null, statusCode: null, errorCode: null, answer: null };

export function isOtherKind({ category }: ProblemKind): boolean {
  return category === null;
}

/** Null for an attempt that was accepted. */
export function problemKind(
  attempt: Pick<AttemptRecord, "category" | "statusCode" | "responseSample" | "errorMessage">,
): ProblemKind | null {
  const { category, statusCode, responseSample, errorMessage } = attempt;
  if (category === null) return null;
  const said = statusCode === null ? errorMessage : (responseSample ?? errorMessage);
  const errorCode = statusCode === null ? (systemCode.exec(errorMessage ?? "")?.[0] ?? null) : null;
  return { category, statusCode, errorCode, answer: fingerprint(said ?? "") };
}

/** The first line that says something, with digits and ids replaced; null when there is none. */
export function fingerprint(text: string): string | null {
  const line = text
    .slice(0, readMax)
    .split(lineEnds)
    .find((each) => each.trim() !== "");
  if (line === undefined) return null;
  const common = line.replaceAll(words, (word) => (individual.test(word) ? "#" : word));
  return common.replaceAll(blanks, " ").trim().slice(0, answerLengthMax);
}

/** The same for the same kind of the same webhook in every process, so that nothing has to be looked up: a UUIDv8. */
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
/** Control characters too, which terminals obey. */
const blanks = /[\s\p{Cc}]+/gu;
/** Taken whole, so that a long one is looked at once. */
const words = /[\p{L}\p{N}_.:@+-]+/gu;
/** A word with a digit is an id, a number or a time; one with @ is somebody's address. */
const individual = /[\p{N}@]/u;
/** Of Node and of OpenSSL. */
const systemCode = /\b(?:E[A-Z]{3,}|E[A-Z]+_[A-Z_]+|ERR_[A-Z_]+|[A-Z]+_CERT_[A-Z_]+|CERT_[A-Z_]+)\b/;
const readMax = 1_024;
const answerLengthMax = 160;
