import type { NotificationContent, NotificationLanguage } from "./notification.ts";
import type { Wording } from "./messages.ts";

/** Messages that are sent to one address in one email, with their footer. */
export interface MailParts {
  readonly contents: readonly NotificationContent[];
  readonly address: string;
  readonly language: NotificationLanguage;
  /** Null if no public URL is configured. */
  readonly unsubscribeUrl: string | null;
  /** The subject of a digest; null for the email that requests confirmation. */
  readonly gathered: DigestSubject | null;
}

type DigestSubject = "digest.subject" | "limited.subject";

export interface RenderedMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Renders an email as text and as HTML without images or external content. Text from receivers is escaped. */
export function renderMail(parts: MailParts, wording: Wording): RenderedMail {
  const { contents, language } = parts;
  const first = contents[0]?.subject ?? "";
  const subject =
    contents.length === 1
      ? first
      : wording.say(language, parts.gathered ?? "digest.subject", { count: contents.length });
  const footer = footerLines(parts, wording);
  return {
    subject: oneLine(subject),
    text: [
      ...contents.slice(0, shownMax).map((content) => textOf(content, contents.length > 1)),
      ...moreThanShown(parts, wording),
      footer.join("\n"),
    ].join("\n\n"),
    html: htmlOf(parts, [...moreThanShown(parts, wording), ...footer.slice(1)]),
  };
}

/** Reduces a string to one line, as required for a subject. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ").slice(0, subjectLengthMax);
}

const subjectLengthMax = 200;
/** Maximum messages shown in one digest. */
const shownMax = 50;

function moreThanShown(
  { contents, language }: Pick<MailParts, "contents" | "language">,
  wording: Wording,
): readonly string[] {
  const count = contents.length - shownMax;
  return count > 0 ? [wording.say(language, "digest.more", { count })] : [];
}

/** Combines several messages into one, for channels that accept only one message per request. */
export function digestContent(
  contents: readonly NotificationContent[],
  language: NotificationLanguage,
  name: DigestSubject,
  wording: Wording,
): NotificationContent {
  const severities = new Set(contents.map(({ severity }) => severity));
  const lines = contents.slice(0, shownMax).map(({ subject }) => `- ${oneLine(subject)}`);
  return {
    subject: wording.say(language, name, { count: contents.length }),
    text: [...lines, ...moreThanShown({ contents, language }, wording)].join("\n"),
    facts: [],
    severity: (["critical", "warning"] as const).find((each) => severities.has(each)) ?? "info",
    link: null,
    resolves: contents.every(({ resolves }) => resolves),
  };
}

function footerLines(
  { address, language, unsubscribeUrl, gathered }: MailParts,
  wording: Wording,
): readonly string[] {
  if (gathered === null) return ["--", wording.say(language, "confirm.footer", { address })];
  const stop =
    unsubscribeUrl === null ? [] : [wording.say(language, "footer.stop", { link: unsubscribeUrl })];
  return ["--", wording.say(language, "footer.why", { address }), ...stop];
}

function textOf({ subject, text, facts, link }: NotificationContent, isDigest: boolean): string {
  const parts = [
    ...(isDigest ? [`${oneLine(subject)}\n${"=".repeat(Math.min(72, subject.length))}`] : []),
    text,
    facts.map(({ label, value }) => `${label}: ${value}`).join("\n"),
    link ?? "",
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function htmlOf({ contents, language }: MailParts, footer: readonly string[]): string {
  const sections = contents
    .slice(0, shownMax)
    .map((content) => sectionOf(content))
    .join("<hr>");
  const small = footer.map((line) => `<p style="color:#555;font-size:13px">${linked(line)}</p>`);
  return (
    `<!doctype html><html lang="${language}"><head><meta charset="utf-8"></head>` +
    `<body style="font-family:sans-serif;max-width:40em">${sections}<hr>${small.join("")}</body></html>`
  );
}

function sectionOf({ subject, text, facts, link }: NotificationContent): string {
  const paragraphs = text.split(/\n{2,}/).map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`);
  const rows = facts.map(
    ({ label, value }) =>
      `<tr><th align="left" valign="top">${escapeHtml(label)}</th><td><code>${escapeHtml(value)}</code></td></tr>`,
  );
  const table = rows.length === 0 ? "" : `<table cellpadding="4">${rows.join("")}</table>`;
  const look = link === null ? "" : `<p>${linked(link)}</p>`;
  return `<h2>${escapeHtml(oneLine(subject))}</h2>${paragraphs.join("")}${table}${look}`;
}

/**
 * Turns the URLs in a line into links. Used only for lines that Posthorn writes: URLs in text from others are never
 * turned into links.
 */
function linked(line: string): string {
  return escapeHtml(line).replaceAll(/https?:\/\/[^\s<]+/g, (url) => `<a href="${url}">${url}</a>`);
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
