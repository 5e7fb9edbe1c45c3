import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiError, callApi } from "../../shared/api.ts";
import { refreshAll, useApi } from "../../shared/queries.ts";
import type { Operation, Webhook } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { SelectField } from "../../shared/ui/field.tsx";
import { counted, span, t } from "../shell/language.ts";
import { Action, ConfirmButton, DialogButton, ErrorText } from "../shell/parts.tsx";
import { goTo } from "../shell/paths.ts";
import { may, noun } from "../shell/session.ts";
import { SendTest } from "./send-test.tsx";

/** Buttons for the actions that the session may perform on the endpoint in its current state. */
export function EndpointActions({ webhook }: { readonly webhook: Webhook }) {
  const path = `v1/webhooks/${webhook.id}`;
  const isTesting = useSignal(false);
  const isActive = webhook.status === "active";
  const isUnverified = webhook.status === "unverified";
  const mayChange = may("endpoints:write");
  const change = (action: string, said: string) => async () => {
    await callApi({ method: "POST", path: `${path}/${action}`, body: {} });
    await refreshAll();
    return said;
  };
  const remove = async () => {
    await callApi({ method: "DELETE", path });
    goTo("");
    await refreshAll();
    return t("deleted");
  };
  return (
    <>
      <div class="actions">
        {may("test:send") && (
          <button
            type="button"
            aria-expanded={isTesting.value}
            onClick={() => (isTesting.value = !isTesting.value)}
          >
            {t("test.title")}
          </button>
        )}
        {may("endpoints:recover") && isActive && (
          <DialogButton label={t("recover.title")}>{() => <Recovery path={path} />}</DialogButton>
        )}
        {mayChange && isActive && webhook.pause === null && (
          <Action run={change("pause", t("state.paused"))}>{t("action.pause")}</Action>
        )}
        {mayChange && webhook.pause !== null && (
          <Action run={change("resume", t("action.resumed"))}>{t("action.resume")}</Action>
        )}
        {mayChange && isUnverified && (
          <Action run={change("verify", t("action.verified"))}>{t("action.verify")}</Action>
        )}
        {mayChange && !isActive && !isUnverified && (
          <Action run={change("enable", t("state.ok"))} isPrimary>
            {t("action.enable")}
          </Action>
        )}
        {mayChange && isActive && (
          <Action run={change("disable", t("state.off"))}>{t("action.disable")}</Action>
        )}
        {may("endpoints:delete") && (
          <ConfirmButton label={noun("delete")} run={remove}>
            <p class="card-url">{webhook.url}</p>
            <p>{t("delete.text")}</p>
          </ConfirmButton>
        )}
      </div>
      {isTesting.value && (
        <section class="panel">
          <p>{t("test.text")}</p>
          <SendTest webhook={webhook} />
        </section>
      )}
    </>
  );
}

const hourMs = 3_600_000;
const hoursOffered = [1, 6, 24, 72, 720] as const;

/** Resends dead letters and skipped messages, after showing the count. */
function Recovery({ path }: { readonly path: string }) {
  const hours = useSignal("24");
  const count = useSignal<number | null>(null);
  const error = useSignal<ApiError | null>(null);
  const operation = useSignal<string | null>(null);
  const ask = (dryRun: boolean) => {
    const since = new Date(Date.now() - Number(hours.value) * hourMs).toISOString();
    return callApi<{ readonly count: number; readonly batch_operation_id: string | null }>({
      method: "POST",
      path: `${path}/recover`,
      body: { since, dry_run: dryRun },
    });
  };
  useEffect(() => {
    count.value = null;
    error.value = null;
    ask(true).then(
      ({ value }) => (count.value = value.count),
      (failure: unknown) => (error.value = failure instanceof ApiError ? failure : null),
    );
  }, [hours.value]);
  const start = async () => {
    const { value } = await ask(false);
    operation.value = value.batch_operation_id;
    await refreshAll();
    return t("recover.started");
  };
  if (operation.value !== null) return <Progress id={operation.value} />;
  return (
    <>
      <p>{t("recover.text")}</p>
      <SelectField
        label={t("recover.since")}
        value={hours}
        options={hoursOffered.map((one) => [String(one), span(one * hourMs)])}
      />
      <p role="status">{count.value === null ? t("loading") : counted("recover.count", count.value)}</p>
      {error.value !== null && <ErrorText error={error.value} />}
      {count.value !== null && count.value > 0 && (
        <div class="actions">
          <Action run={start} isPrimary>
            {t("recover.start")}
          </Action>
        </div>
      )}
    </>
  );
}

function Progress({ id }: { readonly id: string }) {
  const { data } = useApi<Operation>({ path: `v1/operations/${id}` }, { everyMs: 1_000 });
  const isDone = data !== null && !["pending", "running", "paused"].includes(data.status);
  const said = progressText(data, isDone);
  useEffect(() => {
    if (isDone) announce(said);
  }, [isDone]);
  return (
    <>
      <p role="status">{said}</p>
      {data !== null && <progress value={data.queued} max={Math.max(1, data.total)} aria-label={said} />}
    </>
  );
}

function progressText(operation: Operation | null, isDone: boolean): string {
  if (operation === null) return t("loading");
  const { queued, total, delivered, failed, waiting } = operation;
  return isDone
    ? t("recover.outcome", { delivered: delivered ?? 0, failed, waiting: waiting ?? 0 })
    : t("recover.progress", { done: queued, total });
}
