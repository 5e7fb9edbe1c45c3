/** Data about a provider other than its signature: what an endpoint and its operators need. */
import type { SourceProbe } from "../../core/gateway/source.ts";
import type { Providers } from "../providers/index.ts";
import type { ValueSource } from "./value-source.ts";

export type ProviderName = Exclude<keyof Providers, "zoomUrlValidation">;

/** How the provider checks an address. `meta` and `x` use GET, the others a signed POST. */
export type ChallengeName = "discord" | "meta" | "slack" | "x" | "zoom";

export interface Preset {
  /** Location of a message id that repeats share; empty if the provider has none. */
  readonly key: readonly ValueSource[];
  /** Location of the event type; the first that exists is used. */
  readonly eventType: readonly ValueSource[];
  /**
   * Headers worth forwarding to the program that processes the message; in the preset table, including the proof
   * headers.
   */
  readonly forwardHeaders: readonly string[];
  readonly challenge: ChallengeName | null;
  /** Unauthenticated checks of the address that are answered with success; none if omitted. */
  readonly probes?: readonly SourceProbe[];
  /**
   * Steps at the provider, in order, as sentences. `{url}` is replaced by the address of the endpoint, and `{secret}`
   * marks where the secret is entered.
   */
  readonly steps: readonly string[];
  /** Peculiarities, such as a body that is only partly signed. */
  readonly remarks?: readonly string[];
}
