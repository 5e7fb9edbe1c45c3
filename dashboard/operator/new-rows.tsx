import { isFollowing } from "./following.ts";
import type { SettledRows } from "./use-settled-rows.ts";

/** Button that shows new rows, and the checkbox to follow them automatically. */
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
