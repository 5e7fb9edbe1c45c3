import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton } from "../action-button.tsx";
import { SecretOnce } from "./secret-once.tsx";

const overlaps: readonly (readonly [string, string])[] = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "1 week"],
  ["0", "revoke now: the old secret leaked"],
];

/** Rotates the signing secret. During the overlap, messages are signed with both secrets. */
export function RotateButton({ path }: { readonly path: string }) {
  const isAsking = useSignal(false);
  const overlap = useSignal("86400");
  const secret = useSignal<string | null | undefined>(undefined);
  const rotate = async () => {
    const body =
      overlap.value === "0"
        ? { mode: "revoke" }
        : { mode: "graceful", overlap_seconds: Number(overlap.value) };
    const { value } = await callApi<{ readonly secret: string | null }>({
      method: "POST",
      path: `${path}/secret/rotate`,
      body,
    });
    secret.value = value.secret;
  };
  const close = () => {
    isAsking.value = false;
    secret.value = undefined;
  };
  return (
    <>
      <button type="button" data-command="Rotate secret…" onClick={() => (isAsking.value = true)}>
        Rotate secret…
      </button>
      {isAsking.value && (
        <Modal title="Rotate signing secret?" onClose={close}>
          {secret.value === undefined && (
            <div class="form">
              <OverlapField overlap={overlap.value} choose={(seconds) => (overlap.value = seconds)} />
              <p>
                <ActionButton label="Rotate" isPrimary run={rotate} done="Rotated" />
              </p>
            </div>
          )}
          {secret.value === null && (
            <p>A new key pair was created. Receivers get the public key from the API.</p>
          )}
          {typeof secret.value === "string" && (
            <>
              <p>The new secret:</p>
              <SecretOnce secret={secret.value} />
            </>
          )}
        </Modal>
      )}
    </>
  );
}

function OverlapField(props: { readonly overlap: string; readonly choose: (seconds: string) => void }) {
  const { overlap, choose } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>Keep signing with the old secret for</label>
      <select id={id} value={overlap} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {overlaps.map(([seconds, text]) => (
          <option key={seconds} value={seconds}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
