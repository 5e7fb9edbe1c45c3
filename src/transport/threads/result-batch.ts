import type { AttemptObservation, TransportFailureCategory } from "../../domain/classify.ts";
import {
  noResponseFields,
  type ResponseFields,
  type Shortage,
  type TransportResult,
  type WireTrace,
} from "../../ports/transport.ts";
import { joined } from "./request-batch.ts";

/** Results from a thread; see `RequestBatch`. */
export interface ResultBatch {
  /** `Retry-After`, then the error message, of each result that has them. */
  readonly text: string;
  /** `fixedNumbers` numbers for each result. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly samples: Uint8Array<ArrayBuffer>;
  /** Response fields of the results that have any, in order. Ordinary responses have none. */
  readonly fields: readonly ResponseFields[];
  /** Traces of the results that have one, in order. */
  readonly traces: readonly WireTrace[];
}

export interface NumberedResult {
  readonly id: number;
  readonly result: TransportResult;
}

/** Id, flags, status or category, duration, length of sample, of Retry-After and of the message, shortage. */
const fixedNumbers = 8;
const flagResponse = 1;
/** `complete` of a response, `requestSent` of a failure. */
const flagYes = 2;
const flagFields = 4;
const flagTrace = 8;
const flagMalformed = 16;
const absent = -1;

const categories: readonly TransportFailureCategory[] = ["timeout", "network", "dns", "ssl", "protocol"];
const shortages: readonly Shortage[] = ["descriptors", "ports", "buffers", "threads"];

/** Collects results, and hands them over together. */
export class ResultBatchWriter {
  #texts: string[] = [];
  #numbers: number[] = [];
  #samples: Uint8Array[] = [];
  #sampleBytes = 0;
  #fields: ResponseFields[] = [];
  #traces: WireTrace[] = [];

  add(id: number, result: TransportResult): void {
    const { observation, responseSample, fields, errorMessage, durationMs, shortage, trace } = result;
    const isResponse = observation.kind === "response";
    const yes = isResponse ? observation.complete : observation.requestSent;
    const hasFields = fields !== noResponseFields;
    let flags = isResponse ? flagResponse : 0;
    if (yes) flags |= flagYes;
    if (hasFields) flags |= flagFields;
    flags |= rareFlags(result);
    const what = isResponse ? observation.status : categories.indexOf(observation.category);
    const retryAfter = isResponse ? observation.retryAfter : undefined;
    this.#numbers.push(id, flags, what, durationMs, responseSample?.byteLength ?? absent);
    this.#numbers.push(retryAfter?.length ?? absent, errorMessage?.length ?? absent);
    this.#numbers.push(shortage === undefined ? absent : shortages.indexOf(shortage));
    if (retryAfter !== undefined) this.#texts.push(retryAfter);
    if (errorMessage !== null) this.#texts.push(errorMessage);
    if (hasFields) this.#fields.push(fields);
    if (trace !== undefined) this.#traces.push(trace);
    if (responseSample === null) return;
    this.#samples.push(responseSample);
    this.#sampleBytes += responseSample.byteLength;
  }

  /** Returns everything collected, and clears it. */
  take(): ResultBatch {
    const batch = {
      text: this.#texts.join(""),
      numbers: new Float64Array(this.#numbers),
      samples: joined(this.#samples, this.#sampleBytes),
      fields: this.#fields,
      traces: this.#traces,
    };
    this.#texts = [];
    this.#numbers = [];
    this.#samples = [];
    this.#sampleBytes = 0;
    this.#fields = [];
    this.#traces = [];
    return batch;
  }
}

/** The results of a batch, in the order they were added. */
export function readResults({ text, numbers, samples, fields, traces }: ResultBatch): NumberedResult[] {
  const results: NumberedResult[] = [];
  let textAt = 0;
  let sampleAt = 0;
  let fieldsAt = 0;
  let tracesAt = 0;
  const nextText = (length: number): string => text.slice(textAt, (textAt += length));
  for (let at = 0; at < numbers.length; at += fixedNumbers) {
    const number = (offset: number): number => numbers[at + offset] ?? 0;
    const flags = number(1);
    const sampleBytes = number(4);
    const shortage = shortages[number(7)];
    const observation = observationOf(flags, number(2), number(5) === absent ? null : nextText(number(5)));
    const errorMessage = number(6) === absent ? null : nextText(number(6));
    const result: TransportResult = {
      observation,
      responseSample: sampleBytes === absent ? null : samples.subarray(sampleAt, (sampleAt += sampleBytes)),
      fields: (flags & flagFields) === 0 ? noResponseFields : (fields[fieldsAt++] ?? noResponseFields),
      errorMessage,
      durationMs: number(3),
    };
    const trace = (flags & flagTrace) === 0 ? undefined : traces[tracesAt++];
    const malformed = (flags & flagMalformed) !== 0;
    const isPlain = shortage === undefined && trace === undefined && !malformed;
    results.push({
      id: number(0),
      result: isPlain ? result : withRest(result, shortage, malformed, trace),
    });
  }
  return results;
}

function rareFlags({ trace, malformed }: TransportResult): number {
  return (trace === undefined ? 0 : flagTrace) | (malformed === true ? flagMalformed : 0);
}

function withRest(
  result: TransportResult,
  shortage: Shortage | undefined,
  malformed: boolean,
  trace: WireTrace | undefined,
): TransportResult {
  return {
    ...result,
    ...(shortage !== undefined && { shortage }),
    ...(malformed && { malformed }),
    ...(trace !== undefined && { trace }),
  };
}

function observationOf(flags: number, what: number, retryAfter: string | null): AttemptObservation {
  const yes = (flags & flagYes) !== 0;
  if ((flags & flagResponse) === 0)
    return { kind: "failure", category: categories[what] ?? "network", requestSent: yes };
  const response = { kind: "response", status: what, complete: yes } as const;
  return retryAfter === null ? response : { ...response, retryAfter };
}
