import { signal } from "@preact/signals";
import { remember, remembered } from "../shared/preferences.ts";
import { Modal } from "../shared/ui/modal.tsx";
import { navEntries } from "./navigation.ts";

export const isKeySheetOpen = signal(false);
/** Single letters can be switched off: speech input types them by accident (WCAG 2.1.4). */
export const areKeysOn = signal(remembered("keys") !== "off");

const keys: readonly (readonly [string, string])[] = [
  ["Ctrl K  ⌘K", "search: pages, commands, ids, keys, URLs"],
  ["/", "the same"],
  ...navEntries.map(({ key, title }) => [`g ${key}`, title.toLowerCase()] as const),
  ["j  k", "next and previous row"],
  ["Enter", "open the row"],
  ["p", "peek at the row beside the list"],
  ["←  →", "cells of the row, each with its actions"],
  ["x  Space", "select the row; with Shift all up to it"],
  ["[  ]", "previous and next attempt"],
  ["r", "go to the retry button"],
  ["f", "follow: new rows come in by themselves"],
  [".", "pause or go on refreshing"],
  ["y", "copy the id of the row or page"],
  ["c", "copy the page as curl"],
  ["t", "light, dark, or as the system"],
  ["?", "this sheet"],
  ["Esc", "close"],
];

export function KeySheet() {
  if (!isKeySheetOpen.value) return null;
  return (
    <Modal title="Keys" onClose={() => (isKeySheetOpen.value = false)}>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label>
        <input
          type="checkbox"
          checked={areKeysOn.value}
          onChange={({ currentTarget }) => {
            areKeysOn.value = currentTarget.checked;
            remember("keys", currentTarget.checked ? "on" : "off");
          }}
        />{" "}
        Single keys are on
      </label>
    </Modal>
  );
}
