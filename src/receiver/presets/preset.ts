/** Everything of a provider that is not its signature, as data: what an endpoint and the people around it need. */
import type { SourceProbe } from "../../core/gateway/source.ts";
import type { Providers } from "../providers/index.ts";
import type { ValueSource } from "./value-source.ts";

export type ProviderName = Exclude<keyof Providers, "zoomUrlValidation">;

/** How the provider asks whether an address is wanted. `meta` and `x` ask by GET, the others in a signed POST. */
export type ChallengeName = "discord" | "meta" | "slack" | "x" | "zoom";

export interface Preset {
  /** Where the id of a message is that its repeats share; empty where the provider has none. */
  readonly key: readonly ValueSource[];
  /** Where the kind of event is; the first that is there counts. */
  readonly eventType: readonly ValueSource[];
  /** Headers that are worth handing on to whoever processes the message; in the table of presets, with those of its proof. */
  readonly forwardHeaders: readonly string[];
  readonly challenge: ChallengeName | null;
  /** Checks of the address that carry no proof and are answered with success; none when left out. */
  readonly probes?: readonly SourceProbe[];
  /**
   * What to do at the provider, in order, as sentences. `{url}` stands for the address of the endpoint, and
   * `{secret}` for the place where the secret goes.
   */
  readonly steps: readonly string[];
  /** What is peculiar, such as a body that is signed in part only. */
  readonly remarks?: readonly string[];
}
