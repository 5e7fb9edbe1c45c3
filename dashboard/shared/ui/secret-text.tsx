import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { announce } from "./announcer.tsx";
import { CopyButton } from "./copy-button.tsx";

const shownMs = 30_000;

const english = {
  note: "The secret is hidden after 30 seconds.",
  hidden: "The secret is hidden. The API returns it to keys with the manage role.",
  announced: "Secret hidden",
  copy: "Copy secret",
  copied: "Copied",
};

/** Shows a secret for 30 seconds, then removes it from the page, unless `isKept` is set. Empty texts are left out. */
export function SecretText(props: {
  readonly secret: string;
  readonly texts?: typeof english;
  readonly isKept?: boolean;
}) {
  const { secret, texts = english, isKept = false } = props;
  const isShown = useSignal(true);
  useEffect(() => {
    isShown.value = true;
    if (isKept) return undefined;
    const timer = setTimeout(() => {
      isShown.value = false;
      if (texts.announced !== "") announce(texts.announced);
    }, shownMs);
    return () => clearTimeout(timer);
  }, [secret]);
  if (!isShown.value) return <p class="soft">{texts.hidden}</p>;
  return (
    <>
      {texts.note !== "" && <p class="soft">{texts.note}</p>}
      <p class="command">
        <code>{secret}</code>
        <CopyButton text={secret} label={texts.copy} said={texts.copied} />
      </p>
    </>
  );
}
