/** Whole numbers from 0 to 2^53 - 1 in as few bytes as possible, seven bits per byte, lowest first (LEB128). */
export class VarintWriter {
  readonly #bytes: number[] = [];

  write(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.#bytes.push((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    this.#bytes.push(rest);
  }

  done(): Uint8Array {
    return new Uint8Array(this.#bytes);
  }
}

/** Reads what {@link VarintWriter} wrote. Throws RangeError if the bytes end within a number. */
export class VarintReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  read(): number {
    // Most numbers are small.
    const first = this.#bytes[this.#at];
    if (first !== undefined && first < 128) {
      this.#at += 1;
      return first;
    }
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw new RangeError("packed counts end within a number");
      this.#at += 1;
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
  }
}
