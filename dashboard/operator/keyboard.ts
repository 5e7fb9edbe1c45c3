/** Keys that work wherever no field has the focus. None of them changes anything on the server. */
import { nextTheme } from "../shared/theme.ts";
import { announce } from "../shared/ui/announcer.tsx";
import { copyText } from "../shared/ui/copy-button.tsx";
import { isFollowing } from "./following.ts";
import { areKeysOn, isKeySheetOpen } from "./key-sheet.tsx";
import { navEntries, togglePause } from "./navigation.ts";
import { openPalette } from "./palette/palette.tsx";

const sequenceMsMax = 1_500;

/** Listens until the returned function is called. */
export function listenToKeys(go: (page: string) => void): () => void {
  let wentAt = -Infinity;
  const onKey = (event: KeyboardEvent): void => {
    if (one("dialog[open], [role=dialog]:popover-open") !== null || event.defaultPrevented) return;
    if (isPaletteKey(event)) {
      openPalette();
      event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === "?") isKeySheetOpen.value = true;
    if (event.key === "Escape") one("[data-key='Escape']")?.click();
    if (!areKeysOn.value) return;
    const isSecond = event.timeStamp - wentAt < sequenceMsMax;
    wentAt = -Infinity;
    const place = isSecond ? navEntries.find(({ key }) => key === event.key) : undefined;
    if (place !== undefined) go(place.page);
    else if (event.key === "g") wentAt = event.timeStamp;
    else if (!act(event)) return;
    event.preventDefault();
  };
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}

/** Also from a field, and where single keys are off: it takes a modifier. */
function isPaletteKey({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  return key.toLowerCase() === "k" && (ctrlKey || metaKey) && !altKey && !shiftKey;
}

/** The field of a dialog that was closed a moment ago has the focus until the next frame, and nobody types into it. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest("input:not([type=checkbox], [type=radio]), select, textarea") !== null &&
    target.checkVisibility()
  );
}

/** Whether the key was meant for this. */
function act(event: KeyboardEvent): boolean {
  if (event.key === " ") return isOnRowLink() && selectRow(event.shiftKey);
  const action = actions[event.key];
  return action !== undefined && action() !== false;
}

const actions: Readonly<Record<string, () => unknown>> = {
  "/": openPalette,
  "j": () => moveRow(1),
  "k": () => moveRow(-1),
  "x": () => selectRow(false),
  "X": () => selectRow(true),
  "ArrowRight": () => moveCell(1),
  "ArrowLeft": () => moveCell(-1),
  "p": () => focusedRow()?.click(),
  "[": () => one("[data-key='[']")?.click(),
  "]": () => one("[data-key=']']")?.click(),
  "r": () => one("[data-key='r']")?.focus(),
  ".": togglePause,
  "t": nextTheme,
  "f": () => {
    isFollowing.value = !isFollowing.value;
    announce(isFollowing.value ? "Following" : "New rows wait");
  },
  "y": () => {
    const id = focusedRow()?.dataset["row"] ?? one("[data-page-id]")?.dataset["pageId"];
    if (id !== undefined) void copyText(id).then(() => announce("Id copied"));
  },
  "c": () => {
    const curl = one("main [data-curl]")?.dataset["curl"];
    if (curl !== undefined) void copyText(curl).then(() => announce("curl command copied"));
  },
};

function one(selector: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(selector);
}

function focusedRow(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>("tr[data-row]") ?? null;
}

/** Space on a button or a field is the button's or the field's. */
function isOnRowLink(): boolean {
  return document.activeElement?.matches("tbody th a, tbody td[data-cell]") === true;
}

function selectRow(isRange: boolean): boolean {
  const box = focusedRow()?.querySelector<HTMLElement>("input[type=checkbox]") ?? null;
  box?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: isRange }));
  return box !== null;
}

/** The focus goes to the next cell that has actions; they are the next tab stops then. */
function moveCell(step: 1 | -1): boolean {
  const cells = [...(focusedRow()?.querySelectorAll<HTMLElement>("[data-cell]") ?? [])];
  const at = cells.findIndex((cell) => cell.contains(document.activeElement));
  const next = cells[at + step];
  (next?.matches("th") === true ? next.querySelector<HTMLElement>("a") : next)?.focus();
  return next !== undefined;
}

/** The focus goes to the link of the next row, from which Enter opens it. */
function moveRow(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("tbody th a")];
  const at = links.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
  const next = at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + step));
  links[next]?.focus();
}
