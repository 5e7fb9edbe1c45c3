/** What a command adds to a transaction. */
export interface WriteSize {
  /** Rows it writes, about: an event and each of its deliveries is one. */
  readonly rows: number;
  /** Of the bodies it stores. */
  readonly bytes: number;
}

/**
 * Commands that wait for a transaction, in the order in which they came. A transaction is cut by rows and bytes, not by
 * commands, because SQLite writes on the event loop: one event may have ten thousand deliveries.
 */
export class WaitingWrites<Command extends { readonly size: WriteSize }> {
  readonly #commands: Command[] = [];
  #rows = 0;

  get length(): number {
    return this.#commands.length;
  }

  /** Of all that waits. */
  get rows(): number {
    return this.#rows;
  }

  push(command: Command): void {
    this.#commands.push(command);
    this.#rows += command.size.rows;
  }

  /** As many of the oldest as fit; at least one, because a command is never split. */
  take(room: WriteSize): Command[] {
    let { rows, bytes } = room;
    let count = 0;
    for (const { size } of this.#commands) {
      if (count > 0 && (size.rows > rows || size.bytes > bytes)) break;
      rows -= size.rows;
      bytes -= size.bytes;
      count += 1;
    }
    this.#rows -= room.rows - rows;
    return this.#commands.splice(0, count);
  }

  takeAll(): Command[] {
    this.#rows = 0;
    return this.#commands.splice(0);
  }
}

export function rowsOf(commands: readonly { readonly size: WriteSize }[]): number {
  return commands.reduce((sum, { size }) => sum + size.rows, 0);
}
