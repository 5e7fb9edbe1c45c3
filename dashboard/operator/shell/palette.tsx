/**
 * The command palette: a text field and a list of options, following the ARIA combobox pattern. It is a popover with
 * the dialog role, because a modal `<dialog>` makes the page inert, which recomputes the style of every element twice.
 */
import { signal } from "@preact/signals";
import { createRef } from "preact";
import { useEffect, useId } from "preact/hooks";
import { counted } from "../../shared/format.ts";
import { Icon } from "../../shared/ui/icon.tsx";
import { usePaletteEntries } from "./palette-entries.ts";
import { type PaletteEntry, steppedIndex } from "./palette-search.ts";

const layer = createRef<HTMLDivElement>();
const field = createRef<HTMLInputElement>();
const text = signal("");
const active = signal(0);
/** Number of the current opening, or 0 while the palette is closed. */
const opening = signal(0);
let openings = 0;
/** Element that regains the focus when the palette closes. */
let opener: Element | null = null;

/** Takes the focus synchronously, so that the next key press goes to the palette. */
export function openPalette(): void {
  if (layer.current === null || field.current === null || layer.current.matches(":popover-open")) return;
  field.current.value = "";
  text.value = "";
  active.value = 0;
  openings += 1;
  opening.value = openings;
  opener = document.activeElement;
  layer.current.showPopover();
  field.current.focus();
  hidePage(true);
}

function closePalette(): void {
  if (layer.current === null || opening.value === 0) return;
  hidePage(false);
  layer.current.hidePopover();
  if (opener instanceof HTMLElement) opener.focus({ preventScroll: true });
  opening.value = 0;
}

/** Hides the page from screen readers that do not support `aria-modal`. */
function hidePage(isHidden: boolean): void {
  const page = document.querySelector(".shell");
  if (isHidden) page?.setAttribute("aria-hidden", "true");
  else page?.removeAttribute("aria-hidden");
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
    closePalette();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const by = steps[event.key];
    if (by !== undefined) active.value = steppedIndex(at, { by, count: entries.length });
    else if (event.key === "Enter" && !event.isComposing) choose(entries[at]);
    else if (event.key === "Escape" && !event.isComposing) closePalette();
    // Tab must not leave the field: it is the only focusable element of the palette.
    else if (event.key !== "Tab") return;
    event.preventDefault();
  };
  return (
    <div
      ref={layer}
      class="palette-layer"
      popover="manual"
      role="dialog"
      aria-modal="true"
      aria-label="Search and commands"
      onMouseDown={keepFocus}
      onClick={({ target, currentTarget }) => target === currentTarget && closePalette()}
    >
      <div class="palette">
        <div class="palette-field">
          <Icon name="search" />
          <input
            ref={field}
            type="text"
            role="combobox"
            aria-label="Page, command, ID, key or URL"
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-activedescendant={entries.length === 0 ? undefined : `${id}-${at}`}
            aria-autocomplete="list"
            autocomplete="off"
            spellcheck={false}
            placeholder="Page, command, ID, idempotency key or URL"
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
      </div>
    </div>
  );
}

/** Keeps the focus in the field when something else in the palette is clicked. */
function keepFocus(event: MouseEvent): void {
  if (event.target !== field.current) event.preventDefault();
}

function countText(count: number): string {
  return count === 0 ? "No results." : counted(count, "entry", "entries");
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
