import type { LiveNews, Sight } from "./live-news.ts";

/** A short list that is looked at as a whole. */
export interface RowSightOptions<Row> {
  readonly read: () => Promise<readonly Row[]>;
  readonly idOf: (row: Row) => string;
  /** A row is news when this differs from what it was. */
  readonly textOf: (row: Row) => string;
  readonly newsOf: (rows: readonly Row[]) => LiveNews;
}

/** So many of the newest rows are looked at. */
export const sightRowsMax = 50;

/** The newest rows of a list that whoever listens may see; those that are new or changed are told. */
export class RowSight<Row> implements Sight {
  readonly #options: RowSightOptions<Row>;
  #told = new Map<string, string>();

  constructor(options: RowSightOptions<Row>) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    await this.look();
  }

  /** They are few, and telling them once more does no harm. */
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
