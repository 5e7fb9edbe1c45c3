/** Keyboard shortcuts, active unless a field has the focus. None of them changes data on the server. */
import { nextTheme } from "../../shared/preferences.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { copyText } from "../../shared/ui/copy-button.tsx";
import { isFollowing } from "../lists/new-rows.tsx";
import { areKeysOn, isKeySheetOpen } from "./key-sheet.tsx";
import { navEntries, togglePause } from "./navigation.ts";
import { openPalette } from "./palette.tsx";

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

/** This shortcut also works in fields and with single-key shortcuts disabled, because it uses a modifier key. */
function isPaletteKey({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  return key.toLowerCase() === "k" && (ctrlKey || metaKey) && !altKey && !shiftKey;
}

/** Ignores hidden fields: the field of a closed dialog keeps the focus until the next frame. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest("input:not([type=checkbox], [type=radio]), select, textarea") !== null &&
    target.checkVisibility()
  );
}

/** Runs the action of a key. Returns whether the key was handled. */
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
    announce(isFollowing.value ? "Following new rows" : "Not following new rows");
  },
  "y": () => {
    const id = focusedRow()?.dataset["row"] ?? one("[data-page-id]")?.dataset["pageId"];
    if (id !== undefined) void copyText(id).then(() => announce("ID copied"));
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

/** Whether the space key selects a row. In buttons and fields it keeps its usual function. */
function isOnRowLink(): boolean {
  return document.activeElement?.matches("tbody th a, tbody td[data-cell]") === true;
}

function selectRow(isRange: boolean): boolean {
  const box = focusedRow()?.querySelector<HTMLElement>("input[type=checkbox]") ?? null;
  box?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: isRange }));
  return box !== null;
}

/** Moves the focus to the next or previous cell with actions. Its actions become the next tab stops. */
function moveCell(step: 1 | -1): boolean {
  const cells = [...(focusedRow()?.querySelectorAll<HTMLElement>("[data-cell]") ?? [])];
  const at = cells.findIndex((cell) => cell.contains(document.activeElement));
  const next = cells[at + step];
  (next?.matches("th") === true ? next.querySelector<HTMLElement>("a") : next)?.focus();
  return next !== undefined;
}

/** Moves the focus to the link of the next or previous row, which Enter opens. */
function moveRow(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("tbody th a")];
  const at = links.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
  const next = at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + step));
  links[next]?.focus();
}
