import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { Webhook } from "../../shared/resources.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { Action } from "../action.tsx";
import { t } from "../language.ts";
import { goTo } from "../paths.ts";
import { noun } from "../words.ts";

export function DeleteButton({ webhook }: { readonly webhook: Webhook }) {
  const isAsked = useSignal(false);
  const remove = async () => {
    await callApi({ method: "DELETE", path: `v1/webhooks/${webhook.id}` });
    isAsked.value = false;
    goTo("");
    await refreshAll();
    return t("deleted");
  };
  return (
    <>
      <button type="button" onClick={() => (isAsked.value = true)}>
        {noun("delete")}
      </button>
      {isAsked.value && (
        <Modal title={noun("delete")} closeLabel={t("close")} onClose={() => (isAsked.value = false)}>
          <p class="card-url">{webhook.url}</p>
          <p>{t("delete.text")}</p>
          <div class="actions">
            <Action run={remove} isPrimary>
              {noun("delete")}
            </Action>
            <button type="button" onClick={() => (isAsked.value = false)}>
              {t("cancel")}
            </button>
          </div>
        </Modal>
      )}
    </>
  );
}
