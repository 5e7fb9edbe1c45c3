import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import type { Webhook } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { Action } from "../action.tsx";
import { counted, t } from "../language.ts";

interface Finding {
  readonly id: string;
  readonly title: string;
  readonly level: string;
  readonly state: "passed" | "failed" | "skipped";
  readonly detail: string;
  readonly hint: string | null;
}

const tones: Readonly<Record<Finding["state"], Tone>> = { passed: "good", failed: "bad", skipped: "off" };

/** Sends the receiver messages that it must reject, and optionally valid ones. */
export function CheckReceiver({ webhook }: { readonly webhook: Webhook }) {
  const findings = useSignal<readonly Finding[] | null>(null);
  const sendsValid = useSignal(false);
  const check = async () => {
    findings.value = null;
    const { value } = await callApi<{ readonly findings: readonly Finding[] }>({
      method: "POST",
      path: `v1/webhooks/${webhook.id}/check`,
      body: { allow_valid: sendsValid.value },
    });
    findings.value = value.findings;
    return t("check.done");
  };
  const failed = findings.value?.filter(({ state }) => state === "failed").length ?? 0;
  return (
    <section class="panel">
      <h2>{t("check.title")}</h2>
      <p>{t("check.text")}</p>
      <p class="card-url">{webhook.url}</p>
      <label>
        <input
          type="checkbox"
          checked={sendsValid.value}
          onChange={({ currentTarget }) => (sendsValid.value = currentTarget.checked)}
        />
        {t("check.valid")}
      </label>
      <div class="actions">
        <Action run={check}>{t("check.start")}</Action>
      </div>
      {findings.value !== null && (
        <>
          <p>{failed === 0 ? t("check.fine") : counted("check.failed", failed)}</p>
          <ul class="findings">
            {findings.value
              .toSorted((left, right) => Number(right.state === "failed") - Number(left.state === "failed"))
              .map(({ id, title, state, detail, hint }) => (
                <li key={id}>
                  <Badge tone={tones[state]} text={t(`check.${state}`)} /> <span lang="en">{title}</span>
                  {state !== "passed" && (
                    <p class="soft" lang="en">
                      {detail} {hint}
                    </p>
                  )}
                </li>
              ))}
          </ul>
        </>
      )}
    </section>
  );
}
