/** The size of a command in a transaction. */
export interface WriteSize {
  /** Approximate number of rows: one for an event and one for each delivery. */
  readonly rows: number;
  /** Size of the bodies. */
  readonly bytes: number;
}

/**
 * Commands that wait for a transaction, in order of arrival. A transaction is limited by rows and bytes, not by
 * commands, because SQLite writes on the event loop and one event may have ten thousand deliveries.
 */
export class WaitingWrites<Command extends { readonly size: WriteSize }> {
  readonly #commands: Command[] = [];
  #rows = 0;

  get length(): number {
    return this.#commands.length;
  }

  /** Rows of all waiting commands. */
  get rows(): number {
    return this.#rows;
  }

  push(command: Command): void {
    this.#commands.push(command);
    this.#rows += command.size.rows;
  }

  /** Takes as many of the oldest commands as fit; at least one, because a command is never split. */
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
