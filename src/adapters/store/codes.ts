import {
  type DeliveryOrigin,
  type DeliveryState,
  type Priority,
  priorities,
  waitingStates,
} from "../../core/delivery.ts";
import type { Ending } from "../../core/delivery-state.ts";
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
/** Codes up to this one wait for a request. */
export const waitingMax = Math.max(...waitingStates.map((state) => stateCodes.encode[state]));

/** What an UPDATE sets in the rows of deliveries that an event ends. */
export function endingSql({ state, reason }: Ending): string {
  return `state = ${stateCodes.encode[state]}, reason = '${reason}'`;
}

export function decode<Word extends string>(words: Codec<Word>, code: number): Word {
  const word = words.decode[code];
  if (word === undefined) throw new RangeError(`unknown stored code ${code}`);
  return word;
}

/** A state that is one of these wherever the caller found its row. */
export function decodeState<State extends DeliveryState>(states: readonly State[], code: number): State {
  const state = states.find((each) => stateCodes.encode[each] === code);
  if (state === undefined) throw new RangeError(`the stored state ${code} is none of ${states.join()}`);
  return state;
}

export function decodeOrNull<Word extends string>(words: Codec<Word>, code: number | null): Word | null {
  return code === null ? null : decode(words, code);
}
