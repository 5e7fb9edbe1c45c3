/** Converts every name of a plain data object, such as a profile, to snake_case. Values are unchanged. */
export function snakeCaseJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCaseJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [snakeCase(name), snakeCaseJson(child)]),
  );
}

export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
