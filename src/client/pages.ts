/** One page of a list. */
export interface Page<Row> {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
}

/**
 * A list: `for await (const row of pages)` iterates over all rows and requests pages as they are needed. No request is
 * sent before that.
 */
export class Pages<Row, Answer extends Page<Row> = Page<Row>> implements AsyncIterable<Row> {
  readonly #ask: (cursor: string | undefined) => Promise<Answer>;

  constructor(ask: (cursor: string | undefined) => Promise<Answer>) {
    this.#ask = ask;
  }

  /** One page with everything the server returns; `cursor` is the `next_cursor` of the previous page. */
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

  /** The first `count` rows, or fewer if the list ends. */
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
