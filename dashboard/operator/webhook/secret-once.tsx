import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { announce } from "../../shared/ui/announcer.tsx";
import { CopyButton } from "../../shared/ui/copy-button.tsx";

/** How long a secret stays on the page. */
const shownMs = 30_000;

/** Shows a secret for a while; then it is gone from the page. */
export function SecretOnce({ secret }: { readonly secret: string }) {
  const isShown = useSignal(true);
  useEffect(() => {
    const timer = setTimeout(() => {
      isShown.value = false;
      announce("The secret is hidden");
    }, shownMs);
    return () => clearTimeout(timer);
  }, []);
  if (!isShown.value)
    return <p class="soft">The secret is hidden. The API shows it to keys that may manage.</p>;
  return (
    <>
      <p class="soft">It leaves this page after 30 seconds.</p>
      <p class="command">
        <code>{secret}</code>
        <CopyButton text={secret} label="Copy the secret" />
      </p>
    </>
  );
}
