import type { ClientCertificate, OutboundMethod, OutboundRequest } from "../../ports/transport.ts";

/**
 * Requests to a thread, packed into one string, one list of numbers and one byte array. Structured clone has a cost per
 * object, so cloning a request with its headers would cost more than sending it.
 */
export interface RequestBatch {
  /** Origins, paths, header names and values, one after another. */
  readonly text: string;
  /** For each request `fixedNumbers` numbers, then the lengths of its header strings. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly bodies: Uint8Array<ArrayBuffer>;
  /** Certificates of the requests that have one, in order. */
  readonly certificates: readonly ClientCertificate[];
}

export interface NumberedRequest {
  readonly id: number;
  readonly request: OutboundRequest;
}

const methods: readonly OutboundMethod[] = ["POST", "PUT", "OPTIONS", "GET"];
/** Id, method, timeout, flags, body bytes to keep, length of body, origin and path, count of header strings. */
const fixedNumbers = 9;
const flagHttp2 = 1;
const flagCertificate = 2;
const flagTraced = 4;
const absent = -1;

/** Collects requests, and hands them over together. */
export class RequestBatchWriter {
  #texts: string[] = [];
  #numbers: number[] = [];
  #bodies: Uint8Array[] = [];
  #bodyBytes = 0;
  #certificates: ClientCertificate[] = [];

  add(id: number, request: OutboundRequest): void {
    const { origin, path, headers, body, clientCertificate } = request;
    const numbers = this.#numbers;
    const flags =
      (request.http2 ? flagHttp2 : 0) |
      (clientCertificate === null ? 0 : flagCertificate) |
      (request.traced === true ? flagTraced : 0);
    numbers.push(id, methods.indexOf(request.method), request.timeoutMs, flags);
    numbers.push(request.responseBodyBytesMax ?? absent, body.byteLength, origin.length, path.length);
    numbers.push(headers.length);
    this.#texts.push(origin, path);
    for (const text of headers) {
      numbers.push(text.length);
      this.#texts.push(text);
    }
    this.#bodies.push(body);
    this.#bodyBytes += body.byteLength;
    if (clientCertificate !== null) this.#certificates.push(clientCertificate);
  }

  /** Returns everything collected, and clears it. */
  take(): RequestBatch {
    const batch = {
      text: this.#texts.join(""),
      numbers: new Float64Array(this.#numbers),
      bodies: joined(this.#bodies, this.#bodyBytes),
      certificates: this.#certificates,
    };
    this.#texts = [];
    this.#numbers = [];
    this.#bodies = [];
    this.#bodyBytes = 0;
    this.#certificates = [];
    return batch;
  }
}

/** The requests of a batch, in the order they were added. */
export function readRequests({ text, numbers, bodies, certificates }: RequestBatch): NumberedRequest[] {
  const requests: NumberedRequest[] = [];
  let textAt = 0;
  let bodyAt = 0;
  let certificateAt = 0;
  const nextText = (length: number): string => text.slice(textAt, (textAt += length));
  for (let at = 0; at < numbers.length; ) {
    const number = (offset: number): number => numbers[at + offset] ?? 0;
    const flags = number(3);
    const bodyBytesMax = number(4);
    const origin = nextText(number(6));
    const path = nextText(number(7));
    const headers = Array.from({ length: number(8) }, (_, index) => nextText(number(fixedNumbers + index)));
    const clientCertificate =
      (flags & flagCertificate) === 0 ? null : (certificates[certificateAt++] ?? null);
    const request = {
      method: methods[number(1)] ?? "POST",
      origin,
      path,
      headers,
      body: bodies.subarray(bodyAt, (bodyAt += number(5))),
      timeoutMs: number(2),
      http2: (flags & flagHttp2) !== 0,
      clientCertificate,
      traced: (flags & flagTraced) !== 0,
    };
    requests.push({
      id: number(0),
      request: bodyBytesMax === absent ? request : { ...request, responseBodyBytesMax: bodyBytesMax },
    });
    at += fixedNumbers + headers.length;
  }
  return requests;
}

/** Copies, so that the batch owns bytes that it can transfer. */
export function joined(pieces: readonly Uint8Array[], byteLength: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(byteLength);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.byteLength;
  }
  return all;
}
