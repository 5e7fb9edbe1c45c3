import { useSignal } from "@preact/signals";
import { laidOut, tokensOf } from "../json/json-tokens.ts";
import { CopyButton } from "./copy-button.tsx";

/** Longer texts are shown as they are, without colours. */
const colouredLengthMax = 200_000;

/**
 * What a stranger wrote: a payload or an answer. It becomes nodes of text and nothing else, and JSON keeps its digits,
 * escapes and order. What is copied is what came.
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

const englishWords = { asSent: "as it was sent", copy: "Copy", copied: "Copied" };

function Coloured({ text }: { readonly text: string }) {
  return (
    <>
      {laidOut(tokensOf(text)).map(({ space, kind, text: piece }, index) => (
        // Pieces have no identity but their place.
        <span key={index} class={kind === "mark" ? undefined : `json-${kind}`}>
          {space}
          {visible(piece)}
        </span>
      ))}
    </>
  );
}

/** Characters that change the order or hide others are shown as what they are. */
function visible(text: string): string {
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}
