import { closeSync, openSync } from "node:fs";
import { devNull, networkInterfaces } from "node:os";
import type { TransportFailureCategory } from "../../domain/classify.ts";
import { codeOf, messageOf } from "../../domain/thrown.ts";
import type { Shortage } from "../../ports/transport.ts";

/** A failure detected by this adapter, with its reporting category. */
export class TransportFault extends Error {
  readonly category: TransportFailureCategory;
  /** The resource that this machine lacked; null if a shortage is not the cause. */
  readonly shortage: Shortage | null;

  constructor(category: TransportFailureCategory, message: string, shortage: Shortage | null = null) {
    super(message);
    this.name = "TransportFault";
    this.category = category;
    this.shortage = shortage;
  }
}

/** The request has a form that HTTP cannot represent. */
export class MalformedRequestFault extends TransportFault {
  constructor(problem: string) {
    super("protocol", sentence(`request cannot be sent: ${problem}`));
  }
}

/** The reason why this side could not send a request; null if the receiver or the network is at fault. */
export function ownFaultOf(fault: TransportFault): Shortage | "malformed" | null {
  return fault instanceof MalformedRequestFault ? "malformed" : fault.shortage;
}

const messageLengthMax = 300;

/**
 * One printable sentence. Receivers choose parts of it (certificate names, TLS alerts), so it is bounded and sanitized.
 */
export function sentence(text: string): string {
  return text
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .trim()
    .slice(0, messageLengthMax);
}

/** `ECONNRESET` and similar codes. Certificate codes and Node's own contain underscores, EPROTO comes from OpenSSL. */
function isSystemCode(code: string): boolean {
  return /^E[A-Z0-9]+$/.test(code) && code !== "EPROTO";
}

/**
 * Classifies the end of an exchange before its header block was complete.
 *
 * A connection that closes without a response, or in the middle of the status line, is `network` (EDS-9.3-1): the
 * received part may have been HTTP. `protocol` is for bytes that cannot be a valid response, however they continue.
 */
export function faultOf(error: unknown): TransportFault {
  if (error instanceof TransportFault) return error;
  const code = codeOf(error) ?? "";
  const text = messageOf(error);
  if (code.startsWith("ERR_SSL_") || code === "EPROTO") return new TransportFault("ssl", tlsSentence(error));
  if (breaksHttp(error)) return new TransportFault("protocol", sentence(text));
  if (malformedCodes.has(code)) return new MalformedRequestFault(text);
  if (code === "UND_ERR_SOCKET") {
    return new TransportFault("network", "connection closed before a complete response");
  }
  return new TransportFault("network", sentence(text));
}

/** Errors that undici and Node throw before they send any part of a request. */
const malformedCodes: ReadonlySet<string> = new Set([
  "UND_ERR_INVALID_ARG",
  "UND_ERR_NOT_SUPPORTED",
  "ERR_HTTP2_INVALID_CONNECTION_HEADERS",
  "ERR_HTTP2_INVALID_HEADER_VALUE",
  "ERR_HTTP2_HEADER_SINGLE_VALUE",
  "ERR_INVALID_CHAR",
  "ERR_INVALID_HTTP_TOKEN",
]);

/** Whether the received bytes cannot be HTTP, as opposed to truncated HTTP. */
export function breaksHttp(error: unknown): boolean {
  const code = codeOf(error) ?? "";
  // The error code is empty in undici 8.12; the message comes from llhttp.
  if (error instanceof Error && error.name === "HTTPParserError") return !error.message.includes("EOF");
  if (code === "UND_ERR_SOCKET") return error instanceof Error && error.message.startsWith("bad ");
  return (
    code === "UND_ERR_HEADERS_OVERFLOW" ||
    // nghttp2: invalid frames, pushed streams.
    code === "ERR_HTTP2_ERROR" ||
    code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH" ||
    code === "ERR_ASSERTION"
  );
}

/** The resource that the machine lacked when a system call failed; null for other failures. */
export function shortageOf(error: unknown): Shortage | null {
  const shortage = shortages.get(codeOf(error) ?? "") ?? null;
  if (shortage !== "ports" || !(error instanceof Error) || !("address" in error)) return shortage;
  return hasAddressFor(String(error.address)) ? shortage : null;
}

const shortages: ReadonlyMap<string, Shortage> = new Map([
  ["EMFILE", "descriptors"],
  ["ENFILE", "descriptors"],
  ["EADDRNOTAVAIL", "ports"],
  ["ENOBUFS", "buffers"],
]);

/**
 * EADDRNOTAVAIL also means that the machine has no address of this family, for example without IPv6. In that case no
 * port is missing.
 */
function hasAddressFor(remote: string): boolean {
  const family = remote.includes(":") ? "IPv6" : "IPv4";
  const isLoopback = remote === "::1" || remote.startsWith("127.");
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .some((own) => own.family === family && own.internal === isLoopback && !/^fe[89ab]/i.test(own.address));
}

/** Checks whether a file descriptor is available. Resolvers report a shortage of descriptors as other errors. */
export function descriptorShortage(): Shortage | null {
  try {
    closeSync(openSync(devNull, "r"));
    return null;
  } catch (error) {
    return shortageOf(error);
  }
}

/** Classifies a failed attempt to connect: system errors are `network`, everything else about TLS is `ssl`. */
export function connectFaultOf(error: unknown, protocol: string): TransportFault {
  if (error instanceof TransportFault) return error;
  const shortage = shortageOf(error);
  if (shortage !== null) return new TransportFault("network", sentence(String(error)), shortage);
  if (protocol === "https:" && !isSystemCode(codeOf(error) ?? ""))
    return new TransportFault("ssl", tlsSentence(error));
  return new TransportFault("network", sentence(messageOf(error)));
}

/** OpenSSL messages contain source files and thread ids; `reason` is the readable part. */
function tlsSentence(error: unknown): string {
  if (!(error instanceof Error)) return "TLS failed";
  const reason = "reason" in error && typeof error.reason === "string" ? error.reason : error.message;
  const code = codeOf(error) ?? "";
  return sentence(`TLS: ${reason}${code === "" ? "" : ` (${code})`}`);
}
