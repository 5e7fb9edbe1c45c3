import { isFollowing } from "./following.ts";
import type { SettledRows } from "./use-settled-rows.ts";

/** Beside the title of a list: rows that wait until they are asked for, and whether they come in by themselves. */
export function NewRows(
  props: Pick<SettledRows<never>, "waiting" | "merge"> & { readonly pageSize: number },
) {
  const { waiting, merge, pageSize } = props;
  return (
    <>
      {waiting > 0 && (
        <button type="button" onClick={merge}>
          {waiting >= pageSize ? `${pageSize} or more` : waiting} new
        </button>
      )}
      <label>
        <input
          type="checkbox"
          checked={isFollowing.value}
          onChange={({ currentTarget }) => (isFollowing.value = currentTarget.checked)}
        />{" "}
        follow
      </label>
    </>
  );
}
