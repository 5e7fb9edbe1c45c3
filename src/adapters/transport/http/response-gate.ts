import type { Socket } from "node:net";

/**
 * Bytes of one answer on the wire, framing included: head, body, and whatever a receiver hides in chunk extensions,
 * reason phrases or trailers, which the limits on header and body size do not see.
 */
export const wireBytesMax = 128 * 1024;

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const digitZero = 0x30;
const digitOne = 0x31;
const digitTwo = 0x32;
const letterH = 0x48;
/** `HTTP/1.1 100`: where the three digits are. */
const firstDigitAt = 9;
const lastDigitAt = 11;

export interface WireLimitListener {
  /** The answer is too large. Called at most once per request. */
  onWireLimit(): void;
}

type Place = "status-line" | "interim-head" | "final";

/** Of a field name that may be `Content-Length`, in the usual spellings. */
const lengthMark = "ength:";
const headEnd = "\r\n\r\n";
/** As long as `Content-Length`. */
const otherName = "X-Equal-Length";

/**
 * Stands between a socket and undici's parser, for three things undici does not do.
 *
 * It counts the bytes of each answer and stops at a limit. And it lets `100 Continue` through: RFC 9110 (15.2) wants
 * a client to accept it unasked, undici drops the connection. Turning the status into 102, which undici skips like any
 * other interim response, is one byte changed in place. And it makes one `Content-Length` of several equal ones (RFC 9110 8.6),
 * which undici takes for a broken answer, so that an event that was accepted would be sent again.
 */
export class ResponseGate {
  /** What the socket said first when it failed; null while it works, and when the peer ends it in good order. */
  socketError: Error | null = null;
  #listener: WireLimitListener | null = null;
  #wireBytes = 0;
  #place: Place = "final";
  #position = 0;
  #firstDigit = 0;
  #secondDigit = 0;
  #lineFeeds = 0;
  /** The head of the final answer is not complete. */
  #isHeadOpen = false;
  /** The first one of the head. */
  #contentLength: string | null = null;
  /** Its last bytes so far. */
  #headTail = "";

  install(socket: Socket): void {
    this.socketError = null;
    const read = socket.read.bind(socket);
    socket.on("error", (error) => {
      this.socketError ??= error;
    });
    socket.read = (size?: number): unknown => {
      const chunk: unknown = read(size);
      return chunk instanceof Uint8Array ? this.#pass(chunk) : chunk;
    };
  }

  /** Nothing has come of the answer. */
  get isSilent(): boolean {
    return this.#wireBytes === 0;
  }

  /** Call before a request goes out. */
  expectAnswer(listener: WireLimitListener): void {
    this.#listener = listener;
    this.#wireBytes = 0;
    this.#place = "status-line";
    this.#position = 0;
    this.#isHeadOpen = true;
    this.#contentLength = null;
    this.#headTail = "";
  }

  #pass(chunk: Uint8Array): Uint8Array | null {
    this.#wireBytes += chunk.length;
    if (this.#wireBytes > wireBytesMax) {
      this.#listener?.onWireLimit();
      this.#listener = null;
      return null;
    }
    if (this.#place === "final") {
      if (this.#isHeadOpen) this.#joinLengths(chunk, 0);
      return chunk;
    }
    const plainAnswer =
      this.#place === "status-line" &&
      this.#position === 0 &&
      chunk.length > lastDigitAt &&
      chunk[0] === letterH &&
      chunk[firstDigitAt] !== digitOne;
    let headAt = 0;
    if (plainAnswer) this.#place = "final";
    else headAt = this.#walk(chunk);
    if (this.#place === "final") this.#joinLengths(chunk, headAt);
    return chunk;
  }

  /** Renames each further `Content-Length` with the value of the first one; a line that is split is left alone. */
  #joinLengths(bytes: Uint8Array, from: number): void {
    const chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const seam = this.#headTail + chunk.toString("latin1", from, from + 3);
    const end = chunk.indexOf(headEnd, from);
    this.#isHeadOpen = end < 0 && !seam.includes(headEnd);
    // The head ended with the first bytes.
    if (seam.includes(headEnd)) return;
    this.#headTail = (this.#headTail + chunk.toString("latin1", Math.max(from, chunk.length - 3))).slice(-3);
    const head = chunk.subarray(from, end < 0 ? chunk.length : end + 2);
    for (let at = head.indexOf(lengthMark); at >= 0; at = head.indexOf(lengthMark, at + 1))
      this.#joinLength(head, at);
  }

  #joinLength(head: Buffer, markAt: number): void {
    const nameAt = markAt + lengthMark.length - 1 - otherName.length;
    const lineEnd = head.indexOf("\r\n", markAt);
    if (nameAt < 0 || lineEnd < 0 || (nameAt > 0 && head[nameAt - 1] !== lineFeed)) return;
    const [name, value = ""] = head.toString("latin1", nameAt, lineEnd).split(":", 2);
    const [length = "", ...others] = value.split(",").map((one) => one.trim());
    const isEqual = others.every((one) => one === length) && /^[0-9]+$/.test(length);
    if (name?.toLowerCase() !== "content-length" || !isEqual) return;
    if (this.#contentLength === length) head.write(otherName, nameAt, "latin1");
    this.#contentLength ??= length;
    if (others.length > 0) head.write(length.padStart(value.length), markAt + lengthMark.length, "latin1");
  }

  /** Returns where it stopped. */
  #walk(chunk: Uint8Array): number {
    let index = 0;
    for (; index < chunk.length && this.#place !== "final"; index++) {
      const byte = chunk[index] ?? 0;
      if (this.#place === "interim-head") this.#walkHead(byte);
      else if (this.#walkStatusLine(byte)) chunk[index] = digitTwo;
    }
    return index;
  }

  /** True at the last digit of `100`. */
  #walkStatusLine(byte: number): boolean {
    if (this.#position === 0 && (byte === carriageReturn || byte === lineFeed)) return false;
    const position = this.#position++;
    if (position === firstDigitAt) {
      this.#firstDigit = byte;
      if (byte !== digitOne) this.#place = "final";
    } else if (position === firstDigitAt + 1) {
      this.#secondDigit = byte;
    } else if (position === lastDigitAt) {
      this.#place = "interim-head";
      this.#lineFeeds = 0;
      return this.#firstDigit === digitOne && this.#secondDigit === digitZero && byte === digitZero;
    }
    return false;
  }

  #walkHead(byte: number): void {
    if (byte === lineFeed) this.#lineFeeds++;
    else if (byte !== carriageReturn) this.#lineFeeds = 0;
    if (this.#lineFeeds < 2) return;
    this.#place = "status-line";
    this.#position = 0;
  }
}
