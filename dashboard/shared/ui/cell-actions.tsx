import { useAddress } from "../address.ts";
import { announce } from "./announcer.tsx";
import { copyText } from "./copy-button.tsx";
import { Icon, type IconName } from "./icon.tsx";

/** Values of a parameter of the address. */
interface CellFilter {
  readonly name: string;
  readonly values: readonly string[];
}

export interface CellValue {
  readonly text: string;
  /** Narrows the list to what has this value. */
  readonly only?: CellFilter;
  /** Narrows it to what has another one, where the API can. */
  readonly without?: CellFilter;
}

interface CellActionsProps {
  readonly title: string;
  readonly value: CellValue | null;
  readonly peek?: () => void;
}

/** What can be done with one cell: they stand in the cell that is pointed at or has the focus, and nowhere else. */
export function CellActions({ title, value, peek }: CellActionsProps) {
  const { set } = useAddress();
  const narrow = ({ name, values }: CellFilter) => set({ [name]: values });
  return (
    <span class="cell-actions" role="group" aria-label={`${title}: actions`}>
      {peek !== undefined && <CellButton icon="peek" label="Show beside the list" act={peek} />}
      {value !== null && (
        <>
          <CellButton
            icon="copy"
            label={`Copy ${title.toLowerCase()}`}
            act={() => void copyText(value.text).then(() => announce("Copied"))}
          />
          <FilterButton icon="filter" label={`Only ${value.text}`} filter={value.only} narrow={narrow} />
          <FilterButton
            icon="without"
            label={`Without ${value.text}`}
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
  return filter === undefined ? null : <CellButton icon={icon} label={label} act={() => narrow(filter)} />;
}

function CellButton(props: { readonly icon: IconName; readonly label: string; readonly act: () => void }) {
  const { icon, label, act } = props;
  return (
    <button type="button" class="quiet icon-button" aria-label={label} title={label} onClick={act}>
      <Icon name={icon} />
    </button>
  );
}
