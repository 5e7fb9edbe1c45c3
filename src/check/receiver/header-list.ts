/** Headers as a flat name-value list; names are case-insensitive. */

/** The headers without the named one. */
export function withoutHeader(headers: readonly string[], name: string): readonly string[] {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === name.toLowerCase()) continue;
    kept.push(headers[index] as string, headers[index + 1] as string);
  }
  return kept;
}

/** The headers with the named one replaced, or appended if it was missing. */
export function withHeader(headers: readonly string[], name: string, value: string): readonly string[] {
  return [...withoutHeader(headers, name), name, value];
}

export function headerOf(headers: readonly string[], name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === name.toLowerCase()) return headers[index + 1];
  }
  return undefined;
}
