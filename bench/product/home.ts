/** Where a product keeps what it knows. */
export interface Home {
  /** On disk; with servers there is little in it. */
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
  readonly queuePrefix?: string;
  readonly redisUrl?: string;
  readonly redisPrefix?: string;
}
