import { liveTopicPattern, liveTopicRule } from "../../core/live-topic.ts";
import { closed } from "./building-blocks.ts";
import { includeProperty } from "./delivery.ts";
import { Type } from "./type.ts";

/** Beyond, a page shows more than a person sees. */
export const topicsMax = 250;
/** Of one parameter, in characters: 250 topics with an id each. */
const textLengthMax = 16_384;

export const streamQuerySchema = closed({
  topics: Type.Array(
    Type.String({
      maxLength: textLengthMax,
      pattern: `^${liveTopicPattern}(?:,${liveTopicPattern})*$`,
      "x-rule": liveTopicRule,
    }),
    {
      minItems: 1,
      maxItems: topicsMax,
      description:
        "What to hear of: `deliveries` for new deliveries and what becomes of the newest 250, `deliveries:webhook=ID` for " +
        `those of one webhook, \`delivery:ID\`, \`operation:ID\`, \`problems\`, \`requests\` for what sources of the gateway receive, \`stats\` for numbers of the last five minutes, \`alerts\` for keys that may manage. May be repeated, or joined by commas; ${topicsMax} at most.`,
    },
  ),
  include: includeProperty,
});

export const eventStreamSchema = Type.String({
  description:
    "Events `deliveries`, `delivery` and `requests` (`topic`, `rows` as in the listing, `left_out`), `operation` (`topic`, `operation`), " +
    "`problems` and `alerts` (`topic`, `rows`), `stats` (`topic`, `rows` as points of `GET /v1/stats/deliveries`, with `published` for keys) and `reset` (read everything again), each with its data as JSON in one line.",
});
