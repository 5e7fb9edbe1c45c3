import type { Ending } from "../domain/delivery-state.ts";
import {
  type DeliveryOrigin,
  type DeliveryRetry,
  type DeliveryState,
  priorities,
  type Priority,
  type RetriedAt,
  waitingStates,
} from "../domain/delivery.ts";
import { failureCategories, type FailureCategory, type Outcome } from "../domain/classify.ts";
import { type PayloadFormatName, payloadFormats } from "../domain/profile.ts";
import { type OrderingGuarantee, orderingGuarantees } from "../domain/webhook.ts";

/**
 * Maps names of the domain to the small integers that are stored. Positions are part of the file format: new names go at
 * the end. codes.test.ts pins those in use, so that reordering a list in the domain cannot change the meaning of old rows.
 */
interface Codec<Word extends string> {
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
export const originCodes = codec<DeliveryOrigin>(["publish", "retry", "replay", "test"]);
export const outcomeCodes = codec<Outcome>(["accepted", "transient", "terminal"]);
export const categoryCodes = codec<FailureCategory>(failureCategories);
export const formatCodes = codec<PayloadFormatName>(payloadFormats);
export const orderingCodes = codec<OrderingGuarantee>(orderingGuarantees);

export const exhausted = stateCodes.encode.exhausted;
/** States with a code up to this one belong to deliveries that wait for a request. */
export const waitingMax = Math.max(...waitingStates.map((state) => stateCodes.encode[state]));

/** The columns that an UPDATE sets when a delivery ends without a settlement. */
export function endingSql({ state, reason }: Ending): string {
  return `state = ${stateCodes.encode[state]}, reason = '${reason}'`;
}

export function decode<Word extends string>(words: Codec<Word>, code: number): Word {
  const word = words.decode[code];
  if (word === undefined) throw new RangeError(`unknown stored code ${code}`);
  return word;
}

/** Decodes a state. Throws if the state is not among those that the caller expects. */
export function decodeState<State extends DeliveryState>(states: readonly State[], code: number): State {
  const state = states.find((each) => stateCodes.encode[each] === code);
  if (state === undefined) throw new RangeError(`the stored state ${code} is not one of ${states.join()}`);
  return state;
}

export function decodeOrNull<Word extends string>(words: Codec<Word>, code: number | null): Word | null {
  return code === null ? null : decode(words, code);
}

/**
 * Maximum number of retries kept per delivery. Older ones are dropped, because a delivery may be retried for as long as
 * its payload is kept.
 */
const keptMax = 20;

/** The last retry from its two columns, which are both null or both set. */
export function retriedFrom(at: number | null, attemptCount: number | null): RetriedAt | null {
  return at === null ? null : { at, attemptCount: attemptCount ?? 0 };
}

/** The column `retries` with one more entry. */
export function withRetry(text: string | null, retry: DeliveryRetry): string {
  return JSON.stringify([...retriesFromText(text), retry].slice(-keptMax));
}

export function retriesFromText(text: string | null): readonly DeliveryRetry[] {
  return text === null ? none : (JSON.parse(text) as readonly DeliveryRetry[]);
}

const none: readonly DeliveryRetry[] = [];

/**
 * The queue position orders the waiting deliveries of a lane. It is a single number, so that one index serves all lanes
 * (column `queue_position`). Ordered lanes use the publish order, regardless of the priority or due time. A delivery
 * that is retried after it ended moves behind all deliveries that are waiting at that time (`order_position`). Other
 * lanes use priority, then due time.
 */
export const tierSpan = 2 ** 48;
export const queuePositionMax = 3 * tierSpan - 1;

interface Place {
  /** The stored order position of the delivery; before the first retry, its publish position. */
  readonly order: number;
  readonly priority: number;
  readonly dueAt: number;
}

export function queuePositionIn(lane: { readonly ordered: boolean }, place: Place): number {
  return lane.ordered ? place.order : place.priority * tierSpan + withinTier(place.dueAt);
}

/**
 * Converts a time to an offset within its tier. The offset is clamped, because an extreme time would otherwise reach
 * the tier of another priority.
 */
export function withinTier(timeMs: number): number {
  return Math.min(Math.max(timeMs, 0), tierSpan - 1);
}

/** PostgreSQL cannot store U+0000, which responses of receivers may contain. It is replaced by U+FFFD. */
export function storable(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text;
}

/**
 * Makes every string of a JSON document readable for PostgreSQL: escaped lone surrogates and escaped U+0000 become
 * U+FFFD. `JSON.stringify` writes both as escapes, and older versions stored them.
 */
export function storableDocument(document: string): string {
  if (!document.includes("\\u")) return document;
  return document.replaceAll(escapes, (escape: string, isPair?: string, isRefused?: string) =>
    isPair === undefined && isRefused !== undefined ? "\\ufffd" : escape,
  );
}

/** Matches one escape at a time, so that an escaped backslash before `ud800` is not mistaken for one. */
const escapes =
  /\\(?:(u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|(u[dD][89a-fA-F][\da-fA-F]{2}|u0000)|.)/gs;

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a row can have this id. Any other text would make the statement fail instead of returning no rows. */
export function isStoredId(id: string): boolean {
  return uuidForm.test(id);
}
