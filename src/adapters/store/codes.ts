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
 * Maps names of the core to the small integers that are stored. Positions are part of the file format: new names go at
 * the end. codes.test.ts pins those in use, so that reordering a list in core cannot change the meaning of old rows.
 */
export interface Codec<Word extends string> {
  readonly encode: Readonly<Record<Word, number>>;
  readonly decode: readonly Word[];
}

function codec<Word extends string>(words: readonly Word[]): Codec<Word> {
  const encode = Object.fromEntries(words.map((word, code) => [word, code])) as Record<Word, number>;
  return { encode, decode: words };
}

/** `high` is 0, so it gets the lowest queue positions. */
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
/** Deliveries with a code up to this one wait for a request. */
export const waitingMax = Math.max(...waitingStates.map((state) => stateCodes.encode[state]));

/** The columns that an UPDATE sets when an event ends deliveries. */
export function endingSql({ state, reason }: Ending): string {
  return `state = ${stateCodes.encode[state]}, reason = '${reason}'`;
}

export function decode<Word extends string>(words: Codec<Word>, code: number): Word {
  const word = words.decode[code];
  if (word === undefined) throw new RangeError(`unknown stored code ${code}`);
  return word;
}

/** Decodes a state; throws unless it is one of those that the caller expects. */
export function decodeState<State extends DeliveryState>(states: readonly State[], code: number): State {
  const state = states.find((each) => stateCodes.encode[each] === code);
  if (state === undefined) throw new RangeError(`the stored state ${code} is not one of ${states.join()}`);
  return state;
}

export function decodeOrNull<Word extends string>(words: Codec<Word>, code: number | null): Word | null {
  return code === null ? null : decode(words, code);
}
