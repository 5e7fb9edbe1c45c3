import { liveTopicPattern, liveTopicRule } from "../../core/live-topic.ts";
import { closed } from "./building-blocks.ts";
import { includeProperty } from "./delivery.ts";
import { Type } from "./type.ts";

/** A page with more topics would show more than a person can see. */
export const topicsMax = 250;
/** Limit of the parameter in characters: 250 topics with an id each. */
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
        "Topics: `deliveries` for new deliveries and changes of the latest 250, `deliveries:webhook=ID` for " +
        `those of one webhook, \`delivery:ID\`, \`operation:ID\`, \`problems\`, \`requests\` for inbound requests, \`stats\` for the last five minutes, \`alerts\` for keys with the role \`manage\` or \`admin\`. May be repeated or separated by commas, up to ${topicsMax}.`,
    },
  ),
  include: includeProperty,
});

export const eventStreamSchema = Type.String({
  description:
    "Events `deliveries`, `delivery` and `requests` (`topic`, `rows` as in the listing, `left_out`), `operation` (`topic`, `operation`), " +
    "`problems` and `alerts` (`topic`, `rows`), `stats` (`topic`, `rows` as points of `GET /v1/stats/deliveries`, with `published` for keys) and `reset` (reload everything), each with its data as JSON in one line.",
});
