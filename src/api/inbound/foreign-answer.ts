/**
 * Header fields of answers whose bytes come from receivers or tenants. Browsers can be made to load them from the origin of the
 * API, by a form of another site for example, so nothing in them may run: the sandbox takes away scripts and the origin, and
 * every media type that is not known to be inert becomes a download.
 */
export const isolation = {
  "content-security-policy": "default-src 'none'; sandbox",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  // The address of a source is a secret: a link in the answer must not carry it elsewhere.
  "referrer-policy": "no-referrer",
} as const;

const download = { "content-disposition": 'attachment; filename="answer"' } as const;

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** Each blank can be matched in one way only: with several, the time grows exponentially with the blanks of a receiver. */
const mediaType = new RegExp(
  `^(${token}/${token})((?:[ \\t]*;(?:[ \\t]*${token}=(?:${token}|"[\\x20-\\x21\\x23-\\x2b\\x2d-\\x5b\\x5d-\\x7e]*"))?)*)[ \\t]*$`,
);
/** An allow list: a type that browsers learn to execute later is a download already. */
const inert = /^(?:text\/plain|text\/csv|application\/(?:json|[a-z0-9!#$&^_.-]+\+json))$/i;
const plainParameters = new RegExp(`^(?:[ \\t]*;[ \\t]*${token}=(?:${token}|"[A-Za-z0-9 _./:-]*"))*$`);
/** Each part of these has a type of its own, whatever the answer itself is declared as. */
const composite = /^(?:multipart|message)\//i;

export function foreignHeaders(
  headers: Readonly<Record<string, string>>,
  { hasContent }: { readonly hasContent: boolean },
): Record<string, string> {
  const { "content-type": contentType, ...others } = headers;
  const safe: Record<string, string> = { ...others, ...isolation };
  if (!hasContent && contentType === undefined) return safe;
  const parsed = mediaType.exec(contentType ?? "");
  const [, type = "", parameters = ""] = parsed ?? [];
  const isOpaque = parsed === null || composite.test(type);
  safe["content-type"] = isOpaque || contentType === undefined ? "application/octet-stream" : contentType;
  return !isOpaque && inert.test(type) && plainParameters.test(parameters) ? safe : { ...safe, ...download };
}
