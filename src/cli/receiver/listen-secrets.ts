import { ownFile, readOwnFile, writeOwnFile } from "../own-files.ts";

/** The secret of `posthorn listen`, the same with each run: by server and port, in a file that only its owner can read. */
export class ListenSecrets {
  readonly #path: string | null;
  readonly #name: string;
  #isKept = false;

  constructor(of: {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly server: string;
    /** 0 for any. */
    readonly port: number;
  }) {
    this.#path = ownFile("listen.json", of.env);
    this.#name = `${of.server} ${of.port}`;
  }

  /** Whether the next run has the secret of this one. */
  get isKept(): boolean {
    return this.#isKept;
  }

  last(): string | null {
    const secret = readOwnFile(this.#path)[this.#name];
    this.#isKept = typeof secret === "string";
    return typeof secret === "string" ? secret : null;
  }

  keep(secret: unknown): void {
    if (this.#path === null || typeof secret !== "string") return;
    try {
      writeOwnFile(this.#path, { ...readOwnFile(this.#path), [this.#name]: secret });
      this.#isKept = true;
    } catch {
      // A home that cannot be written is no reason not to listen.
    }
  }

  /** This run has another one. */
  leave(): void {
    this.#isKept = false;
  }
}
