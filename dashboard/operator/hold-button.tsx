import { useSignal } from "@preact/signals";
import { Modal } from "../shared/ui/modal.tsx";
import { ActionButton } from "./action-button.tsx";
import { ReasonField } from "./reason-field.tsx";
import { UntilField, type Until } from "./until-field.tsx";

/** Until when something is held back or kept silent, and why; null is until somebody ends it, and no reason. */
export interface Hold {
  readonly until: string | null;
  readonly reason: string | null;
}

interface HoldProps {
  /** What the button does: "Mute", "Pause". */
  readonly label: string;
  /** Names the button where several of a page have the same label. */
  readonly name?: string;
  readonly title: string;
  readonly explanation: string;
  /** Said when it is done. */
  readonly done: string;
  /** It may not last until somebody ends it. */
  readonly needsEnd?: boolean;
  readonly hold: (hold: Hold) => Promise<unknown>;
}

/** Asks for how long and why, then pauses or mutes. */
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
