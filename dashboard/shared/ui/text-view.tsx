import { useSignal } from "@preact/signals";
import { laidOut, tokensOf } from "../json-tokens.ts";
import { CopyButton } from "./copy-button.tsx";

/** Longer text is shown without syntax highlighting. */
const colouredLengthMax = 200_000;

/**
 * Shows untrusted text: a payload or a response. It is rendered only as text nodes, and JSON keeps its digits, escapes
 * and order. The copy button copies the original text.
 */
export function TextView(props: {
  readonly text: string;
  readonly label: string;
  readonly words?: { readonly asSent: string; readonly copy: string; readonly copied: string };
}) {
  const { text, label, words = englishWords } = props;
  const isAsSent = useSignal(false);
  const isJson = /^\s*[{[]/.test(text) && text.length <= colouredLengthMax;
  return (
    <div class="text-view">
      <div class="text-tools">
        {isJson && (
          <label>
            <input
              type="checkbox"
              checked={isAsSent.value}
              onChange={({ currentTarget }) => (isAsSent.value = currentTarget.checked)}
            />{" "}
            {words.asSent}
          </label>
        )}
        <CopyButton text={text} label={`${words.copy}: ${label}`} said={words.copied} />
      </div>
      <pre tabIndex={0} role="region" aria-label={label} dir="ltr">
        <code>{isJson && !isAsSent.value ? <Coloured text={text} /> : visible(text)}</code>
      </pre>
    </div>
  );
}

const englishWords = { asSent: "as sent", copy: "Copy", copied: "Copied" };

function Coloured({ text }: { readonly text: string }) {
  return (
    <>
      {laidOut(tokensOf(text)).map(({ space, kind, text: piece }, index) => (
        // Tokens have no id, so use the index.
        <span key={index} class={kind === "mark" ? undefined : `json-${kind}`}>
          {space}
          {visible(piece)}
        </span>
      ))}
    </>
  );
}

/** Escapes control characters, and characters that hide or reorder text. */
function visible(text: string): string {
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}
