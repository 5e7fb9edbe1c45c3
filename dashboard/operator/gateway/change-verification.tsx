import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { Source, SourceType } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { ErrorNote, NotLoaded } from "../../shared/ui/error-note.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { useFormSending } from "../form/use-form-sending.ts";
import { typedVerification, verificationOf, type TypedVerification } from "./source-types.ts";
import { useSourceTypes } from "./use-source-types.ts";
import { VerificationFields } from "./verification-fields.tsx";

/** Changes the secret, optionally keeping the previous one, or the verification scheme. */
export function ChangeVerificationButton(props: {
  readonly source: Source;
  readonly label: string;
  readonly isPrimary?: boolean;
  /** Called after the change. */
  readonly changed?: () => void;
}) {
  const { source, label, isPrimary = false, changed } = props;
  const isAsking = useSignal(false);
  const close = () => (isAsking.value = false);
  return (
    <>
      <button
        type="button"
        class={isPrimary ? "primary" : undefined}
        data-command={label}
        onClick={() => (isAsking.value = true)}
      >
        {label}
      </button>
      {isAsking.value && (
        <Modal title="Change verification" onClose={close}>
          <ChangeForm
            source={source}
            done={() => {
              close();
              changed?.();
            }}
          />
        </Modal>
      )}
    </>
  );
}

function ChangeForm({ source, done }: { readonly source: Source; readonly done: () => void }) {
  const { data, error } = useSourceTypes();
  const now = source.verification.type ?? "";
  const chosen = useSignal(now);
  const id = useId();
  const type = data?.data.find((one) => one.type === chosen.value);
  if (data === null) return <NotLoaded error={error} />;
  return (
    <div class="form">
      <div class="field">
        <label for={id}>Verification</label>
        <select
          id={id}
          value={chosen.value}
          onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}
        >
          {data.data.map((one) => (
            <option key={one.type} value={one.type}>
              {one.title}
            </option>
          ))}
        </select>
      </div>
      {type !== undefined && (
        <TypedForm key={type.type} source={source} type={type} isSame={type.type === now} done={done} />
      )}
    </div>
  );
}

function TypedForm(props: {
  readonly source: Source;
  readonly type: SourceType;
  readonly isSame: boolean;
  readonly done: () => void;
}) {
  const { source, type, isSame, done } = props;
  const typed = useSignal<TypedVerification>(isSame ? typedVerification(type, source.verification) : {});
  const { form, problems, error, isBusy, submit } = useFormSending();
  const send = async (body: object) => {
    await callApi({ method: "PATCH", path: `v1/sources/${source.id}`, body });
    announce("Saved");
    await refreshAll();
    done();
  };
  return (
    <form
      ref={form}
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const verification = verificationOf(type, typed.value);
        void submit({ body: { verification }, problems: [] }, send);
      }}
    >
      {isSame && type.fields.some(({ is_secret }) => is_secret) && (
        <p class="soft">Stored secrets are never shown. Enter them again.</p>
      )}
      <VerificationFields type={type} typed={typed} problems={problems.value} isChange />
      {error.value !== null && <ErrorNote error={error.value} />}
      <button type="submit" class="primary" disabled={isBusy.value}>
        Save
      </button>
    </form>
  );
}
