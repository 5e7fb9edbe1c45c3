import { encodeBase64 } from "../base64.ts";
import {
  type BareItem,
  type InnerList,
  type Item,
  type Parameters,
  type Parsed,
  parseDictionary,
  parseItem,
  parseList,
  serializeDictionary,
  serializeItem,
  serializeList,
  serializeMember,
  serializeParameters,
} from "../http/structured-fields.ts";

/** The type of a structured field, which the field itself does not indicate. */
type StructuredFieldType = "item" | "list" | "dictionary";

/** The parts of a request or response that components need. Omitted parts are unavailable. */
export interface SignedMessage {
  /** In the case in which it was sent, such as `POST`. */
  readonly method?: string;
  /** Absolute, without a fragment: `https://example.com/path?query`. */
  readonly targetUri?: string;
  /** The request target as in the request line. Defaults to the path and query of `targetUri`. */
  readonly requestTarget?: string;
  readonly status?: number;
  /** The values of all lines of a field, by lower-case name; empty if it is absent. */
  readonly fieldLines: (name: string) => readonly string[];
  readonly trailerLines?: (name: string) => readonly string[];
  /** Types of fields, by lower-case name, in addition to the field types built into this module. Needed for `sf`. */
  readonly structuredFields?: Readonly<Record<string, StructuredFieldType>>;
}

// Values of derived components (RFC 9421, section 2.2).

/** The value of a component such as `@method`; null if the message has none or the component is not supported. */
function derivedValue(message: SignedMessage, name: string, parameters: Parameters): string | null {
  if (name === "@query-param") return queryParameter(message, parameters);
  if (parameters.size > 0) return null;
  if (name === "@method") return message.method ?? null;
  if (name === "@status") return message.status === undefined ? null : String(message.status);
  const target = splitTarget(message.targetUri);
  if (name === "@request-target") {
    return message.requestTarget ?? (target === null ? null : `${target.path}${target.query}`);
  }
  return target === null ? null : targetValue(target, name);
}

interface Target {
  readonly uri: string;
  readonly scheme: string;
  readonly authority: string;
  readonly path: string;
  /** Includes the question mark; empty if there is none. */
  readonly query: string;
}

const defaultPorts: Readonly<Record<string, string>> = { http: ":80", https: ":443" };

/** Splits the URI without normalising it: the signature covers the characters that were sent. */
function splitTarget(uri: string | undefined): Target | null {
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?$/i.exec(uri ?? "");
  if (uri === undefined || match === null) return null;
  const scheme = (match[1] ?? "").toLowerCase();
  const path = match[3] === undefined || match[3] === "" ? "/" : match[3];
  const authority = normalAuthority(match[2] ?? "", scheme);
  return { uri, scheme, authority, path, query: match[4] ?? "" };
}

/** In lower case, without the default port of the scheme (RFC 9421, section 2.2.3). */
function normalAuthority(authority: string, scheme: string): string {
  const lower = authority.toLowerCase();
  const port = defaultPorts[scheme];
  return port !== undefined && lower.endsWith(port) ? lower.slice(0, -port.length) : lower;
}

function targetValue(target: Target, name: string): string | null {
  switch (name) {
    case "@target-uri":
      return target.uri;
    case "@authority":
      return target.authority;
    case "@scheme":
      return target.scheme;
    case "@path":
      return target.path;
    case "@query":
      return target.query === "" ? "?" : target.query;
    default:
      return null;
  }
}

/** The only parameter with that name; a repeated name cannot be signed (RFC 9421, section 2.2.8). */
function queryParameter(message: SignedMessage, parameters: Parameters): string | null {
  const name = parameters.get("name");
  const target = splitTarget(message.targetUri);
  if (target === null || name?.kind !== "string" || parameters.size !== 1) return null;
  const values: string[] = [];
  for (const [key, value] of new URLSearchParams(target.query)) {
    if (percentEncoded(key) === name.value) values.push(percentEncoded(value));
  }
  return values.length === 1 ? (values[0] ?? null) : null;
}

/** As `application/x-www-form-urlencoded`, with a space as `%20`. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

// Values of fields in a signature base (RFC 9421, section 2.1).

const knownTypes: Readonly<Record<string, StructuredFieldType>> = {
  "content-digest": "dictionary",
  "repr-digest": "dictionary",
  "signature": "dictionary",
  "signature-input": "dictionary",
  "idempotency-key": "item",
};

/** The value of a field with its component parameters; null if there is none. `name` is in lower case. */
function fieldValue(message: SignedMessage, name: string, parameters: Parameters): string | null {
  if (name !== name.toLowerCase() || !areKnown(parameters)) return null;
  const linesOf = parameters.has("tr") ? message.trailerLines : message.fieldLines;
  const lines = (linesOf?.(name) ?? []).map(canonicalLine);
  if (lines.length === 0) return null;
  if (parameters.has("bs")) {
    return parameters.has("sf") || parameters.has("key") ? null : lines.map(asBytes).join(", ");
  }
  const value = lines.join(", ");
  const key = parameters.get("key");
  if (key !== undefined) return key.kind === "string" ? dictionaryMember(value, key.value) : null;
  if (!parameters.has("sf")) return value;
  return canonicalField(value, message.structuredFields?.[name] ?? knownTypes[name]);
}

/** `sf`, `bs` and `tr` are flags; `key` names a member. */
function areKnown(parameters: Parameters): boolean {
  for (const [name, { value }] of parameters) {
    const isFlag = name === "sf" || name === "bs" || name === "tr";
    if (isFlag ? value !== true : name !== "key") return false;
  }
  return true;
}

/** The value without surrounding white space, and with obsolete line folding undone. */
function canonicalLine(line: string): string {
  return line
    .split(/\r?\n(?=[ \t])/)
    .map(withoutOuterBlanks)
    .join(" ");
}

/** A pattern such as `[ \t]+$` takes quadratic time on runs of blanks. */
function withoutOuterBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function asBytes(line: string): string {
  return `:${encodeBase64(new TextEncoder().encode(line))}:`;
}

function dictionaryMember(value: string, key: string): string | null {
  const parsed = parseDictionary(value);
  const member = parsed.kind === "parsed" ? parsed.value.get(key) : undefined;
  return member === undefined ? null : serializeMember(member);
}

function canonicalField(value: string, type: StructuredFieldType | undefined): string | null {
  switch (type) {
    case "dictionary":
      return reserialized(parseDictionary(value), serializeDictionary);
    case "list":
      return reserialized(parseList(value), serializeList);
    case "item":
      return reserialized(parseItem(value), serializeItem);
    default:
      return null;
  }
}

function reserialized<T>(parsed: Parsed<T>, serialize: (value: T) => string): string | null {
  return parsed.kind === "parsed" ? serialize(parsed.value) : null;
}

// Parses `Signature-Input` and `Signature` of RFC 9421.

/** What one signature covers, and how. Parameters are null if absent; times are Unix seconds. */
export interface SignatureInput {
  readonly label: string;
  /**
   * The component identifiers and all parameters as received, including unknown ones, because all of them are signed.
   */
  readonly list: InnerList;
  /** The identifiers as text, such as `"@method"` or `"@query-param";name="id"`. */
  readonly components: readonly string[];
  readonly created: number | null;
  readonly expires: number | null;
  readonly keyid: string | null;
  readonly alg: string | null;
  readonly nonce: string | null;
  readonly tag: string | null;
}

/** One signature with its input. */
export interface LabelledSignature {
  readonly input: SignatureInput;
  readonly signature: Uint8Array;
}

type ParsedSignatures =
  | { readonly kind: "parsed"; readonly signatures: readonly LabelledSignature[] }
  | { readonly kind: "malformed"; readonly detail: string };

/**
 * Maximum number of signatures, more than any rotation or chain of gateways needs. Limits the work that an attacker can
 * cause.
 */
const signaturesMax = 16;
/**
 * Maximum number of components, more than a message needs. Each may cost a scan of the whole query or of a whole field.
 */
const componentsMax = 64;

/**
 * Parses both fields and pairs them by label. A label in only one of the fields is malformed (RFC 9421, section 4.2).
 */
export function parseSignatures(signatureInput: string, signature: string): ParsedSignatures {
  const inputs = parseDictionary(signatureInput);
  if (inputs.kind === "malformed") return malformed("Signature-Input is not a structured dictionary");
  const values = parseDictionary(signature);
  if (values.kind === "malformed") return malformed("Signature is not a structured dictionary");
  if (inputs.value.size > signaturesMax) return malformed(`more than ${signaturesMax} signatures`);
  if (inputs.value.size !== values.value.size) {
    return malformed("Signature-Input and Signature have different labels");
  }
  const signatures: LabelledSignature[] = [];
  for (const [label, member] of inputs.value) {
    const value = values.value.get(label);
    if (value?.kind !== "item" || value.value.kind !== "bytes") {
      return malformed(`Signature has no bytes under the label ${label}`);
    }
    const input = member.kind === "inner_list" ? readSignatureInput(label, member) : null;
    if (input === null) return malformed(`Signature-Input: ${label} is not a list of components`);
    signatures.push({ input, signature: value.value.value });
  }
  return { kind: "parsed", signatures };
}

/**
 * Null if there are too many components, if a component is not a String or is repeated, or if a parameter has the wrong
 * type.
 */
function readSignatureInput(label: string, list: InnerList): SignatureInput | null {
  if (list.items.length > componentsMax) return null;
  if (list.items.some((item) => item.value.kind !== "string")) return null;
  const components = list.items.map(serializeItem);
  if (new Set(components).size !== components.length) return null;
  const { parameters } = list;
  const [created, expires] = [whole(parameters.get("created")), whole(parameters.get("expires"))];
  const [keyid, alg] = [text(parameters.get("keyid")), text(parameters.get("alg"))];
  const [nonce, tag] = [text(parameters.get("nonce")), text(parameters.get("tag"))];
  if (created === undefined || expires === undefined || keyid === undefined) return null;
  if (alg === undefined || nonce === undefined || tag === undefined) return null;
  return { label, list, components, created, expires, keyid, alg, nonce, tag };
}

/** The value of an Integer; null if absent, undefined for any other type. */
function whole(item: BareItem | undefined): number | null | undefined {
  if (item === undefined) return null;
  return item.kind === "integer" ? item.value : undefined;
}

/** The value of a String; null if absent, undefined for any other type. */
function text(item: BareItem | undefined): string | null | undefined {
  if (item === undefined) return null;
  return item.kind === "string" ? item.value : undefined;
}

/** The value of `@signature-params`: the text after the label in Signature-Input, in canonical form. */
export function signatureParams(input: SignatureInput): string {
  return `(${input.components.join(" ")})${serializeParameters(input.list.parameters)}`;
}

function malformed(detail: string): ParsedSignatures {
  return { kind: "malformed", detail };
}

// The signature base of RFC 9421, section 2.5: the text that is signed.
//
// All derived components of section 2.2 are supported (`@method`, `@target-uri`, `@authority`, `@scheme`,
// `@request-target`, `@path`, `@query`, `@query-param` with `name`, `@status`), and fields with the parameters `sf`,
// `key`, `bs` and `tr`. `req`, which binds a response to its request, is not supported, because only requests are
// signed. If a component is unsupported or missing, the base cannot be built and the signature is invalid.

type SignatureBase =
  | { readonly kind: "built"; readonly text: string }
  /** `component` is the identifier without a value. */
  | { readonly kind: "unavailable"; readonly component: string };

/** Builds the base of a message for one entry of Signature-Input. */
export function buildSignatureBase(message: SignedMessage, input: SignatureInput): SignatureBase {
  let text = "";
  for (const [index, item] of input.list.items.entries()) {
    const component = input.components[index] ?? "";
    const value = componentValue(message, item);
    // A line break or a non-ASCII character could make one value look like several lines or like other bytes.
    if (value === null || /[^\t\x20-\x7e]/.test(value)) return { kind: "unavailable", component };
    text += `${component}: ${value}\n`;
  }
  return { kind: "built", text: `${text}"@signature-params": ${signatureParams(input)}` };
}

function componentValue(message: SignedMessage, item: Item): string | null {
  const name = item.value.kind === "string" ? item.value.value : "";
  if (name.startsWith("@")) return derivedValue(message, name, item.parameters);
  return fieldValue(message, name, item.parameters);
}
