import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { queryClient } from "../../shared/queries.ts";
import type { Source } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton, mayManage } from "../form/action-button.tsx";

export function SourceActions({ source }: { readonly source: Source }) {
  const { id, active } = source;
  if (!mayManage()) return null;
  const path = `v1/sources/${id}`;
  return (
    <div class="actions">
      <a class="button" href={pagePath(`sources/${id}/edit`)} data-command="Edit">
        Edit
      </a>
      {active ? (
        <SwitchOffButton path={path} before={source.when_inactive} />
      ) : (
        <ActionButton
          label="Enable"
          isPrimary
          run={() => callApi({ method: "PATCH", path, body: { active: true } })}
          done="Source enabled"
        />
      )}
      <DeleteButton
        what="source"
        path={path}
        leadsTo="sources"
        consequence="The address will return 404, and the connections of this source are deleted. Received requests stay in the log until retention removes them. To tell senders that the source is gone, disable it with 410 instead."
      />
    </div>
  );
}

const answers: readonly (readonly [Source["when_inactive"], string])[] = [
  ["unavailable", "503: senders retry later"],
  ["gone", "410: senders stop sending"],
];

function SwitchOffButton({
  path,
  before,
}: {
  readonly path: string;
  readonly before: Source["when_inactive"];
}) {
  const isAsking = useSignal(false);
  const answer = useSignal(before);
  const id = useId();
  const switchOff = async () => {
    await callApi({ method: "PATCH", path, body: { active: false, when_inactive: answer.value } });
    isAsking.value = false;
  };
  return (
    <>
      <button type="button" data-command="Disable…" onClick={() => (isAsking.value = true)}>
        Disable…
      </button>
      {isAsking.value && (
        <Modal title="Disable this source?" onClose={() => (isAsking.value = false)}>
          <div class="form">
            <p>
              No messages are accepted until you enable it again. To hold messages instead, pause its
              connections.
            </p>
            <div class="field">
              <label for={id}>Response to senders</label>
              <select
                id={id}
                value={answer.value}
                onChange={({ currentTarget }) =>
                  (answer.value = currentTarget.value === "gone" ? "gone" : "unavailable")
                }
              >
                {answers.map(([value, text]) => (
                  <option key={value} value={value}>
                    {text}
                  </option>
                ))}
              </select>
            </div>
            <p>
              <ActionButton label="Disable" isPrimary run={switchOff} done="Source disabled" />
            </p>
          </div>
        </Modal>
      )}
    </>
  );
}

export function DeleteButton(props: {
  readonly what: string;
  readonly path: string;
  /** Page to open after deleting. */
  readonly leadsTo: string;
  readonly consequence: string;
}) {
  const { what, path, leadsTo, consequence } = props;
  const isAsking = useSignal(false);
  const { go } = useAddress();
  const remove = async () => {
    await callApi({ method: "DELETE", path });
    go(pagePath(leadsTo));
    queryClient.removeQueries({ predicate: ({ queryKey }) => String(queryKey[0]).includes(path) });
  };
  return (
    <>
      <button type="button" data-command="Delete…" onClick={() => (isAsking.value = true)}>
        Delete…
      </button>
      {isAsking.value && (
        <Modal title={`Delete this ${what}?`} onClose={() => (isAsking.value = false)}>
          <p>{consequence}</p>
          <p class="actions">
            <ActionButton label="Delete" isPrimary run={remove} done="Deleted" />
          </p>
        </Modal>
      )}
    </>
  );
}
