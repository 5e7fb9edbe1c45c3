import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { Secrets, Webhook } from "../../shared/resources.ts";
import { SelectField } from "../../shared/ui/field.tsx";
import { SecretText } from "../../shared/ui/secret-text.tsx";
import { moment, span, t } from "../shell/language.ts";
import { Action } from "../shell/parts.tsx";
import { portalPath } from "../shell/paths.ts";
import { may } from "../shell/session.ts";

/** Shows a secret with labels in the language of the session. */
export function ShownSecret({
  secret,
  isKept = false,
}: {
  readonly secret: string;
  readonly isKept?: boolean;
}) {
  const texts = { hidden: t("secret.hiddenAgain"), copy: t("secret.copy"), copied: t("copied") };
  return <SecretText secret={secret} isKept={isKept} texts={{ ...texts, note: "", announced: "" }} />;
}

const overlapsOffered = [3_600, 86_400, 604_800] as const;

/** The signing secret: masked, shown for 30 seconds, or rotated with an overlap. */
export function SecurityPanel({ webhook }: { readonly webhook: Webhook }) {
  const path = `v1/webhooks/${webhook.id}/secret`;
  const shown = useSignal<Secrets | null>(null);
  const overlap = useSignal("86400");
  const show = async () => {
    shown.value = (await callApi<Secrets>({ path })).value;
    return null;
  };
  const rotate = async () => {
    const body = { mode: "graceful", overlap_seconds: Number(overlap.value) };
    shown.value = (await callApi<Secrets>({ method: "POST", path: `${path}/rotate`, body })).value;
    await refreshAll();
    return t("secret.rotated");
  };
  const previous = shown.value?.previous ?? null;
  return (
    <>
      <h2>{t("secret.title")}</h2>
      <p>{t("secret.text")}</p>
      {shown.value === null ? (
        <p>
          <code>{webhook.secret ?? "–"}</code>
        </p>
      ) : (
        <ShownSecret key={shown.value.secret} secret={shown.value.secret ?? "–"} />
      )}
      {previous !== null && (
        <p class="soft">{t("secret.previous", { until: moment(previous.expires_at) })}</p>
      )}
      {may("secrets:read") && (
        <div class="actions">
          <Action run={show}>{t("secret.show")}</Action>
        </div>
      )}
      {may("secrets:rotate") && (
        <section>
          <h3>{t("secret.rotate")}</h3>
          <p>{t("secret.rotate.text")}</p>
          <div class="actions">
            <SelectField
              label={t("secret.overlap")}
              value={overlap}
              options={overlapsOffered.map((seconds) => [String(seconds), span(seconds * 1_000)])}
            />
            <Action run={rotate}>{t("secret.rotate")}</Action>
          </div>
        </section>
      )}
      <p>
        <a href={portalPath("help", { endpoint: webhook.id })}>{t("help.verify.link")}</a>
      </p>
    </>
  );
}
