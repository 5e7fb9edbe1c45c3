import { includeProperty } from "./delivery.ts";
import { boundedList, closed, Type } from "./schema.ts";

/** Topics of live updates. */
export type LiveTopic =
  /** New deliveries and changes to the state of deliveries, for all webhooks or for one. */
  | { readonly kind: "deliveries"; readonly webhookId: string | null }
  | { readonly kind: "delivery" | "operation"; readonly id: string }
  /** Those that the subscriber may see. */
  | { readonly kind: "alerts" }
  | { readonly kind: "problems" }
  /** Requests that gateway sources receive. */
  | { readonly kind: "requests" }
  /** Figures of the last minutes. */
  | { readonly kind: "stats" };

/** The list of valid topics in error messages. */
const liveTopicRule =
  "deliveries, deliveries:webhook=ID, delivery:ID, operation:ID, requests, stats, alerts or problems";

const uuid = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";

/** The pattern of one topic, for JSON Schema. */
const liveTopicPattern = `(?:deliveries(?::webhook=${uuid})?|(?:delivery|operation):${uuid}|alerts|problems|requests|stats)`;

const topicText = new RegExp(
  `^(deliveries|delivery|operation|alerts|problems|requests|stats)(?::(?:webhook=)?(${uuid}))?$`,
);

/** Expects text that matches the pattern. */
export function parseLiveTopic(text: string): LiveTopic {
  const [, kind, id = null] = topicText.exec(text) ?? [];
  if (kind === "alerts" || kind === "problems" || kind === "requests" || kind === "stats") return { kind };
  if (kind === "deliveries") return { kind, webhookId: id?.toLowerCase() ?? null };
  if ((kind === "delivery" || kind === "operation") && id !== null) return { kind, id: id.toLowerCase() };
  throw new TypeError(`not a topic: ${text}`);
}

export function liveTopicText(topic: LiveTopic): string {
  if ("id" in topic) return `${topic.kind}:${topic.id}`;
  if (topic.kind !== "deliveries" || topic.webhookId === null) return topic.kind;
  return `${topic.kind}:webhook=${topic.webhookId}`;
}

/** Maximum number of topics, because a page with more would show more than a person can see. */
export const topicsMax = 250;
/** Maximum length of the parameter in characters: enough for 250 topics with an id each. */
const textLengthMax = 16_384;

export const streamQuerySchema = closed({
  topics: boundedList(
    Type.String({
      maxLength: textLengthMax,
      pattern: `^${liveTopicPattern}(?:,${liveTopicPattern})*$`,
      "x-rule": liveTopicRule,
    }),
    1,
    topicsMax,
    "Topics: `deliveries` for new deliveries and changes of the latest 250, `deliveries:webhook=ID` for " +
      `those of one webhook, \`delivery:ID\`, \`operation:ID\`, \`problems\`, \`requests\` for inbound requests, \`stats\` for the last five minutes, \`alerts\` for keys with the role \`manage\` or \`admin\`. May be repeated or separated by commas, up to ${topicsMax}.`,
  ),
  include: includeProperty,
});

export const eventStreamSchema = Type.String(
  "Events `deliveries`, `delivery` and `requests` (`topic`, `rows` as in the listing, `left_out`), `operation` (`topic`, `operation`), " +
    "`problems` and `alerts` (`topic`, `rows`), `stats` (`topic`, `rows` as points of `GET /v1/stats/deliveries`, with `published` for keys) and `reset` (reload everything), each with its data as JSON in one line.",
);
