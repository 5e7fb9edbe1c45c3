import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import type { DeliveryProblem } from "../../shared/resources.ts";
import { ActionButton } from "../action-button.tsx";
import { HoldButton } from "../hold-button.tsx";

function changeProblem(id: string, body: object): Promise<unknown> {
  return callApi({ method: "PATCH", path: `v1/problems/${id}`, body });
}

/** Mutes a problem. It leaves the overview but is still counted. */
export function MuteButton({ problem }: { readonly problem: DeliveryProblem }) {
  if (problem.state === "resolved") return null;
  if (problem.state === "muted") {
    return (
      <ActionButton label="Unmute" run={() => changeProblem(problem.id, { muted: false })} done="Unmuted" />
    );
  }
  return (
    <HoldButton
      label="Mute"
      title="Mute this problem?"
      explanation="A muted problem is still counted, but is not shown on the overview."
      done="Muted"
      hold={({ until, reason }) =>
        changeProblem(problem.id, { muted: true, muted_until: until, mute_reason: reason })
      }
    />
  );
}

export function NoteForm({ problem }: { readonly problem: DeliveryProblem }) {
  const note = useSignal(problem.note ?? "");
  const id = useId();
  const isSame = note.value.trim() === (problem.note ?? "");
  return (
    <div class="form">
      <div class="field">
        <label for={id}>Note for your team, such as a ticket or a contact</label>
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
          label="Save note"
          isDisabled={isSame}
          run={() => changeProblem(problem.id, { note: note.value.trim() === "" ? null : note.value.trim() })}
          done="Note saved"
        />
      </p>
    </div>
  );
}
