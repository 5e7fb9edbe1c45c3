// What is caught may be anything: a program may throw what is no error, and only errors of the system have a code.

/** `ECONNREFUSED`, `ERR_INVALID_STATE`, a SQLSTATE and their like; null for what has none. */
export function codeOf(thrown: unknown): string | null {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : null;
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
