import type { PostgresServer } from "../../services/postgres-server.fixture.ts";

const lookMs = 200;

/** Counts the connections that the server holds for each process, until it is stopped. */
export class ConnectionsHeld {
  readonly #server: PostgresServer;
  #mostOfOne = 0;
  #looks = 0;
  #isStopped = false;
  readonly #looking: Promise<void>;

  constructor(server: PostgresServer) {
    this.#server = server;
    this.#looking = this.#look();
  }

  /** Returns the highest number of connections of a single process in any poll, and the number of polls. */
  async stop(): Promise<{ readonly mostOfOne: number; readonly looks: number }> {
    this.#isStopped = true;
    await this.#looking;
    return { mostOfOne: this.#mostOfOne, looks: this.#looks };
  }

  async #look(): Promise<void> {
    while (!this.#isStopped) {
      const rows = await this.#server
        .query(
          `SELECT count(*)::int AS held FROM pg_stat_activity WHERE application_name LIKE 'posthorn %'
           GROUP BY application_name ORDER BY 1 DESC LIMIT 1`,
        )
        .catch(() => []);
      this.#mostOfOne = Math.max(this.#mostOfOne, Number(rows[0]?.["held"] ?? 0));
      this.#looks += 1;
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
  }
}
