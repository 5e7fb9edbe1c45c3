import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import type { DeliveryProblem } from "../../shared/resources.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton } from "../action-button.tsx";
import { ReasonField } from "../reason-field.tsx";
import { UntilField, type Until } from "../until-field.tsx";

function changeProblem(id: string, body: object): Promise<unknown> {
  return callApi({ method: "PATCH", path: `v1/problems/${id}`, body });
}

/** Takes a problem out of what needs attention; it goes on being counted. */
export function MuteButton({ problem }: { readonly problem: DeliveryProblem }) {
  const isAsking = useSignal(false);
  const close = () => (isAsking.value = false);
  if (problem.state === "resolved") return null;
  if (problem.state === "muted") {
    return (
      <ActionButton
        label="End the mute"
        run={() => changeProblem(problem.id, { muted: false })}
        done="It is shown again"
      />
    );
  }
  return (
    <>
      <button type="button" data-command="Mute…" onClick={() => (isAsking.value = true)}>
        Mute…
      </button>
      {isAsking.value && (
        <Modal title="Mute this problem?" onClose={close}>
          <MuteForm id={problem.id} close={close} />
        </Modal>
      )}
    </>
  );
}

function MuteForm({ id, close }: { readonly id: string; readonly close: () => void }) {
  const until = useSignal<Until>(null);
  const reason = useSignal("");
  const mute = async () => {
    await changeProblem(id, {
      muted: true,
      ...(typeof until.value === "number" && { muted_until: new Date(until.value).toISOString() }),
      ...(reason.value.trim() !== "" && { mute_reason: reason.value.trim() }),
    });
    close();
  };
  return (
    <div class="form">
      <p>It goes on being counted, and does not stand on the overview.</p>
      <UntilField choose={(chosen) => (until.value = chosen)} />
      <ReasonField reason={reason} />
      <ActionButton label="Mute" isPrimary isDisabled={until.value === undefined} run={mute} done="Muted" />
    </div>
  );
}

/** What people know of it. */
export function NoteForm({ problem }: { readonly problem: DeliveryProblem }) {
  const note = useSignal(problem.note ?? "");
  const id = useId();
  const isSame = note.value.trim() === (problem.note ?? "");
  return (
    <div class="form">
      <div class="field">
        <label for={id}>What is known of it: a ticket, whom to ask</label>
        <textarea
          id={id}
          rows={3}
          maxLength={2_000}
          value={note.value}
          onInput={({ currentTarget }) => (note.value = currentTarget.value)}
        />
      </div>
      <p>
        <ActionButton
          label="Keep the note"
          isDisabled={isSame}
          run={() => changeProblem(problem.id, { note: note.value.trim() === "" ? null : note.value.trim() })}
          done="Kept"
        />
      </p>
    </div>
  );
}
