import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { Action } from "../action.tsx";
import { moment, t } from "../language.ts";
import { portalPath } from "../paths.ts";
import { may } from "../session.ts";
import { SecretText } from "./secret-once.tsx";

interface Secrets {
  readonly secret: string | null;
  readonly previous: { readonly secret: string; readonly expires_at: string } | null;
}

const overlapsOffered = [3_600, 86_400, 604_800] as const;

/** The signing secret: masked, shown for 30 seconds, or rotated with an overlap. */
export function SecurityPanel({ webhook }: { readonly webhook: Webhook }) {
  const shown = useSignal<Secrets | null>(null);
  const show = async () => {
    shown.value = (await callApi<Secrets>({ path: `v1/webhooks/${webhook.id}/secret` })).value;
    return null;
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
        <SecretText key={shown.value.secret} secret={shown.value.secret ?? "–"} />
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
        <Rotation webhook={webhook} onRotated={(secrets) => (shown.value = secrets)} />
      )}
      <p>
        <a href={portalPath("help", { endpoint: webhook.id })}>{t("help.verify.link")}</a>
      </p>
    </>
  );
}

function Rotation(props: { readonly webhook: Webhook; readonly onRotated: (secrets: Secrets) => void }) {
  const overlap = useSignal<number>(86_400);
  const id = useId();
  const rotate = async () => {
    const { value } = await callApi<Secrets>({
      method: "POST",
      path: `v1/webhooks/${props.webhook.id}/secret/rotate`,
      body: { mode: "graceful", overlap_seconds: overlap.value },
    });
    props.onRotated(value);
    await refreshAll();
    return t("secret.rotated");
  };
  return (
    <section>
      <h3>{t("secret.rotate")}</h3>
      <p>{t("secret.rotate.text")}</p>
      <div class="actions">
        <label for={id}>{t("secret.overlap")}</label>
        <select
          id={id}
          value={String(overlap.value)}
          onChange={({ currentTarget }) => (overlap.value = Number(currentTarget.value))}
        >
          {overlapsOffered.map((seconds) => (
            <option key={seconds} value={String(seconds)}>
              {t(`secret.overlap.${seconds}`)}
            </option>
          ))}
        </select>
        <Action run={rotate}>{t("secret.rotate")}</Action>
      </div>
    </section>
  );
}
