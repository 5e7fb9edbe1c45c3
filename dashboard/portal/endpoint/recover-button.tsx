import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { ApiError, callApi } from "../../shared/api.ts";
import { refreshAll, useApi } from "../../shared/queries.ts";
import type { Operation, Webhook } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { Action } from "../action.tsx";
import { ErrorText } from "../error-text.tsx";
import { counted, t } from "../language.ts";

const hoursOffered = [1, 6, 24, 72, 720] as const;

/** Resends dead letters and skipped messages, after showing the count. */
export function RecoverButton({ webhook }: { readonly webhook: Webhook }) {
  const isAsked = useSignal(false);
  return (
    <>
      <button type="button" onClick={() => (isAsked.value = true)}>
        {t("recover.title")}
      </button>
      {isAsked.value && (
        <Modal title={t("recover.title")} closeLabel={t("close")} onClose={() => (isAsked.value = false)}>
          <Recovery webhook={webhook} />
        </Modal>
      )}
    </>
  );
}

function Recovery({ webhook }: { readonly webhook: Webhook }) {
  const hours = useSignal<number>(24);
  const count = useSignal<number | null>(null);
  const error = useSignal<ApiError | null>(null);
  const operation = useSignal<string | null>(null);
  const id = useId();
  const ask = (dryRun: boolean) => {
    const since = new Date(Date.now() - hours.value * 3_600_000).toISOString();
    return callApi<{ readonly count: number; readonly batch_operation_id: string | null }>({
      method: "POST",
      path: `v1/webhooks/${webhook.id}/recover`,
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
      <p class="field">
        <label for={id}>{t("recover.since")}</label>
        <select
          id={id}
          value={String(hours.value)}
          onChange={({ currentTarget }) => (hours.value = Number(currentTarget.value))}
        >
          {hoursOffered.map((one) => (
            <option key={one} value={String(one)}>
              {one < 72 ? counted("hours", one) : counted("days", one / 24)}
            </option>
          ))}
        </select>
      </p>
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
  const said = data === null ? t("loading") : t("recover.progress", { done: data.queued, total: data.total });
  const outcome =
    data === null
      ? ""
      : t("recover.outcome", {
          delivered: data.delivered ?? 0,
          failed: data.failed,
          waiting: data.waiting ?? 0,
        });
  useEffect(() => {
    if (isDone) announce(outcome);
  }, [isDone]);
  return (
    <>
      <p role="status">{isDone ? outcome : said}</p>
      {data !== null && <progress value={data.queued} max={Math.max(1, data.total)} aria-label={said} />}
    </>
  );
}
