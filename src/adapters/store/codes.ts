import { type DeliveryOrigin, type DeliveryState, type Priority, priorities } from "../../core/delivery.ts";
import { type FailureCategory, failureCategories, type Outcome } from "../../core/outcome.ts";
import { type PayloadFormatName, payloadFormats } from "../../core/profile.ts";
import { type OrderingGuarantee, orderingGuarantees } from "../../core/webhook.ts";

/**
 * Words of the core as the small integers that are stored. Positions are part of the file format: new words go at the
 * end, and codes.test.ts pins the ones in use, so that reordering a list in core cannot change what old rows mean.
 */
export interface Codec<Word extends string> {
  readonly encode: Readonly<Record<Word, number>>;
  readonly decode: readonly Word[];
}

function codec<Word extends string>(words: readonly Word[]): Codec<Word> {
  const encode = Object.fromEntries(words.map((word, code) => [word, code])) as Record<Word, number>;
  return { encode, decode: words };
}

/** `high` is 0, so that lower ranks go first. */
export const priorityCodes = codec<Priority>(priorities);
export const stateCodes = codec<DeliveryState>([
  "pending",
  "failed",
  "success",
  "exhausted",
  "skipped",
  "cancelled",
]);
export const originCodes = codec<DeliveryOrigin>(["publish", "retry", "replay", "recover", "test"]);
export const outcomeCodes = codec<Outcome>(["accepted", "transient", "terminal"]);
export const categoryCodes = codec<FailureCategory>(failureCategories);
export const formatCodes = codec<PayloadFormatName>(payloadFormats);
export const orderingCodes = codec<OrderingGuarantee>(orderingGuarantees);

export const exhausted = stateCodes.encode.exhausted;
export const cancelled = stateCodes.encode.cancelled;
/** Codes up to this one wait for a request: `pending` and `failed`. */
export const waitingMax = stateCodes.encode.failed;

export function decode<Word extends string>(words: Codec<Word>, code: number): Word {
  const word = words.decode[code];
  if (word === undefined) throw new RangeError(`unknown stored code ${code}`);
  return word;
}

export function decodeOrNull<Word extends string>(words: Codec<Word>, code: number | null): Word | null {
  return code === null ? null : decode(words, code);
}
