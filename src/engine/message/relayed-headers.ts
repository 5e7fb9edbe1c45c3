/** Dictionary headers (RFC 9421) to which the sender's signature is added under its own label. */
const dictionaries = new Set(["signature", "signature-input"]);
const label = /^[a-z*][a-z0-9_.*-]*(?==)/;

/** Adds forwarded headers, except those that the profile writes. Both are flat name-value lists. */
export function addRelayed(headers: string[], relayed: readonly string[]): void {
  const places = new Map<string, number>();
  for (const [at, text] of headers.entries()) if (at % 2 === 0) places.set(text.toLowerCase(), at);
  for (const [at, name] of relayed.entries()) {
    if (at % 2 === 1) continue;
    const value = relayed[at + 1] ?? "";
    const written = places.get(name.toLowerCase());
    if (written === undefined) headers.push(name, value);
    else if (dictionaries.has(name.toLowerCase())) {
      const own = headers[written + 1] ?? "";
      const isTaken = value.includes(`${label.exec(own)?.[0] ?? ""}=`);
      if (!isTaken) headers[written + 1] = `${own}, ${value}`;
    }
  }
}
