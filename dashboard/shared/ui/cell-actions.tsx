import { useAddress } from "../address.ts";
import { announce } from "./announcer.tsx";
import { copyText } from "./copy-button.tsx";
import { IconButton, type IconName } from "./icon.tsx";

/** Values of a URL parameter. */
interface CellFilter {
  readonly name: string;
  readonly values: readonly string[];
}

export interface CellValue {
  readonly text: string;
  /** Filters the list to this value. */
  readonly only?: CellFilter;
  /** Excludes this value, if the API supports it. */
  readonly without?: CellFilter;
}

interface CellActionsProps {
  readonly title: string;
  readonly value: CellValue | null;
  readonly peek?: () => void;
}

/** Actions of a cell, shown only in the hovered or focused cell. */
export function CellActions({ title, value, peek }: CellActionsProps) {
  const { set } = useAddress();
  const narrow = ({ name, values }: CellFilter) => set({ [name]: values });
  return (
    <span class="cell-actions" role="group" aria-label={`${title}: actions`}>
      {peek !== undefined && <IconButton icon="peek" label="Open in panel" onClick={peek} />}
      {value !== null && (
        <>
          <IconButton
            icon="copy"
            label={`Copy ${title.toLowerCase()}`}
            onClick={() => void copyText(value.text).then(() => announce("Copied"))}
          />
          <FilterButton icon="filter" label={`Only ${value.text}`} filter={value.only} narrow={narrow} />
          <FilterButton
            icon="without"
            label={`Exclude ${value.text}`}
            filter={value.without}
            narrow={narrow}
          />
        </>
      )}
    </span>
  );
}

function FilterButton(props: {
  readonly icon: IconName;
  readonly label: string;
  readonly filter: CellFilter | undefined;
  readonly narrow: (filter: CellFilter) => void;
}) {
  const { icon, label, filter, narrow } = props;
  return filter === undefined ? null : (
    <IconButton icon={icon} label={label} onClick={() => narrow(filter)} />
  );
}
