/**
 * Headers of responses whose bytes come from receivers or tenants. A browser can be made to load them from the origin
 * of the API, for example by a form on another site, so nothing in them may execute. The sandbox removes scripts and
 * the origin, and every media type that is not known to be inert becomes a download.
 */
export const isolation = {
  "content-security-policy": "default-src 'none'; sandbox",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  // A source's address is a secret: links in the response must not leak it through the referrer.
  "referrer-policy": "no-referrer",
} as const;

const download = { "content-disposition": 'attachment; filename="answer"' } as const;

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** Each blank can be matched in only one way. Otherwise, a receiver could cause exponential backtracking. */
const mediaType = new RegExp(
  `^(${token}/${token})((?:[ \\t]*;(?:[ \\t]*${token}=(?:${token}|"[\\x20-\\x21\\x23-\\x2b\\x2d-\\x5b\\x5d-\\x7e]*"))?)*)[ \\t]*$`,
);
/** An allowlist, so that types that browsers may execute in future are already sent as downloads. */
const inert = /^(?:text\/plain|text\/csv|application\/(?:json|[a-z0-9!#$&^_.-]+\+json))$/i;
const plainParameters = new RegExp(`^(?:[ \\t]*;[ \\t]*${token}=(?:${token}|"[A-Za-z0-9 _./:-]*"))*$`);
/** Each part of such a body has its own type, regardless of the declared type. */
const composite = /^(?:multipart|message)\//i;

export function foreignHeaders(
  headers: Readonly<Record<string, string>>,
  hasContent: boolean,
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
