import { oneLine } from "./mail.ts";
import type { ChannelKind, NotificationContent, NotificationSeverity } from "./notification.ts";

/** A message to a chat service, an incident service or a custom endpoint. */
export interface ChatMessage {
  readonly content: NotificationContent;
  readonly topic: string;
  readonly group: string;
  readonly createdAt: number;
}

type Body = Readonly<Record<string, unknown>>;

/**
 * The request body for each kind of channel. Text from receivers is neutralised and contains neither markup nor
 * mentions.
 */
export function chatBody(kind: Exclude<ChannelKind, "email" | "pagerduty">, message: ChatMessage): Body {
  const { content } = message;
  const bodies = {
    slack: () => slackBody(content),
    teams: () => teamsBody(content),
    discord: () => discordBody(content),
    webhook: () => plainBody(message),
  };
  return bodies[kind]();
}

function slackBody({ subject, text, facts, link }: NotificationContent): Body {
  const plain = (words: string, lengthMax: number) => ({
    type: "plain_text",
    text: words.slice(0, lengthMax),
    emoji: false,
  });
  const lines = [text, ...linesOf(facts), ...(link === null ? [] : [link])].join("\n");
  // `text` is shown on phones and interprets markup, so three characters are escaped.
  const escaped = oneLine(subject).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return {
    text: escaped,
    blocks: [
      { type: "header", text: plain(oneLine(subject), 150) },
      { type: "section", text: plain(lines, 3_000) },
    ],
  };
}

function teamsBody({ subject, text, facts, link }: NotificationContent): Body {
  const block = (words: string, more: Body = {}) => ({
    type: "TextBlock",
    text: withoutMarkdown(words),
    wrap: true,
    ...more,
  });
  const card = {
    type: "AdaptiveCard",
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    version: "1.4",
    body: [
      block(oneLine(subject), { weight: "Bolder", size: "Medium" }),
      block(text),
      {
        type: "FactSet",
        facts: facts.map(({ label, value }) => ({ title: label, value: withoutMarkdown(value) })),
      },
    ],
    ...(link !== null && { actions: [{ type: "Action.OpenUrl", title: "Posthorn", url: link }] }),
  };
  return {
    type: "message",
    attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", content: card }],
  };
}

const discordColours: Readonly<Record<NotificationSeverity, number>> = {
  info: 0x2e7d32,
  warning: 0xed6c02,
  critical: 0xd32f2f,
};

function discordBody({ subject, text, facts, link, severity }: NotificationContent): Body {
  const fields = facts.slice(0, 25).map(({ label, value }) => ({
    name: withoutMarkdown(label).slice(0, 256),
    value: withoutMarkdown(value).slice(0, 1_024) || "-",
  }));
  const embed = {
    title: withoutMarkdown(oneLine(subject)).slice(0, 256),
    description: withoutMarkdown(text).slice(0, 4_000),
    color: discordColours[severity],
    fields,
    ...(link !== null && { url: link }),
  };
  return { embeds: [embed], allowed_mentions: { parse: [] } };
}

/**
 * Events API, version 2. The message that resolves an incident has the same `dedup_key` as the incident. The body
 * contains the integration key, so it is never stored.
 */
export function pagerBody({ content, group, createdAt }: ChatMessage, integrationKey: string): Body {
  const { subject, text, facts, severity, resolves, link } = content;
  const details = Object.fromEntries(facts.map(({ label, value }) => [label, value]));
  return {
    routing_key: integrationKey,
    event_action: resolves ? "resolve" : "trigger",
    dedup_key: group.slice(0, 255),
    payload: {
      summary: oneLine(subject),
      severity,
      source: "posthorn",
      timestamp: new Date(createdAt).toISOString(),
      custom_details: { ...details, text },
    },
    ...(link !== null && { links: [{ href: link, text: "Posthorn" }] }),
  };
}

function plainBody({ content, topic, group, createdAt }: ChatMessage): Body {
  return { ...content, topic, group, created_at: new Date(createdAt).toISOString() };
}

function linesOf(facts: NotificationContent["facts"]): readonly string[] {
  return facts.map(({ label, value }) => `${label}: ${value}`);
}

/** Adds a backslash before characters that begin markup or links. */
function withoutMarkdown(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>#~|]/g, (character) => `\\${character}`);
}
