import type { Page } from "../shared/resources.ts";
import { When } from "../shared/ui/when.tsx";

/** How far back a search got within its time, and how it goes on. */
export function SearchedTo({
  end,
  more,
}: {
  readonly end: Page<unknown>;
  readonly more: () => Promise<void>;
}) {
  const { next_cursor, complete = true, searched_to = null } = end;
  return (
    <p class="table-end">
      {!complete && searched_to !== null && (
        <span class="soft">
          Searched back to <When at={searched_to} isExact />.
        </span>
      )}
      {!complete && searched_to === null && (
        <span class="soft">There was no time to put all of them in order; the rest stands at the end.</span>
      )}
      {next_cursor !== null && (
        <button type="button" onClick={() => void more()}>
          {complete ? "Older" : "Search further"}
        </button>
      )}
    </p>
  );
}
