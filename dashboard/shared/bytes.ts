/** Decodes base64 in API responses. */
export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Null if the bytes are not valid UTF-8. */
export function utf8Text(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

const shownMax = 4_096;
const lineLength = 16;

/** Hex dump with sixteen bytes per line and their offset, up to 4,096 bytes. */
export function hexText(bytes: Uint8Array): string {
  const shown = bytes.subarray(0, shownMax);
  const lines = Array.from({ length: Math.ceil(shown.length / lineLength) }, (_, line) => {
    const start = line * lineLength;
    const pairs = [...shown.subarray(start, start + lineLength)].map((byte) =>
      byte.toString(16).padStart(2, "0"),
    );
    return `${start.toString(16).padStart(6, "0")}  ${pairs.join(" ")}`;
  });
  if (bytes.length > shownMax) lines.push(`and ${bytes.length - shownMax} more bytes`);
  return lines.join("\n");
}

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const;

/** `512 bytes`, `1.4 GiB`. */
export function byteSize(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 1_024 ** power;
  return `${power === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`;
}
