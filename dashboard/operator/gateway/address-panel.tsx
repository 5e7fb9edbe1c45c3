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

/** Where to send. Whoever knows the address can try, so it is shown when it is asked for. */
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
          Whoever knows it can send.{" "}
          {mayManage() ? "It is given to the sender alone." : "Keys that may manage are shown it."}
        </p>
      ) : (
        <Addresses address={shown.value} />
      )}
      {mayManage() && (
        <div class="actions">
          {shown.value === null && (
            <ActionButton label="Show the address" run={show} done="The address is shown" />
          )}
          <RotateAddressButton id={id} rotated={(address) => (shown.value = address)} />
        </div>
      )}
    </Panel>
  );
}

export function Addresses({ address: { url, party_url } }: { readonly address: SourceAddress }) {
  return (
    <>
      <AddressLine url={url} label="Copy the address" />
      {party_url !== null && (
        <>
          <p class="soft">By the name of the party, which is no secret:</p>
          <AddressLine url={party_url} label="Copy the address of the party" />
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
  ["3600", "an hour"],
  ["86400", "a day"],
  ["604800", "a week"],
  ["0", "not at all: it was leaked"],
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
    announce("The address is another one");
  };
  return (
    <>
      <button type="button" data-command="Rotate the address…" onClick={() => (isAsking.value = true)}>
        Rotate the address…
      </button>
      {isAsking.value && (
        <Modal title="Give the source another address?" onClose={() => (isAsking.value = false)}>
          <div class="form">
            <p>The new one has to be entered at the sender.</p>
            <div class="field">
              <label for={fieldId}>The one before goes on working for</label>
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
