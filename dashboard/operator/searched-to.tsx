import type { Page } from "../shared/resources.ts";
import { When } from "../shared/ui/when.tsx";

/** Shows how far back a time-limited search reached, with a button to continue. */
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
        <span class="soft">The time limit was reached while sorting. Unsorted rows are at the end.</span>
      )}
      {next_cursor !== null && (
        <button type="button" onClick={() => void more()}>
          {complete ? "Older" : "Continue search"}
        </button>
      )}
    </p>
  );
}
