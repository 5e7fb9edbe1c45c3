import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { ServiceDescription, Source } from "../../shared/resources.ts";
import { session } from "../../shared/session.ts";
import { shell } from "../../shared/shell-text.ts";
import { duration } from "../../shared/format.ts";
import { Facts } from "../../shared/ui/data-table.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import { modeWords } from "./wording.ts";

const dayMs = 86_400_000;

/** Response mode of the source, and who acknowledged store and forward. */
export function ModePanel({ source }: { readonly source: Source }) {
  const { id, mode, effective_mode, acknowledged_by: by, acknowledged_at: at } = source;
  const isStored = effective_mode === "store_and_forward";
  return (
    <Panel
      title="When senders get a response"
      twin={{ path: `v1/sources/${id}`, cli: shell`sources get ${id}` }}
    >
      <p class="verdict-text">
        {isStored
          ? "As soon as the message is stored. Retries, dead letters and ordering work as for published events."
          : "After the webhook responds, with its status. There is one attempt. Retries are up to the sender."}
      </p>
      <Facts
        rows={[
          ["Effective mode", modeWords[effective_mode]],
          ...(mode === effective_mode ? [] : [["Configured mode", modeWords[mode]] as const]),
          ["Acknowledged by", by ?? "–"],
          ["Acknowledged", <When key="at" at={at} isExact />],
          ["Response time limit", duration(source.budget_ms)],
          ["Deduplication window", `${Math.round(source.dedup_window_ms / dayMs)} days`],
        ]}
      />
      {mayManage() && (
        <div class="actions">
          {isStored ? (
            <ActionButton
              label="Switch to pass-through"
              run={() => setMode(id, "pass_through")}
              done="Switched to pass-through"
            />
          ) : (
            <StoreButton source={source} />
          )}
        </div>
      )}
    </Panel>
  );
}

function setMode(id: string, mode: Source["mode"]): Promise<unknown> {
  return callApi({ method: "PATCH", path: `v1/sources/${id}`, body: { mode } });
}

/** Shows the service description and records its acknowledgement. */
function StoreButton({ source }: { readonly source: Source }) {
  const isAsking = useSignal(false);
  if (session.value?.role !== "admin")
    return (
      <p class="soft">
        An administrator can switch to store and forward after acknowledging the service description on behalf
        of the senders.
      </p>
    );
  return (
    <>
      <button type="button" data-command="Store and forward…" onClick={() => (isAsking.value = true)}>
        Store and forward…
      </button>
      {isAsking.value && (
        <Modal title="Store and forward?" onClose={() => (isAsking.value = false)}>
          <Acknowledgement id={source.id} done={() => (isAsking.value = false)} />
        </Modal>
      )}
    </>
  );
}

function Acknowledgement({ id, done }: { readonly id: string; readonly done: () => void }) {
  const { data, error } = useApi<ServiceDescription>({ path: "service-description" }, { everyMs: false });
  if (data === null) return <NotLoaded error={error} />;
  const { version, modes, durability, idempotency_key, retention } = data;
  const acknowledge = async () => {
    await callApi({ method: "POST", path: `v1/sources/${id}/acknowledge`, body: { version } });
    await setMode(id, "store_and_forward");
    done();
  };
  return (
    <div class="form">
      <p>
        Senders then get a response before the message is delivered. The operator of the sender must know what
        this guarantees. It is public at <code>/service-description</code>:
      </p>
      <Facts
        rows={[
          ["Store and forward", String(modes["store_and_forward"])],
          ["Durability", durability],
          ["Idempotency key", idempotency_key],
          ["Payloads are kept", `${String(retention["payload_days"])} days`],
          ["Version", <code key="version">{version}</code>],
        ]}
      />
      <p>
        <ActionButton
          label="Acknowledge and switch"
          isPrimary
          run={acknowledge}
          done="Switched to store and forward"
        />
      </p>
    </div>
  );
}
