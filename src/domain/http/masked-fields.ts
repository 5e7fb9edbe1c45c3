/** Header fields and query parameters that carry credentials. Their values are never stored or shown. */

export const mask = "***";

const secretNames =
  /authori[sz]|authenticat|cookie|token|secret|passw|pwd|api[-_]?key|session|credential|signature|csrf|xsrf|\bjwt\b|^key$|^sig$|^code$|^auth$/i;

/** Whether a header or query parameter with this name may hold a credential. */
function isSecretName(name: string): boolean {
  return secretNames.test(name);
}

/** A URL, or any text with URLs, with the values of possibly secret query parameters masked. */
export function maskedParameters(text: string): string {
  if (!text.includes("=")) return text;
  return text.replaceAll(parameter, (whole, lead: string, name: string) =>
    isSecretName(decoded(name)) ? `${lead}${name}=${mask}` : whole,
  );
}

/** Path and query without these parameters. */
export function withoutParameters(target: string, names: readonly string[]): string {
  const at = target.indexOf("?");
  if (at < 0 || names.length === 0) return target;
  const kept = target
    .slice(at + 1)
    .split("&")
    .filter((pair) => !names.includes(decoded((pair.split("=")[0] ?? "").replaceAll("+", " "))));
  return kept.length === 0 ? target.slice(0, at) : `${target.slice(0, at)}?${kept.join("&")}`;
}

/** The value of a header in the form that may be stored. */
export function maskedField(name: string, value: string): string {
  return isSecretName(name) ? mask : maskedParameters(value);
}

/** Also matches in fragments, where some senders put tokens. User names and passwords in URLs are refused elsewhere. */
const parameter = /([?&;#])([^=&;#\s"'<>?]{1,100})=([^&;#\s"'<>]*)/g;

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
