/** Shorter secrets can be found by brute force, so masking them is useless. */
const secretLengthMin = 4;
/** Shorter secrets are matched only as whole words, because matches inside words would mask half of a response. */
const foundAnywhereLength = 8;
/** Maximum depth of nested encodings, such as a URL in a URL in a JSON text. */
const encodingsMax = 3;

/** The text, or a version of it in which some encodings are decoded. */
interface View {
  readonly text: string;
  /** Start of each character of `text` in the original, plus the end of the original. */
  readonly origins: readonly number[];
}

/** A character encoding such as percent-encoding. */
interface Encoding {
  readonly escape: RegExp;
  /** An incomplete escape at the end of a truncated text. */
  readonly begun: RegExp;
  readonly decode: (escape: string) => string;
}

const jsonEscapes: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const htmlNames: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const encodings: readonly Encoding[] = [
  {
    escape: /%[0-9a-f]{2}/gi,
    begun: /%[0-9a-f]?$/i,
    decode: (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)),
  },
  {
    escape: /\\(?:u[0-9a-f]{4}|["\\/bfnrt])/gi,
    begun: /\\(?:u[0-9a-f]{0,3})?$/i,
    decode: (escape) =>
      escape.length > 2
        ? String.fromCharCode(Number.parseInt(escape.slice(2), 16))
        : (jsonEscapes[escape.slice(1)] ?? escape.slice(1)),
  },
  {
    escape: /&(?:#[0-9]{1,5}|#x[0-9a-f]{1,4}|amp|lt|gt|quot|apos);/gi,
    begun: /&[#a-z0-9]{0,6}$/i,
    decode: (escape) => {
      const name = escape.slice(1, -1).toLowerCase();
      if (name.startsWith("#x")) return String.fromCharCode(Number.parseInt(name.slice(2), 16));
      if (name.startsWith("#")) return String.fromCharCode(Number.parseInt(name.slice(1), 10));
      return htmlNames[name] ?? escape;
    },
  },
];

/**
 * Masks the secrets of a request in the receiver's response: redirects repeat the query, and error pages repeat the
 * path and headers. More people can read stored responses than secrets.
 *
 * A secret is found case-insensitively in plain form, percent-encoded, in JSON escapes and in HTML entities, in
 * whole or in part, and with up to three of these encodings nested. If `wasCut` is true, the text was truncated, and a
 * possible beginning of a secret at the end is masked too. Longer secrets are also found if they are split, in
 * hexadecimal digits, or in Base64. A secret of four to seven characters is only found as a whole word.
 */
export function maskSecrets(text: string, secrets: readonly string[], wasCut: boolean): string {
  const known = secrets.filter(({ length }) => length >= secretLengthMin);
  if (known.length === 0 || text === "") return text;
  const views = viewsOf(text, wasCut);
  const end = text.length;
  const folded = known.map((secret) => lowerCase(secret));
  const found = views.flatMap((view) => {
    const lower = { ...view, text: lowerCase(view.text) };
    return folded.flatMap((secret) =>
      occurrences(lower, secret).concat(wasCut ? beginningAtTheEnd(lower, secret, end) : []),
    );
  });
  if (end >= compactLengthMin) found.push(...rewritten(views, known, wasCut, end));
  return blotted(text, found);
}

/** Lowercases ASCII letters only, because other letters may change their length. */
function lowerCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Minimum length of compact forms; shorter ones would also match ordinary words. */
const compactLengthMin = 12;
/**
 * Limits the views to the text itself and its singly decoded views, because decoding deeper costs more than it finds.
 */
const compactViewsMax = 4;

/**
 * Finds secrets that a receiver split, broke into lines, or wrote in hexadecimal digits or Base64. Everything except
 * letters and digits is removed from text and secret before they are compared, which also unifies the Base64
 * alphabets.
 */
function rewritten(
  views: readonly View[],
  secrets: readonly string[],
  wasCut: boolean,
  end: number,
): readonly Stretch[] {
  const forms = new Set(secrets.flatMap(compactForms).filter(({ length }) => length >= compactLengthMin));
  return views.slice(0, compactViewsMax).flatMap((view) => {
    const compact = compactView(view);
    return [...forms].flatMap((form) => {
      const found: Stretch[] = [];
      for (let at = compact.text.indexOf(form); at >= 0; at = compact.text.indexOf(form, at + form.length))
        found.push(stretchOf(compact, at, at + form.length));
      return wasCut ? found.concat(compactBeginning(compact, form, end)) : found;
    });
  });
}

/**
 * Maps a match to the original text. It ends with the last compared character, before any removed characters that
 * follow.
 */
function stretchOf({ origins, ends }: CompactView, from: number, to: number): Stretch {
  return [origins[from] ?? 0, ends[to - 1] ?? 0];
}

function compactBeginning(view: CompactView, form: string, end: number): readonly Stretch[] {
  const { text, origins } = view;
  for (let at = Math.max(0, text.length - form.length + 1); at <= text.length - 8; at += 1)
    if (form.startsWith(text.slice(at))) return [[origins[at] ?? 0, end]];
  return [];
}

interface CompactView extends View {
  readonly ends: readonly number[];
}

function compactView({ text, origins }: View): CompactView {
  let compact = "";
  const from: number[] = [];
  const ends: number[] = [];
  for (const { index, 0: character } of text.matchAll(/[A-Za-z0-9]/g)) {
    compact += character;
    from.push(origins[index] ?? 0);
    ends.push(origins[index + 1] ?? 0);
  }
  return { text: lowerCase(compact), origins: from, ends };
}

function compactForms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const key = /^whs(?:ec|k)_(.+)$/.exec(secret)?.[1];
  const spelt = [
    secret,
    ...base64Forms(bytes),
    bytes.toString("hex"),
    ...(key === undefined ? [] : [key, Buffer.from(key, "base64").toString("hex")]),
  ];
  return spelt.map((form) => lowerCase(form.replaceAll(/[^A-Za-z0-9]/g, "")));
}

/** All three alignments of the secret in Base64, without the characters that also contain bits of adjacent data. */
function base64Forms(bytes: Buffer): readonly string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const end = (before + bytes.length) % 3 === 0 ? encoded.length : encoded.length - 1;
    return encoded.slice(before === 0 ? 0 : before + 1, end);
  });
}

/** A range of the text: `from` is inclusive, `to` is exclusive. */
type Stretch = readonly [from: number, to: number];

function occurrences({ text, origins }: View, secret: string): readonly Stretch[] {
  const found: Stretch[] = [];
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + secret.length)) {
    const end = at + secret.length;
    if (secret.length >= foundAnywhereLength || (beginsWord(text, at) && !isWordAt(text, end)))
      found.push([origins[at] ?? 0, origins[end] ?? 0]);
  }
  return found;
}

function beginsWord(text: string, at: number): boolean {
  return at === 0 || !isWordAt(text, at - 1);
}

function isWordAt(text: string, at: number): boolean {
  return wordCharacter.test(text.charAt(at));
}

const wordCharacter = /[\p{L}\p{N}_-]/u;

function beginningAtTheEnd({ text, origins }: View, secret: string, end: number): readonly Stretch[] {
  for (let at = Math.max(0, text.length - secret.length + 1); at < text.length; at += 1) {
    if (text[at] !== secret[0] || !secret.startsWith(text.slice(at))) continue;
    if (secret.length >= foundAnywhereLength || beginsWord(text, at)) return [[origins[at] ?? 0, end]];
  }
  return [];
}

function viewsOf(text: string, wasCut: boolean): readonly View[] {
  const origins = Array.from({ length: text.length + 1 }, (_, index) => index);
  let latest: readonly View[] = [{ text, origins }];
  const views = [...latest];
  for (let depth = 0; depth < encodingsMax && latest.length > 0; depth += 1) {
    latest = latest.flatMap((view) => encodings.flatMap((encoding) => decoded(view, encoding, wasCut) ?? []));
    views.push(...latest);
  }
  return views;
}

/** Null if the text contains no such encoding. */
function decoded(view: View, encoding: Encoding, wasCut: boolean): View | null {
  const { escape, begun, decode } = encoding;
  const source = wasCut ? view.text.replace(begun, "") : view.text;
  let text = "";
  let copied = 0;
  const origins: number[] = [];
  const copyUntil = (end: number): void => {
    text += source.slice(copied, end);
    for (let index = copied; index < end; index += 1) origins.push(view.origins[index] ?? 0);
  };
  for (const match of source.matchAll(escape)) {
    copyUntil(match.index);
    text += decode(match[0]);
    origins.push(view.origins[match.index] ?? 0);
    copied = match.index + match[0].length;
  }
  if (copied === 0 && source.length === view.text.length) return null;
  copyUntil(source.length);
  origins.push(view.origins[source.length] ?? 0);
  return { text, origins };
}

function blotted(text: string, stretches: readonly Stretch[]): string {
  let shown = "";
  let at = 0;
  for (const [from, to] of stretches.toSorted((left, right) => left[0] - right[0])) {
    if (from >= at) shown += `${text.slice(at, from)}***`;
    at = Math.max(at, to);
  }
  return shown + text.slice(at);
}

/** A URL without its `access_token`; all other characters are unchanged. */
export function withoutAccessToken(url: string): string {
  const start = url.indexOf("?");
  if (start < 0) return url;
  const parameters = url.slice(start + 1).split("&");
  const kept = parameters.filter((parameter) => !parameter.startsWith("access_token="));
  return kept.length === 0 ? url.slice(0, start) : `${url.slice(0, start)}?${kept.join("&")}`;
}
