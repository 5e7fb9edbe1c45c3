/** `Signature-Input` and `Signature` of RFC 9421 as data. */
import { parseDictionary } from "../http/structured-fields/parse.ts";
import { serializeItem, serializeParameters } from "../http/structured-fields/serialize.ts";
import type { BareItem, InnerList } from "../http/structured-fields/values.ts";

/** What one signature covers, and how. Parameters are null if absent; times are Unix seconds. */
export interface SignatureInput {
  readonly label: string;
  /** As received: component identifiers and all parameters, including unknown ones, because all of it is signed. */
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

export type ParsedSignatures =
  | { readonly kind: "parsed"; readonly signatures: readonly LabelledSignature[] }
  | { readonly kind: "malformed"; readonly detail: string };

/** More signatures than any rotation or chain of gateways needs. Bounds the work that an attacker can cause. */
const signaturesMax = 16;
/** More components than a message needs; each may cost a scan of the whole query or of a whole field. */
const componentsMax = 64;

/**
 * Parses both fields and pairs them by label. A label in only one of the fields is malformed (RFC 9421, section 4.2).
 */
export function parseSignatures(fields: {
  readonly signatureInput: string;
  readonly signature: string;
}): ParsedSignatures {
  const inputs = parseDictionary(fields.signatureInput);
  if (inputs.kind === "malformed") return malformed("Signature-Input is not a structured dictionary");
  const values = parseDictionary(fields.signature);
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

/** Null for too many components, a component that is not a String or is repeated, or a parameter of the wrong type. */
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
