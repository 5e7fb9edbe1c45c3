/**
 * The signature base of RFC 9421, section 2.5: the text that is signed.
 *
 * All derived components of section 2.2 are supported (`@method`, `@target-uri`, `@authority`, `@scheme`,
 * `@request-target`, `@path`, `@query`, `@query-param` with `name`, `@status`), and fields with the parameters `sf`,
 * `key`, `bs` and `tr`. `req`, which binds a response to its request, is not supported, because only requests are
 * signed. A component that is unsupported or missing makes the base unavailable, and so the signature invalid.
 */
import type { Item } from "../http/structured-fields/values.ts";
import { derivedValue } from "./derived-component.ts";
import { fieldValue } from "./field-component.ts";
import { type SignatureInput, signatureParams } from "./signature-input.ts";
import type { SignedMessage } from "./signed-message.ts";

export type SignatureBase =
  | { readonly kind: "built"; readonly text: string }
  /** `component` is the identifier without a value. */
  | { readonly kind: "unavailable"; readonly component: string };

/** Builds the base of a message for one entry of Signature-Input. */
export function buildSignatureBase(message: SignedMessage, input: SignatureInput): SignatureBase {
  let text = "";
  for (const [index, item] of input.list.items.entries()) {
    const component = input.components[index] ?? "";
    const value = componentValue(message, item);
    // With a line break or a non-ASCII character, one value could be read as several lines or as other bytes.
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
