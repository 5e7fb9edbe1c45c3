import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import type { Source, SourceAddress } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";

/** Address of the source. Shown on demand, because anyone who knows it can send requests. */
export function AddressPanel({ source }: { readonly source: Source }) {
  const { id } = source;
  const shown = useSignal<SourceAddress | null>(null);
  const show = async () => {
    shown.value = (await callApi<SourceAddress>({ path: `v1/sources/${id}/address` })).value;
  };
  return (
    <Panel title="Address" twin={{ path: `v1/sources/${id}/address`, cli: shell`sources address ${id}` }}>
      {shown.value === null ? (
        <p class="soft">
          Anyone who knows the address can send requests.{" "}
          {mayManage() ? "Share it only with the sender." : "Showing it requires a key with the manage role."}
        </p>
      ) : (
        <Addresses address={shown.value} />
      )}
      {mayManage() && (
        <div class="actions">
          {shown.value === null && <ActionButton label="Show address" run={show} done="Address shown" />}
          <RotateAddressButton id={id} rotated={(address) => (shown.value = address)} />
        </div>
      )}
    </Panel>
  );
}

export function Addresses({ address: { url, party_url } }: { readonly address: SourceAddress }) {
  return (
    <>
      <AddressLine url={url} label="Copy address" />
      {party_url !== null && (
        <>
          <p class="soft">Address by party name, which is not secret:</p>
          <AddressLine url={party_url} label="Copy party address" />
        </>
      )}
    </>
  );
}

function AddressLine({ url, label }: { readonly url: string; readonly label: string }) {
  return (
    <div class="command">
      <code>{url}</code>
      <CopyButton text={url} label={label} />
    </div>
  );
}

const overlaps: readonly (readonly [string, string])[] = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "1 week"],
  ["0", "revoke now: the address leaked"],
];

function RotateAddressButton(props: {
  readonly id: string;
  readonly rotated: (address: SourceAddress) => void;
}) {
  const isAsking = useSignal(false);
  const overlap = useSignal("86400");
  const fieldId = useId();
  const rotate = async () => {
    const { value } = await callApi<SourceAddress>({
      method: "POST",
      path: `v1/sources/${props.id}/address/rotate`,
      body: { overlap_seconds: Number(overlap.value) },
    });
    props.rotated(value);
    isAsking.value = false;
    announce("Address rotated");
  };
  return (
    <>
      <button type="button" data-command="Rotate address…" onClick={() => (isAsking.value = true)}>
        Rotate address…
      </button>
      {isAsking.value && (
        <Modal title="Rotate the address of this source?" onClose={() => (isAsking.value = false)}>
          <div class="form">
            <p>Enter the new address at the sender.</p>
            <div class="field">
              <label for={fieldId}>Keep the old address for</label>
              <select
                id={fieldId}
                value={overlap.value}
                onChange={({ currentTarget }) => (overlap.value = currentTarget.value)}
              >
                {overlaps.map(([seconds, text]) => (
                  <option key={seconds} value={seconds}>
                    {text}
                  </option>
                ))}
              </select>
            </div>
            <p>
              <ActionButton label="Rotate" isPrimary run={rotate} done="Rotated" />
            </p>
          </div>
        </Modal>
      )}
    </>
  );
}
