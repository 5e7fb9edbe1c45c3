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

/**
 * Stands between a socket and undici's parser, for two things undici does not do.
 *
 * It counts the bytes of each answer and stops at a limit. And it lets `100 Continue` through: RFC 9110 (15.2) wants
 * a client to accept it unasked, undici drops the connection. Turning the status into 102, which undici skips like any
 * other interim response, is one byte changed in place.
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

  /** Call before a request goes out. */
  expectAnswer(listener: WireLimitListener): void {
    this.#listener = listener;
    this.#wireBytes = 0;
    this.#place = "status-line";
    this.#position = 0;
  }

  #pass(chunk: Uint8Array): Uint8Array | null {
    this.#wireBytes += chunk.length;
    if (this.#wireBytes > wireBytesMax) {
      this.#listener?.onWireLimit();
      this.#listener = null;
      return null;
    }
    if (this.#place === "final") return chunk;
    const plainAnswer =
      this.#place === "status-line" &&
      this.#position === 0 &&
      chunk.length > lastDigitAt &&
      chunk[0] === letterH &&
      chunk[firstDigitAt] !== digitOne;
    if (plainAnswer) this.#place = "final";
    else this.#walk(chunk);
    return chunk;
  }

  #walk(chunk: Uint8Array): void {
    for (let index = 0; index < chunk.length && this.#place !== "final"; index++) {
      const byte = chunk[index] ?? 0;
      if (this.#place === "interim-head") this.#walkHead(byte);
      else if (this.#walkStatusLine(byte)) chunk[index] = digitTwo;
    }
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
