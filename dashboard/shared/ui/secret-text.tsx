import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { announce } from "./announcer.tsx";
import { CopyButton } from "./copy-button.tsx";

const shownMs = 30_000;

/** Shows a secret. It is removed from the page after 30 seconds, unless `hidden` is null. */
export function SecretText(props: {
  readonly secret: string;
  /** What replaces it. */
  readonly hidden: string | null;
  /** Announced then. */
  readonly announced?: string;
  readonly copyLabel: string;
  readonly copied?: string;
  /** Above the secret while it is shown. */
  readonly children?: ComponentChildren;
}) {
  const { secret, hidden, announced, copyLabel, copied = "Copied", children } = props;
  const isShown = useSignal(true);
  useEffect(() => {
    isShown.value = true;
    if (hidden === null) return undefined;
    const timer = setTimeout(() => {
      isShown.value = false;
      if (announced !== undefined) announce(announced);
    }, shownMs);
    return () => clearTimeout(timer);
  }, [secret]);
  if (!isShown.value) return <p class="soft">{hidden}</p>;
  return (
    <>
      {children}
      <p class="command">
        <code>{secret}</code>
        <CopyButton text={secret} label={copyLabel} said={copied} />
      </p>
    </>
  );
}
