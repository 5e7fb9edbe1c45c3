import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { announce } from "../../shared/ui/announcer.tsx";
import { CopyButton } from "../../shared/ui/copy-button.tsx";

const shownMs = 30_000;

/** Shows a secret for 30 seconds, then removes it from the page. */
export function SecretOnce({ secret }: { readonly secret: string }) {
  const isShown = useSignal(true);
  useEffect(() => {
    const timer = setTimeout(() => {
      isShown.value = false;
      announce("Secret hidden");
    }, shownMs);
    return () => clearTimeout(timer);
  }, []);
  if (!isShown.value)
    return <p class="soft">The secret is hidden. The API returns it to keys with the manage role.</p>;
  return (
    <>
      <p class="soft">The secret is hidden after 30 seconds.</p>
      <p class="command">
        <code>{secret}</code>
        <CopyButton text={secret} label="Copy secret" />
      </p>
    </>
  );
}
