import { signal } from "@preact/signals";
import { remember, remembered } from "../../shared/preferences.ts";
import { CheckBox } from "../../shared/ui/field.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { navEntries } from "./navigation.ts";

export const isKeySheetOpen = signal(false);
/** Single-key shortcuts can be disabled: speech input triggers them by accident (WCAG 2.1.4). */
export const areKeysOn = signal(remembered("keys") !== "off");

const keys: readonly (readonly [string, string])[] = [
  ["Ctrl K  ⌘K", "search pages, commands, IDs, keys and URLs"],
  ["/", "search"],
  ...navEntries.map(({ key, title }) => [`g ${key}`, title.toLowerCase()] as const),
  ["j  k", "next and previous row"],
  ["Enter", "open the row"],
  ["p", "open the row in the side panel"],
  ["←  →", "previous and next cell of the row, with its actions"],
  ["x  Space", "select the row; with Shift, select the range"],
  ["[  ]", "previous and next attempt"],
  ["r", "focus the retry button"],
  ["f", "follow: show new rows automatically"],
  [".", "pause or resume refreshing"],
  ["y", "copy the ID of the row or the page"],
  ["c", "copy the page as curl"],
  ["t", "switch theme: light, dark or system"],
  ["?", "show keyboard shortcuts"],
  ["Esc", "close"],
];

export function KeySheet() {
  if (!isKeySheetOpen.value) return null;
  return (
    <Modal title="Keyboard shortcuts" onClose={() => (isKeySheetOpen.value = false)}>
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
      <CheckBox
        label="Enable single-key shortcuts"
        isChecked={areKeysOn.value}
        onChange={(isChecked) => {
          areKeysOn.value = isChecked;
          remember("keys", isChecked ? "on" : "off");
        }}
      />
    </Modal>
  );
}
