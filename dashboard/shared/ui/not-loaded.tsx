import type { Loaded } from "../queries.ts";
import { ErrorNote } from "./error-note.tsx";

/** Placeholder while a page is loading or after loading failed. */
export function NotLoaded({ error }: Pick<Loaded<unknown>, "error">) {
  return error === null ? <p class="waiting soft">Loading…</p> : <ErrorNote error={error} />;
}
