import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import type { GatewayRequestDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import { mayBeRetried } from "./explanation.ts";

export function RequestActions({ request }: { readonly request: GatewayRequestDetail }) {
  const { id, event_id, source_id, status, outcome, bookmark } = request;
  if (!mayManage()) return null;
  const path = `v1/requests/${id}`;
  const replay = () => callApi({ method: "POST", path: `${path}/replay`, body: {} });
  const isUnproved = outcome === "rejected" && status === 401;
  return (
    <div class="actions">
      {event_id !== null && <ActionButton label="Replay" run={replay} done="Replayed" shortcut="r" />}
      {mayBeRetried(request) && (
        <ActionButton
          label={isUnproved ? "Verify again and forward" : "Forward now"}
          isPrimary
          run={replay}
          done="Accepted"
          shortcut="r"
        />
      )}
      {isUnproved && (
        <a class="button" href={pagePath(`sources/${source_id}`)}>
          Open source verification
        </a>
      )}
      {bookmark === null ? (
        <BookmarkButton path={path} />
      ) : (
        <ActionButton
          label="Remove bookmark"
          run={() => callApi({ method: "PUT", path: `${path}/bookmark`, body: { name: null } })}
          done="Bookmark removed"
        />
      )}
    </div>
  );
}

/** Bookmarks a request, which keeps it for later replay. */
function BookmarkButton({ path }: { readonly path: string }) {
  const isAsking = useSignal(false);
  const name = useSignal("");
  const id = useId();
  const keep = async () => {
    await callApi({ method: "PUT", path: `${path}/bookmark`, body: { name: name.value.trim() } });
    isAsking.value = false;
  };
  return (
    <>
      <button type="button" data-command="Bookmark…" onClick={() => (isAsking.value = true)}>
        Bookmark…
      </button>
      {isAsking.value && (
        <Modal title="Bookmark this request" onClose={() => (isAsking.value = false)}>
          <div class="form">
            <p>
              The request and its body stay in the log until you remove the bookmark. You can replay it at any
              time.
            </p>
            <div class="field">
              <label for={id}>Bookmark name</label>
              <input
                id={id}
                maxLength={255}
                autocomplete="off"
                placeholder="an order with two items"
                value={name.value}
                onInput={({ currentTarget }) => (name.value = currentTarget.value)}
              />
            </div>
            <p>
              <ActionButton
                label="Save"
                isPrimary
                isDisabled={name.value.trim() === ""}
                run={keep}
                done="Bookmarked"
              />
            </p>
          </div>
        </Modal>
      )}
    </>
  );
}
