import type { Settings } from "../../src/config/options.ts";
import type { SignatureSchemeName } from "../../src/domain/profile.ts";
import { Child } from "../process/child.ts";
import type { ProductCalls } from "./main.ts";
import { committed, openWitness, type Witness } from "./witness.ts";

/** Where a product keeps its data. */
export interface Home {
  /** On disk. With servers there is little in it. */
  readonly dataDir: string;
  /** Without servers the product is embedded. */
  readonly servers?: ServerSettings;
  /** False keeps no statistics. */
  readonly stats?: boolean;
  /** A collector that gets traces of one event in a thousand. */
  readonly tracesTo?: string;
}

/** Settings of the product (src/config/options.ts). */
export interface ServerSettings {
  readonly databaseUrl: string;
  readonly masterKey: string;
  readonly queueUrl?: string;
  readonly redisUrl?: string;
}

/** How long the event loop stopped, and the processor time of its thread in the longest turn. */
export interface LoopStop {
  readonly ms: number;
  readonly processorMs: number;
}

export interface WebhookSeed {
  readonly url: string;
  readonly eventType: string;
  readonly schemes: readonly SignatureSchemeName[];
  /** Created if missing. The default tenant if absent. */
  readonly tenantId?: string;
  readonly timeoutMs?: number;
}

export interface ServeInput {
  readonly home: Home;
  /** All by default. */
  readonly roles?: Settings["roles"] | undefined;
}

export interface ServedProduct {
  /** Empty if this process serves no API. */
  readonly url: string;
  readonly adminKey: string;
}

/** Calls the HTTP API of the product, such as `POST /v1/events`. Throws unless it succeeds. Returns the response body. */
export async function callApi(
  { url, adminKey }: ServedProduct,
  call: string,
  body?: object,
): Promise<string> {
  const [method = "", path = ""] = call.split(" ");
  const headers = { "authorization": `Bearer ${adminKey}`, "content-type": "application/json" };
  const response = await fetch(url + path, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${call}: ${response.status} ${text}`);
  return text;
}

export interface FloodInput {
  readonly events: number;
  /** They take turns. */
  readonly types: readonly string[];
  /** Events of one `publishMany`. */
  readonly batch: number;
  readonly deliveriesPerEvent: number;
  /** Deliveries published and not settled. */
  readonly outstandingMax: number;
  /** Deliveries of this type do not count as outstanding: they never end. */
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

/** The product in a separate process. */
export class ProductProcess extends Child<ProductCalls> {
  #witness: Witness | null = null;

  /** With `resolvConf`, it asks the name servers of that file. */
  constructor(resolvConf: string | null = null) {
    const env = resolvConf === null ? {} : nameServersFrom(resolvConf);
    super(new URL("main.ts", import.meta.url), env);
  }

  /** Opens the store and composes the engine. Nothing runs before `start`. Without `delivers` it only publishes. */
  async open(home: Home, delivers: boolean): Promise<this> {
    try {
      await this.call("open", { home, delivers });
      this.#witness = await openWitness(home);
      return this;
    } catch (error) {
      // Callers have nothing to end yet, and a process that is left keeps the harness from ending.
      await this.kill();
      throw error;
    }
  }

  /** Starts all of it, HTTP API included, or these roles. It is ended with `kill`. */
  async serve(home: Home, roles?: ServeInput["roles"]): Promise<ServedProduct> {
    const served = await this.call("serve", { home, roles });
    this.#witness = await openWitness(home);
    return served;
  }

  /** Machine time at which no more than `left` deliveries wait. */
  committed(left = 0): Promise<number> {
    if (this.#witness === null) throw new Error("open or serve comes first");
    return committed(this.#witness, left);
  }

  /** An orderly end: the store is closed. */
  async close(): Promise<void> {
    // First, so that the product is the last one to leave its file.
    await this.#lookAway();
    await this.call("close");
    await super.kill();
  }

  override async kill(): Promise<void> {
    await super.kill();
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
