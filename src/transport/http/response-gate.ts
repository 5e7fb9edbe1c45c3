import type { Socket } from "node:net";

/**
 * Maximum number of bytes of one response on the wire, including framing: head, body, and anything hidden in chunk
 * extensions, reason phrases or trailers, which the limits on header and body size do not cover.
 */
export const wireBytesMax = 128 * 1024;

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const digitZero = 0x30;
const digitOne = 0x31;
const digitTwo = 0x32;
const letterH = 0x48;
/** Position of the three digits in `HTTP/1.1 100`. */
const firstDigitAt = 9;
const lastDigitAt = 11;

export interface WireLimitListener {
  /** Called when the response is too large, at most once per request. */
  onWireLimit(): void;
}

type Place = "status-line" | "interim-head" | "final";

/** `Content-Length`, of which "C" is the first byte. The colon is the one that follows the name. */
const lengthName = "content-length";
const letterC = 0x63;
const colon = 0x3a;
const comma = 0x2c;
const lowerCase = 0x20;
/** As long as `Content-Length`. */
const otherName = "X-Equal-Length";

/**
 * Sits between a socket and undici's parser, for three things that undici does not do.
 *
 * - It counts the bytes of each response and stops at a limit.
 * - It lets `100 Continue` through: RFC 9110 (15.2) requires a client to accept it unasked, but undici drops the
 *   connection. One byte is changed in place to turn the status into 102, which undici skips like any other interim
 *   response.
 * - It turns several equal `Content-Length` fields into one (RFC 9110 8.6). undici would treat them as a broken response,
 *   so an accepted event would be sent again.
 */
export class ResponseGate {
  /** The first error of the socket; null while it works, and after an orderly end by the peer. */
  socketError: Error | null = null;
  #listener: WireLimitListener | null = null;
  #wireBytes = 0;
  #place: Place = "final";
  #position = 0;
  #firstDigit = 0;
  #secondDigit = 0;
  #lineFeeds = 0;
  /** Whether the head of the final response is not complete yet. */
  #isHeadOpen = false;
  /** Location of the first `Content-Length` of the head; null until one is found. */
  #lengthLine: Uint8Array | null = null;
  #lengthAt = 0;

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

  /** Whether no part of the response has arrived. */
  get isSilent(): boolean {
    return this.#wireBytes === 0;
  }

  /** Call before a request is sent. */
  expectAnswer(listener: WireLimitListener): void {
    this.#listener = listener;
    this.#wireBytes = 0;
    this.#place = "status-line";
    this.#position = 0;
    this.#isHeadOpen = true;
    this.#lengthLine = null;
    this.#lineFeeds = 0;
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

  /**
   * Renames each further `Content-Length` with the value of the first one. A line that is split between two chunks is
   * not changed. This runs for every response, so it reads each byte once and creates no string unless a length was
   * found.
   */
  #joinLengths(bytes: Uint8Array, from: number): void {
    for (let index = from; index < bytes.length; index++) {
      const byte = bytes[index] ?? 0;
      if (byte === lineFeed) {
        this.#lineFeeds += 1;
        if (this.#lineFeeds < 2) continue;
        this.#isHeadOpen = false;
        return;
      }
      if (byte === carriageReturn) continue;
      const isLineStart = this.#lineFeeds > 0 || index === from;
      this.#lineFeeds = 0;
      if (isLineStart && (byte | lowerCase) === letterC && bytes[index + lengthName.length] === colon)
        this.#joinLength(bytes, index);
    }
  }

  /** Parses a length only if it is a list or not the first one: nearly all responses have one plain length. */
  #joinLength(bytes: Uint8Array, nameAt: number): void {
    const first = this.#lengthLine;
    if (first === null) {
      this.#lengthLine = bytes;
      this.#lengthAt = nameAt;
      if (!hasList(bytes, nameAt)) return;
    }
    const line = lengthLineAt(bytes, nameAt);
    if (line === null) return;
    const { chunk, valueAt, length, value } = line;
    const before = first === null ? null : lengthLineAt(first, this.#lengthAt);
    if (before === null) {
      this.#lengthLine = bytes;
      this.#lengthAt = nameAt;
    } else if (before.length === length) chunk.write(otherName, nameAt, "latin1");
    if (value.includes(",")) chunk.write(length.padStart(value.length), valueAt, "latin1");
  }

  /** Returns the position at which it stopped. */
  #walk(chunk: Uint8Array): number {
    let index = 0;
    for (; index < chunk.length && this.#place !== "final"; index++) {
      const byte = chunk[index] ?? 0;
      if (this.#place === "interim-head") this.#walkHead(byte);
      else if (this.#walkStatusLine(byte)) chunk[index] = digitTwo;
    }
    return index;
  }

  /** Reads one byte of the status line. Returns true at the last digit of `100`. */
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
    this.#lineFeeds = 0;
  }
}

/** Whether the line that begins at `nameAt` contains a comma. */
function hasList(bytes: Uint8Array, nameAt: number): boolean {
  for (let index = nameAt; index < bytes.length && bytes[index] !== carriageReturn; index++)
    if (bytes[index] === comma) return true;
  return false;
}

/** The line at `nameAt` if it is a `Content-Length` with one number, or with the same number several times. */
function lengthLineAt(bytes: Uint8Array, nameAt: number) {
  const chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const valueAt = nameAt + lengthName.length + 1;
  const lineEnd = chunk.indexOf("\r\n", valueAt);
  if (lineEnd < 0 || chunk.toString("latin1", nameAt, valueAt - 1).toLowerCase() !== lengthName) return null;
  const value = chunk.toString("latin1", valueAt, lineEnd);
  const [length = "", ...others] = value.split(",").map((one) => one.trim());
  if (!/^[0-9]+$/.test(length) || others.some((one) => one !== length)) return null;
  return { chunk, valueAt, length, value };
}
