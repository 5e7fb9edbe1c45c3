/** The command palette: a text field over a list of options, after the combobox pattern of ARIA. */
import { signal } from "@preact/signals";
import { createRef } from "preact";
import { useEffect, useId } from "preact/hooks";
import { Icon } from "../../shared/ui/icon.tsx";
import { steppedIndex, type PaletteEntry } from "./entries.ts";
import { usePaletteEntries } from "./use-entries.ts";

const dialog = createRef<HTMLDialogElement>();
const field = createRef<HTMLInputElement>();
const text = signal("");
const active = signal(0);
/** How often it was opened; 0 while it is closed. */
const opening = signal(0);
let openings = 0;

/** Takes the focus before it returns, whatever the page is doing: what is typed next goes to the palette. */
export function openPalette(): void {
  if (dialog.current === null || field.current === null || dialog.current.open) return;
  field.current.value = "";
  text.value = "";
  active.value = 0;
  openings += 1;
  opening.value = openings;
  dialog.current.showModal();
  field.current.focus();
}

/** Tells of a `close` event: it comes late, when the palette may be open again. */
function onClose(): void {
  if (dialog.current?.open !== true) opening.value = 0;
}

export function Palette() {
  const id = useId();
  const isOpen = opening.value > 0;
  const { entries, isSearching } = usePaletteEntries(text.value, opening.value);
  const at = Math.min(active.value, Math.max(0, entries.length - 1));
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at, entries.length]);
  const choose = (entry: PaletteEntry | undefined) => {
    if (entry === undefined) return;
    dialog.current?.close();
    // After the dialog has given the focus back, so that what runs may move it on.
    queueMicrotask(entry.run);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const by = steps[event.key];
    if (by !== undefined) active.value = steppedIndex(at, { by, count: entries.length });
    else if (event.key === "Enter" && !event.isComposing) choose(entries[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Search and commands"
      onClose={onClose}
      onClick={({ target, currentTarget }) => target === currentTarget && currentTarget.close()}
    >
      <div class="palette-field">
        <Icon name="search" />
        <input
          ref={field}
          type="text"
          role="combobox"
          aria-label="Page, command, id, key or URL"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={entries.length === 0 ? undefined : `${id}-${at}`}
          aria-autocomplete="list"
          autocomplete="off"
          spellcheck={false}
          placeholder="Page, command, id, idempotency key or URL"
          maxLength={255}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
            active.value = 0;
          }}
          onKeyDown={onKeyDown}
        />
        <kbd aria-hidden="true">Esc</kbd>
      </div>
      {isOpen && <Options id={id} entries={entries} at={at} choose={choose} />}
      <p class="palette-end soft" role="status">
        {isOpen && (isSearching ? "Searching…" : countText(entries.length))}
      </p>
    </dialog>
  );
}

function countText(count: number): string {
  if (count === 0) return "Nothing has this id, key, URL or name.";
  return `${count} ${count === 1 ? "entry" : "entries"}`;
}

function Options(props: {
  readonly id: string;
  readonly entries: readonly PaletteEntry[];
  readonly at: number;
  readonly choose: (entry: PaletteEntry) => void;
}) {
  const { id, entries, at, choose } = props;
  return (
    <ul id={`${id}-list`} role="listbox" aria-label="Entries" class="palette-list">
      {entries.map((entry, index) => (
        <li
          key={entry.id}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          data-group={entries[index - 1]?.group === entry.group ? undefined : entry.group}
          onClick={() => choose(entry)}
        >
          <span class="palette-title">{entry.title}</span>
          <span class="palette-hint">{entry.hint}</span>
        </li>
      ))}
    </ul>
  );
}
