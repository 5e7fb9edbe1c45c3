import type { LiveNews, Sight } from "./live-news.ts";

/** A short list that is polled as a whole. */
export interface RowSightOptions<Row> {
  readonly read: () => Promise<readonly Row[]>;
  readonly idOf: (row: Row) => string;
  /** A row has changed if this text differs. */
  readonly textOf: (row: Row) => string;
  readonly newsOf: (rows: readonly Row[]) => LiveNews;
}

/** Number of latest rows that are polled. */
export const sightRowsMax = 50;

/** Tracks the latest visible rows of a list and reports new and changed ones. */
export class RowSight<Row> implements Sight {
  readonly #options: RowSightOptions<Row>;
  #told = new Map<string, string>();

  constructor(options: RowSightOptions<Row>) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    await this.look();
  }

  /** Sends the few rows again, which is harmless. */
  async missedSince(): Promise<readonly LiveNews[]> {
    return this.#news(await this.#options.read());
  }

  async look(): Promise<readonly LiveNews[]> {
    const { read, idOf, textOf } = this.#options;
    const rows = await read();
    const now = new Map(rows.map((row) => [idOf(row), textOf(row)]));
    const changed = rows.filter((row) => now.get(idOf(row)) !== this.#told.get(idOf(row)));
    this.#told = now;
    return this.#news(changed);
  }

  #news(rows: readonly Row[]): readonly LiveNews[] {
    return rows.length === 0 ? [] : [this.#options.newsOf(rows)];
  }
}
