import type { Settings } from "../../src/config/options.ts";
import type { SignatureSchemeName } from "../../src/domain/profile.ts";
import { Child } from "../process/child.ts";
import type { Usage } from "../process/serve-calls.ts";
import type { Home } from "./home.ts";
import type { LoopStop } from "./loop-watch.ts";
import type { OldEventsInput } from "./old-events.ts";
import type { ParkInput } from "./park.ts";
import { committed } from "./waiting.ts";
import { openWitness, type Witness } from "./witness.ts";

export interface WebhookSeed {
  readonly url: string;
  readonly eventType: string;
  readonly schemes: readonly SignatureSchemeName[];
  /** Made when it is not there; the default one when absent. */
  readonly tenantId?: string;
  readonly timeoutMs?: number;
}

export interface ServeInput {
  readonly home: Home;
  /** What this process does; all when absent. */
  readonly roles?: Settings["roles"] | undefined;
}

export interface ServedProduct {
  /** Empty when this process serves no API. */
  readonly url: string;
  readonly adminKey: string;
}

export interface FloodInput {
  readonly events: number;
  /** Taken in turn. */
  readonly types: readonly string[];
  /** Events of one `publishMany`. */
  readonly batch: number;
  readonly deliveriesPerEvent: number;
  /** Deliveries published and not settled. */
  readonly outstandingMax: number;
  /** Deliveries of this type do not count as outstanding: nobody expects them to end. */
  readonly uncountedType: string | null;
  readonly tenantId?: string;
}

export interface PacedInput {
  readonly perSecond: number;
  readonly durationMs: number;
  readonly types: readonly string[];
}

/** One event of an open loop, `atMs` after its begin. */
export interface PlannedEvent {
  readonly atMs: number;
  readonly tenantId: string;
  readonly eventType: string;
}

export interface PacedEvent {
  readonly id: string;
  readonly eventType: string;
  readonly publishedAt: number;
  readonly acceptedAt: number;
}

/** The product in a process of its own, as the harness sees it. */
export class ProductProcess {
  readonly #child: Child;
  #witness: Witness | null = null;

  /** With `resolvConf`, it asks the name servers of that file. */
  constructor(resolvConf: string | null = null) {
    const env = resolvConf === null ? {} : nameServersFrom(resolvConf);
    this.#child = new Child(new URL("main.ts", import.meta.url), env);
  }

  /** Before it is opened: sender threads are counted then. */
  keepToCores(cores: number): this {
    this.#child.keepToCores(cores);
    return this;
  }

  /** Opens the store and composes the engine; nothing moves before `start`. */
  async open(input: { readonly home: Home; readonly delivers: boolean }): Promise<this> {
    await this.#child.call("open", input);
    this.#witness = await openWitness(input.home);
    return this;
  }

  /** Starts all of it, HTTP API included, or these roles. It is ended with `kill`. */
  async serve(home: Home, roles?: ServeInput["roles"]): Promise<ServedProduct> {
    const served = await this.#child.call<ServedProduct>("serve", { home, roles });
    this.#witness = await openWitness(home);
    return served;
  }

  /** Returns their ids, in order. */
  createWebhooks(seeds: readonly WebhookSeed[]): Promise<readonly string[]> {
    return this.#child.call("createWebhooks", seeds);
  }

  park(input: ParkInput): Promise<void> {
    return this.#child.call("park", input);
  }

  writeOldEvents(input: OldEventsInput): Promise<void> {
    return this.#child.call("writeOldEvents", input);
  }

  /** Of its event loop since the last call; the first one begins to look. */
  longestStop(): Promise<LoopStop> {
    return this.#child.call("longestStop");
  }

  start(): Promise<void> {
    return this.#child.call("start");
  }

  flood(input: FloodInput): Promise<void> {
    return this.#child.call("flood", input);
  }

  paced(input: PacedInput): Promise<readonly PacedEvent[]> {
    return this.#child.call("paced", input);
  }

  /** As `paced`, with events of several tenants at times of their own, which are in order. */
  planned(events: readonly PlannedEvent[]): Promise<readonly PacedEvent[]> {
    return this.#child.call("planned", events);
  }

  /** Machine time at which no more than `left` deliveries wait. */
  committed(left = 0): Promise<number> {
    if (this.#witness === null) throw new Error("open or serve comes first");
    return committed(this.#witness, left);
  }

  usage(): Promise<Usage> {
    return this.#child.usage();
  }

  startProfile(): Promise<void> {
    return this.#child.call("startProfile");
  }

  stopProfile(file: string): Promise<void> {
    return this.#child.call("stopProfile", { file });
  }

  /** An orderly end: the store is closed. */
  async close(): Promise<void> {
    // First, so that the product is the last one to leave its file.
    await this.#lookAway();
    await this.#child.call("close");
    await this.#child.kill();
  }

  async kill(): Promise<void> {
    await this.#child.kill();
    await this.#lookAway();
  }

  async #lookAway(): Promise<void> {
    const witness = this.#witness;
    this.#witness = null;
    await witness?.close();
  }
}

/** The preload runs in the threads of the process too, and those that send resolve names. */
function nameServersFrom(resolvConf: string): Readonly<Record<string, string>> {
  const preload = new URL("replace-resolv-conf.ts", import.meta.url).href;
  const given = process.env["NODE_OPTIONS"] ?? "";
  return { NODE_OPTIONS: `${given} --import=${preload}`.trim(), BENCH_RESOLV_CONF: resolvConf };
}
