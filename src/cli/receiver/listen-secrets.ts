import { ownFile, readOwnFile, writeOwnFile } from "../own-files.ts";

/** Keeps the secret of `posthorn listen` between runs, by server and port, in a file readable only by its owner. */
export class ListenSecrets {
  readonly #path: string | null;
  readonly #name: string;
  #isKept = false;

  constructor(
    env: Readonly<Record<string, string | undefined>>,
    server: string,
    /** 0 for any port. */ port: number,
  ) {
    this.#path = ownFile("listen.json", env);
    this.#name = `${server} ${port}`;
  }

  /** Whether the next run will use the same secret. */
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
      // A read-only home folder must not prevent listening.
    }
  }

  /** Marks that this run uses another secret. */
  leave(): void {
    this.#isKept = false;
  }
}
