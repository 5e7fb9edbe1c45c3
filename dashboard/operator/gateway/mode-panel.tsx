import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { ServiceDescription, Source } from "../../shared/resources.ts";
import { session } from "../../shared/session.ts";
import { shell } from "../../shared/shell-text.ts";
import { duration } from "../../shared/time/time-format.ts";
import { Facts } from "../../shared/ui/data-table.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { NotLoaded } from "../../shared/ui/not-loaded.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import { modeWords } from "./wording.ts";

const dayMs = 86_400_000;

/** When senders are answered, and who took it upon them that a message is answered before it was delivered. */
export function ModePanel({ source }: { readonly source: Source }) {
  const { id, mode, effective_mode, acknowledged_by: by, acknowledged_at: at } = source;
  const isStored = effective_mode === "store_and_forward";
  return (
    <Panel
      title="When senders are answered"
      twin={{ path: `v1/sources/${id}`, cli: shell`sources get ${id}` }}
    >
      <p class="verdict-text">
        {isStored
          ? "Once the message is stored. Retries, dead letters and order are as with events of your own."
          : "After the webhook accepted it, with its status. One attempt; repeats are the sender's."}
      </p>
      <Facts
        rows={[
          ["In force", modeWords[effective_mode]],
          ...(mode === effective_mode ? [] : [["Set to", modeWords[mode]] as const]),
          ["Acknowledged by", by ?? "nobody"],
          ["Acknowledged", <When key="at" at={at} isExact />],
          ["Answers within", duration(source.budget_ms)],
          ["Repeats are known for", `${Math.round(source.dedup_window_ms / dayMs)} days`],
        ]}
      />
      {mayManage() && (
        <div class="actions">
          {isStored ? (
            <ActionButton
              label="Pass through instead"
              run={() => setMode(id, "pass_through")}
              done="Messages are passed through"
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

/** Shows what the service promises, and notes that those who send know it. */
function StoreButton({ source }: { readonly source: Source }) {
  const isAsking = useSignal(false);
  if (session.value?.role !== "admin")
    return (
      <p class="soft">
        An administrator can have messages stored first, after acknowledging the service description for those
        who send.
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
        Senders are then answered before anything was delivered. Whoever runs the sender has to know what that
        promises; it is at <code>/service-description</code>, without a key:
      </p>
      <Facts
        rows={[
          ["Store and forward", String(modes["store_and_forward"])],
          ["Where a message is then", durability],
          ["Idempotency key", idempotency_key],
          ["Payloads are kept", `${String(retention["payload_days"])} days`],
          ["Version", <code key="version">{version}</code>],
        ]}
      />
      <p>
        <ActionButton
          label="They know it: store and forward"
          isPrimary
          run={acknowledge}
          done="Acknowledged; messages are stored and forwarded"
        />
      </p>
    </div>
  );
}
