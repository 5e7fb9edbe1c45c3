/** What a listing answers at a time. */
export interface Page<Row> {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
}

/**
 * A listing: `for await (const row of pages)` goes through all of it, page after page, asked for as they are needed.
 * Nothing is asked before.
 */
export class Pages<Row, Answer extends Page<Row> = Page<Row>> implements AsyncIterable<Row> {
  readonly #ask: (cursor: string | undefined) => Promise<Answer>;

  constructor(ask: (cursor: string | undefined) => Promise<Answer>) {
    this.#ask = ask;
  }

  /** One page with all that the server says beside the rows; `cursor` is the `next_cursor` of the one before. */
  page(cursor?: string): Promise<Answer> {
    return this.#ask(cursor);
  }

  async *pages(): AsyncGenerator<Answer, void, undefined> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: Answer = await this.#ask(cursor);
      yield page;
      cursor = page.next_cursor;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }

  /** The first rows, at most so many. */
  async take(count: number): Promise<Row[]> {
    const rows: Row[] = [];
    if (count <= 0) return rows;
    for await (const row of this) {
      rows.push(row);
      if (rows.length >= count) break;
    }
    return rows;
  }
}
