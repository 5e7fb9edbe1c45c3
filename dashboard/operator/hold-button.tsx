import { useSignal } from "@preact/signals";
import { Modal } from "../shared/ui/modal.tsx";
import { ActionButton } from "./action-button.tsx";
import { ReasonField } from "./reason-field.tsx";
import { UntilField, type Until } from "./until-field.tsx";

/** End and reason of a pause or mute. A null end means until ended manually. */
export interface Hold {
  readonly until: string | null;
  readonly reason: string | null;
}

interface HoldProps {
  /** Action of the button: "Mute", "Pause". */
  readonly label: string;
  /** Distinguishes buttons with the same label on one page. */
  readonly name?: string;
  readonly title: string;
  readonly explanation: string;
  /** Announced on success. */
  readonly done: string;
  /** An end is required. */
  readonly needsEnd?: boolean;
  readonly hold: (hold: Hold) => Promise<unknown>;
}

/** Opens a dialog for duration and reason, then pauses or mutes. */
export function HoldButton(props: HoldProps) {
  const isAsking = useSignal(false);
  const close = () => (isAsking.value = false);
  return (
    <>
      <button
        type="button"
        aria-label={props.name === undefined ? undefined : `${props.label} ${props.name}…`}
        data-command={props.name === undefined ? `${props.label}…` : undefined}
        onClick={() => (isAsking.value = true)}
      >
        {props.label}…
      </button>
      {isAsking.value && (
        <Modal title={props.title} onClose={close}>
          <HoldForm {...props} close={close} />
        </Modal>
      )}
    </>
  );
}

function HoldForm(props: HoldProps & { readonly close: () => void }) {
  const { label, explanation, done, needsEnd = false, hold, close } = props;
  const until = useSignal<Until>(null);
  const reason = useSignal("");
  const run = async () => {
    const end = until.value;
    await hold({
      until: typeof end === "number" ? new Date(end).toISOString() : null,
      reason: reason.value.trim() === "" ? null : reason.value.trim(),
    });
    close();
  };
  const isDisabled = until.value === undefined || (needsEnd && until.value === null);
  return (
    <div class="form">
      <p>{explanation}</p>
      <UntilField choose={(chosen) => (until.value = chosen)} />
      <ReasonField reason={reason} />
      <ActionButton label={label} isPrimary isDisabled={isDisabled} run={run} done={done} />
    </div>
  );
}
