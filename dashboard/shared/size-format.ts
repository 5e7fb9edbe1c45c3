const units = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const;

/** `512 bytes`, `1.4 GiB`. */
export function byteSize(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 1_024 ** power;
  return `${power === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`;
}
