import { tryParseJson } from "../../domain/json/json-text.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { GatewayStore } from "../../ports/store/gateway.ts";
import { verifierFromConfiguration, withSecrets } from "../../receiver/configured/configured-verifier.ts";
import type { SourceVerifier } from "../../receiver/configured/source-verifier.ts";
import type { Connection, Source } from "./source.ts";

/** All sources and connections in memory, because every inbound request needs them. */
export class GatewayDirectory {
  readonly #store: Pick<GatewayStore, "sources" | "connections">;
  #sources = new Map<string, Source>();
  #connections = new Map<string, Connection>();
  #byToken = new Map<string, Source>();
  #byParty = new Map<string, Source>();
  #bySource = new Map<string, readonly Connection[]>();
  #changes = 0;

  constructor(store: Pick<GatewayStore, "sources" | "connections">) {
    this.#store = store;
  }

  /** Loads all sources and connections. Called at startup, and after changes by other processes. */
  async load(): Promise<void> {
    for (let changes = -1; changes !== this.#changes; ) {
      changes = this.#changes;
      const sources = await this.#store.sources();
      const connections = await this.#store.connections();
      // Read again if this process made changes during the read, because the result may lack them.
      if (changes !== this.#changes) continue;
      this.#sources = new Map(sources.map((source) => [source.id, source]));
      this.#connections = new Map(connections.map((connection) => [connection.id, connection]));
      this.#index();
    }
  }

  sources(): readonly Source[] {
    return [...this.#sources.values()];
  }

  source(id: string): Source | undefined {
    return this.#sources.get(id);
  }

  /** Looks up a source by the hash of its secret address, if that address is still valid. */
  sourceByToken(hash: string, now: number): Source | undefined {
    const source = this.#byToken.get(hash);
    const token = source?.tokens.find((one) => one.hash === hash);
    if (token === undefined || (token.expiresAt !== null && token.expiresAt <= now)) return undefined;
    return source;
  }

  sourceByParty(party: string): Source | undefined {
    return this.#byParty.get(party);
  }

  connections(): readonly Connection[] {
    return [...this.#connections.values()];
  }

  connection(id: string): Connection | undefined {
    return this.#connections.get(id);
  }

  /** The connections of a source, in order of creation. */
  connectionsOf(sourceId: string): readonly Connection[] {
    return this.#bySource.get(sourceId) ?? [];
  }

  /** Stores the source in memory. Like the other setters, called after the store has written it. */
  setSource(source: Source): void {
    this.#sources.set(source.id, source);
    this.#changed();
  }

  removeSource(id: string): void {
    this.#sources.delete(id);
    for (const { id: connectionId } of this.connectionsOf(id)) this.#connections.delete(connectionId);
    this.#changed();
  }

  setConnection(connection: Connection): void {
    this.#connections.set(connection.id, connection);
    this.#changed();
  }

  removeConnection(id: string): void {
    this.#connections.delete(id);
    this.#changed();
  }

  #changed(): void {
    this.#changes += 1;
    this.#index();
  }

  #index(): void {
    const sources = this.sources();
    this.#byToken = new Map(
      sources.flatMap((source) => source.tokens.map(({ hash }) => [hash, source] as const)),
    );
    this.#byParty = new Map(
      sources.flatMap((source) => (source.party === null ? [] : [[source.party, source] as const])),
    );
    this.#bySource = Map.groupBy(
      this.connections().toSorted((left, right) => (left.id < right.id ? -1 : 1)),
      ({ sourceId }) => sourceId,
    );
  }
}

/** Placeholder shown in place of a secret. */
const masked = "…";

/** Seals verifier configurations, and creates a verifier from each of them once per saved source. */
export class VerificationBox {
  readonly #secretBox: SecretBox;
  readonly #verifiers = new WeakMap<Source, SourceVerifier>();

  constructor(secretBox: SecretBox) {
    this.#secretBox = secretBox;
  }

  seal({ id }: Pick<Source, "id">, plaintext: string): string {
    return Buffer.from(this.#secretBox.seal(plaintext, contextOf(id))).toString("base64");
  }

  open({ id }: Pick<Source, "id">, sealed: string): string {
    const ciphertext = Buffer.from(sealed, "base64");
    return this.#secretBox.open(ciphertext, contextOf(id));
  }

  shown(source: Source): Readonly<Record<string, unknown>> {
    return withSecrets(this.#configuration(source), () => masked) as Readonly<Record<string, unknown>>;
  }

  /**
   * The verifier of a source. Throws if the configuration cannot be read or used; in that case, all messages are
   * rejected.
   */
  verifier(source: Source): SourceVerifier {
    const known = this.#verifiers.get(source);
    if (known !== undefined) return known;
    const made = verifierFromConfiguration(this.#configuration(source));
    if (made.kind === "invalid") throw new Error(`the verification of source ${source.id} cannot be used`);
    this.#verifiers.set(source, made.source);
    return made.source;
  }

  #configuration(source: Source): unknown {
    return tryParseJson(this.open(source, source.verification));
  }
}

function contextOf(id: string): string {
  return `gateway source ${id}`;
}
