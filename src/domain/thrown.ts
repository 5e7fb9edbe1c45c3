// Helpers for caught values, which may be anything: not every thrown value is an Error, and only system errors have a
// code.

/** A code such as `ECONNREFUSED`, `ERR_INVALID_STATE` or a SQLSTATE; null if there is none. */
export function codeOf(thrown: unknown): string | null {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : null;
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
