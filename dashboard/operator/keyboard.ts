/** Keys that work wherever no field has the focus. None of them changes anything on the server. */
import { nextTheme } from "../shared/theme.ts";
import { announce } from "../shared/ui/announcer.tsx";
import { copyText } from "../shared/ui/copy-button.tsx";
import { areKeysOn, isKeySheetOpen } from "./key-sheet.tsx";
import { isFollowing } from "./following.ts";
import { togglePause } from "./shell.tsx";

const pagesByKey: Readonly<Record<string, string>> = {
  o: "",
  d: "deliveries",
  e: "events",
  w: "webhooks",
  l: "dead-letters",
  y: "event-types",
  t: "tenants",
};

const sequenceMsMax = 1_500;

/** Listens until the returned function is called. */
export function listenToKeys(go: (page: string) => void): () => void {
  let wentAt = -Infinity;
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]") !== null) return;
    if (event.key === "?") isKeySheetOpen.value = true;
    if (!areKeysOn.value) return;
    const isSecond = event.timeStamp - wentAt < sequenceMsMax;
    wentAt = -Infinity;
    const page = isSecond ? pagesByKey[event.key] : undefined;
    if (page !== undefined) go(page);
    else if (event.key === "g") wentAt = event.timeStamp;
    else if (!act(event.key)) return;
    event.preventDefault();
  };
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest("input:not([type=checkbox]), select, textarea") !== null
  );
}

function act(key: string): boolean {
  const action = actions[key];
  action?.();
  return action !== undefined;
}

const actions: Readonly<Record<string, () => void>> = {
  "/": () => document.querySelector<HTMLInputElement>("#search")?.focus(),
  "j": () => moveRow(1),
  "k": () => moveRow(-1),
  "[": () => document.querySelector<HTMLElement>("[data-key='[']")?.click(),
  "]": () => document.querySelector<HTMLElement>("[data-key=']']")?.click(),
  "r": () => document.querySelector<HTMLElement>("[data-key='r']")?.focus(),
  ".": togglePause,
  "t": nextTheme,
  "f": () => {
    isFollowing.value = !isFollowing.value;
    announce(isFollowing.value ? "Following" : "New rows wait");
  },
  "y": () => {
    const id = document.querySelector<HTMLElement>("[data-page-id]")?.dataset["pageId"];
    if (id !== undefined) void copyText(id).then(() => announce("Id copied"));
  },
};

/** The focus goes to the link of the next row, from which Enter opens it. */
function moveRow(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("tbody th a")];
  const at = links.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
  const next = at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + step));
  links[next]?.focus();
}
