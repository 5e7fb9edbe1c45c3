import type { Settings } from "../../src/config/options.ts";
import type { SignatureSchemeName } from "../../src/domain/profile.ts";
import { Child } from "../process/child.ts";
import type { ProductCalls } from "./main.ts";
import { committed, openWitness, type Witness } from "./witness.ts";

/** Where an instance of Posthorn stores its data. */
export interface Home {
  /** Data directory. If `servers` is set, it contains little data. */
  readonly dataDir: string;
  /** Servers for the store and the queue. If omitted, Posthorn uses the embedded store. */
  readonly servers?: ServerSettings;
  /** False disables statistics. */
  readonly stats?: boolean;
  /** A trace collector that receives traces of one event in a thousand. */
  readonly tracesTo?: string;
}

/** Settings of Posthorn (src/config/options.ts). */
export interface ServerSettings {
  readonly databaseUrl: string;
  readonly masterKey: string;
  readonly queueUrl?: string;
  readonly redisUrl?: string;
}

/** How long the event loop was blocked, and the CPU time of its thread in the longest turn. */
export interface LoopStop {
  readonly ms: number;
  readonly processorMs: number;
}

export interface WebhookSeed {
  readonly url: string;
  readonly eventType: string;
  readonly schemes: readonly SignatureSchemeName[];
  /** The tenant is created if it does not exist. Defaults to the default tenant. */
  readonly tenantId?: string;
  readonly timeoutMs?: number;
}

export interface ServeInput {
  readonly home: Home;
  /** Defaults to all roles. */
  readonly roles?: Settings["roles"] | undefined;
}

export interface ServedProduct {
  /** Empty if this process does not serve the API. */
  readonly url: string;
  readonly adminKey: string;
}

/** Calls the HTTP API of Posthorn, such as `POST /v1/events`. Throws if the call fails. Returns the response body. */
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
  /** Event types, used in round-robin order. */
  readonly types: readonly string[];
  /** Number of events per `publishMany` call. */
  readonly batch: number;
  readonly deliveriesPerEvent: number;
  /** Maximum number of deliveries that are published but not settled. */
  readonly outstandingMax: number;
  /** Event type whose deliveries do not count as outstanding, because they are never settled. */
  readonly uncountedType: string | null;
  readonly tenantId?: string;
}

export interface PacedInput {
  readonly perSecond: number;
  readonly durationMs: number;
  readonly types: readonly string[];
}

/** One event of an open loop, `atMs` after the start of the loop. */
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

/** Posthorn in a separate process. */
export class ProductProcess extends Child<ProductCalls> {
  #witness: Witness | null = null;

  /** If `resolvConf` is set, the process queries the name servers in that file. */
  constructor(resolvConf: string | null = null) {
    const env = resolvConf === null ? {} : nameServersFrom(resolvConf);
    super(new URL("main.ts", import.meta.url), env);
  }

  /**
   * Opens the store and assembles the engine. Nothing runs before `start`. If `delivers` is false, it only publishes.
   */
  async open(home: Home, delivers: boolean): Promise<this> {
    try {
      await this.call("open", { home, delivers });
      this.#witness = await openWitness(home);
      return this;
    } catch (error) {
      // The caller has no object to close yet, and a running child would keep the harness from exiting.
      await this.kill();
      throw error;
    }
  }

  /** Starts all roles, including the HTTP API, or only the given roles. Use `kill` to stop it. */
  async serve(home: Home, roles?: ServeInput["roles"]): Promise<ServedProduct> {
    const served = await this.call("serve", { home, roles });
    this.#witness = await openWitness(home);
    return served;
  }

  /** Returns the machine's clock reading (ms) once at most `left` deliveries are waiting. */
  committed(left = 0): Promise<number> {
    if (this.#witness === null) throw new Error("open or serve comes first");
    return committed(this.#witness, left);
  }

  /** Shuts down properly, including closing the store. */
  async close(): Promise<void> {
    // The witness is closed first, so that the product is the last one to close the database file.
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

/** The preload also runs in the threads of the process, because the sender threads resolve names. */
function nameServersFrom(resolvConf: string): Readonly<Record<string, string>> {
  const preload = new URL("replace-resolv-conf.ts", import.meta.url).href;
  const given = process.env["NODE_OPTIONS"] ?? "";
  return { NODE_OPTIONS: `${given} --import=${preload}`.trim(), BENCH_RESOLV_CONF: resolvConf };
}
