import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { t } from "../language.ts";

const shownMs = 30_000;

/** Shows a secret. It is hidden after 30 seconds, unless `isKept` is set. */
export function SecretText({
  secret,
  isKept = false,
}: {
  readonly secret: string;
  readonly isKept?: boolean;
}) {
  const isShown = useSignal(true);
  useEffect(() => {
    isShown.value = true;
    if (isKept) return undefined;
    const timer = setTimeout(() => (isShown.value = false), shownMs);
    return () => clearTimeout(timer);
  }, [secret]);
  if (!isShown.value) return <p class="soft">{t("secret.hiddenAgain")}</p>;
  return (
    <p class="command">
      <code>{secret}</code>
      <CopyButton text={secret} label={t("secret.copy")} said={t("copied")} />
    </p>
  );
}
