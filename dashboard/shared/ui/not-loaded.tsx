import type { Loaded } from "../queries.ts";
import { ErrorNote } from "./error-note.tsx";

/** A page in place of its content: it is loading, or could not be loaded. */
export function NotLoaded({ error }: Pick<Loaded<unknown>, "error">) {
  return error === null ? <p class="waiting soft">Loading…</p> : <ErrorNote error={error} />;
}
