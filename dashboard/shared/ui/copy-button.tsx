import { useSignal } from "@preact/signals";
import { announce } from "./announcer.tsx";
import { IconButton } from "./icon.tsx";

export function CopyButton(props: {
  readonly text: string;
  readonly label?: string;
  readonly said?: string;
}) {
  const { text, label = "Copy", said = "Copied" } = props;
  const isDone = useSignal(false);
  const copy = async () => {
    await copyText(text);
    isDone.value = true;
    announce(said);
    setTimeout(() => (isDone.value = false), 1_500);
  };
  return <IconButton icon={isDone.value ? "check" : "copy"} label={label} onClick={() => void copy()} />;
}

/**
 * Copies text with the clipboard API, which exists only on https and localhost. Elsewhere, copies from a selected
 * field.
 */
export async function copyText(text: string): Promise<void> {
  // Undefined on http, contrary to the types.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard !== undefined) {
    await clipboard.writeText(text).catch(() => copyBySelection(text));
  } else copyBySelection(text);
}

function copyBySelection(text: string): void {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "off-screen";
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  // The only way to copy without the clipboard API.
  // oxlint-disable-next-line typescript/no-deprecated
  document.execCommand("copy");
  field.remove();
}
