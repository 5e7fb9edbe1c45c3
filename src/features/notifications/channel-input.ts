import { timingSafeEqual } from "node:crypto";
import { judgeUrl, type UrlRules } from "../../domain/egress/url-policy.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { StoredChannel } from "../../ports/store/notifications.ts";
import { type ChannelInput, channelSetFields } from "../../resources/notification.ts";
import { ProblemList, validFields } from "../input.ts";
import { isTimeZone } from "./due.ts";
import type { ChannelKind, NotificationChannel } from "./notification.ts";

/**
 * Links that let a recipient confirm an address, unsubscribe or resubscribe. They are signed, contain only the address
 * id, and occur only in emails to that address. The same token serves all three actions.
 */
export class AddressLinks {
  readonly #secretBox: Pick<SecretBox, "digest">;
  readonly #publicUrl: () => string | null;

  constructor(secretBox: Pick<SecretBox, "digest">, publicUrl: () => string | null) {
    this.#secretBox = secretBox;
    this.#publicUrl = publicUrl;
  }

  /** False if recipients cannot reach this system, so that no address can be confirmed. */
  get areReachable(): boolean {
    return this.#publicUrl() !== null;
  }

  /** Null if this system cannot be reached from outside. */
  urlFor(addressId: string, purpose: "confirm" | "unsubscribe"): string | null {
    const publicUrl = this.#publicUrl();
    if (publicUrl === null) return null;
    return `${publicUrl.replace(/\/$/, "")}/notifications/${purpose}/${this.tokenOf(addressId)}`;
  }

  tokenOf(addressId: string): string {
    return `${addressId}.${this.#signatureOf(addressId)}`;
  }

  /** The address id of a token; null if the token is invalid. */
  addressOf(token: string): string | null {
    const [addressId = "", signature = ""] = token.split(".");
    const expected = Buffer.from(this.#signatureOf(addressId));
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected) ? addressId : null;
  }

  #signatureOf(addressId: string): string {
    return Buffer.from(this.#secretBox.digest(`mail address ${addressId}`)).toString("base64url");
  }
}

interface ChannelRules {
  readonly urlRules: UrlRules;
  /** False if no mail server is configured. */
  readonly sendsMail: boolean;
  /** False if recipients cannot open confirmation links. */
  readonly canConfirm: boolean;
}

type Problem = readonly [field: string, message: string];

/** Validates a set of channels and returns it. */
export function readChannels(
  given: readonly ChannelInput[],
  before: readonly StoredChannel[],
  rules: ChannelRules,
): readonly ChannelInput[] {
  const { channels } = validFields(channelSetFields, { channels: given }, "the set of channels");
  const problems = new ProblemList();
  for (const [index, input] of channels.entries()) {
    const known = before.find(({ channel }) => channel.id === input.id)?.channel;
    for (const [field, message] of [
      ...identityProblems(input, known),
      ...targetProblems(input, known, rules),
    ])
      problems.add({ field: `channels[${index}].${field}`, message });
  }
  const ids = channels.flatMap(({ id }) => (id === undefined ? [] : [id]));
  if (new Set(ids).size < ids.length)
    problems.add({ field: "channels", message: "must not name a channel twice" });
  problems.throwIfAny("the set of channels");
  return channels;
}

function* identityProblems(
  { id, kind, timeZone }: ChannelInput,
  known: NotificationChannel | undefined,
): Iterable<Problem> {
  if (id !== undefined && known === undefined)
    yield ["id", "does not name a channel of this owner; omit it for a new one"];
  if (known !== undefined && known.kind !== kind) yield ["kind", "cannot be changed; create a new channel"];
  if (timeZone !== undefined && !isTimeZone(timeZone))
    yield ["time_zone", "must be a time zone such as Europe/Berlin"];
}

/** The field with the destination, by kind; `url` for all others. */
const targets: Readonly<Partial<Record<ChannelKind, "address" | "integrationKey">>> = {
  email: "address",
  pagerduty: "integrationKey",
};
const apiNames = { address: "address", url: "url", integrationKey: "integration_key" } as const;

function* targetProblems(
  input: ChannelInput,
  known: NotificationChannel | undefined,
  rules: ChannelRules,
): Iterable<Problem> {
  const { kind, url } = input;
  if (kind === "email" && !rules.sendsMail)
    yield ["kind", "email requires a mail server: set POSTHORN_SMTP_URL and POSTHORN_MAIL_FROM"];
  else if (kind === "email" && !rules.canConfirm)
    yield ["kind", "email requires links that recipients can open: set POSTHORN_PUBLIC_URL"];
  const target = targets[kind] ?? "url";
  const isKept = known !== undefined && target !== "address";
  if (input[target] === undefined && !isKept) yield [apiNames[target], `is required for ${kind}`];
  for (const name of ["address", "url", "integrationKey"] as const)
    if (name !== target && input[name] !== undefined) yield [apiNames[name], `does not apply to ${kind}`];
  if (target !== "url" || url === undefined) return;
  const judgement = judgeUrl(url, rules.urlRules);
  if (judgement.kind === "refused") yield ["url", judgement.detail];
}
