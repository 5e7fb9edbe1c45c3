/** Components for pages in the language of the session: calls with their errors, forms, dialogs, lists and times. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ApiError } from "../../shared/api.ts";
import { type Loaded, useBusy } from "../../shared/queries.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { ErrorFields } from "../../shared/ui/error-note.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { TextView } from "../../shared/ui/text-view.tsx";
import { TimeText } from "../../shared/ui/when.tsx";
import { known, moment, relative, t } from "./language.ts";

/** A button that runs an action and announces its result or error. */
export function Action(props: {
  readonly children: ComponentChildren;
  readonly run: () => Promise<string | null>;
  readonly isPrimary?: boolean;
}) {
  const { run, isBusy, error } = useBusy();
  const act = async () => {
    const said = await props.run();
    if (said !== null) announce(said);
  };
  return (
    <>
      <button
        type="button"
        class={props.isPrimary === true ? "primary" : undefined}
        aria-disabled={isBusy.value}
        onClick={() => void (isBusy.value || run(act))}
      >
        {props.children}
      </button>
      {error.value !== null && <ErrorText error={error.value} />}
    </>
  );
}

/** A form that sends its values. `tools` are shown next to the submit button. */
export function Form(props: {
  readonly children: ComponentChildren;
  readonly label: string;
  readonly tools?: ComponentChildren;
  readonly class?: string;
  /** Moves the focus to the first field. */
  readonly takesFocus?: boolean;
  readonly send: () => Promise<void>;
}) {
  const { children, label, tools, takesFocus = false, send } = props;
  const form = useRef<HTMLFormElement>(null);
  const { run, isBusy, error } = useBusy();
  useEffect(() => {
    if (takesFocus) form.current?.querySelector<HTMLElement>("select, input")?.focus();
  }, []);
  return (
    <form
      class={props.class ?? "form"}
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        void (isBusy.value || run(send));
      }}
    >
      {children}
      {error.value !== null && <ErrorText error={error.value} />}
      <p class="actions">
        <button type="submit" class="primary">
          {label}
        </button>
        {tools}
      </p>
    </form>
  );
}

/** A button that opens a dialog. `children` gets a function that closes it. */
export function DialogButton(props: {
  readonly label: string;
  readonly children: (close: () => void) => ComponentChildren;
}) {
  const { label, children } = props;
  const isOpen = useSignal(false);
  const close = () => (isOpen.value = false);
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        {label}
      </button>
      {isOpen.value && (
        <Modal title={label} closeLabel={t("close")} onClose={close}>
          {children(close)}
        </Modal>
      )}
    </>
  );
}

/** A button that asks for confirmation before it runs an action. */
export function ConfirmButton(props: {
  readonly label: string;
  readonly children: ComponentChildren;
  readonly run: () => Promise<string>;
}) {
  const { label, children, run } = props;
  return (
    <DialogButton label={label}>
      {(close) => (
        <>
          {children}
          <div class="actions">
            <Action run={run} isPrimary>
              {label}
            </Action>
            <button type="button" onClick={close}>
              {t("cancel")}
            </button>
          </div>
        </>
      )}
    </DialogButton>
  );
}

/** The server's message, translated if possible. */
export function ErrorText({ error }: { readonly error: ApiError }) {
  const { problem, status, message } = error;
  const key = `error.${problem?.code ?? (status === 0 ? "offline" : "")}`;
  return (
    <div class="note note-bad" role="alert">
      <p>{known(key) ? t(key) : message}</p>
      <ErrorFields problem={problem} />
    </div>
  );
}

/** Shown instead of a list or above it: an error, a loading message, or a message that the list is empty. */
export function ListState(props: {
  readonly loaded: Loaded<{ readonly data: readonly unknown[] }>;
  readonly empty: string | null;
}) {
  const { data, error, isLoading } = props.loaded;
  return (
    <>
      {error !== null && <ErrorText error={error} />}
      {isLoading && <p class="soft">{t("loading")}</p>}
      {props.empty !== null && data?.data.length === 0 && <p class="panel">{props.empty}</p>}
    </>
  );
}

/** On narrow pages, each cell shows the title of its column. */
export function Table<Row>(props: {
  readonly caption: string;
  readonly columns: readonly (readonly [title: string, cell: (row: Row) => ComponentChildren])[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Whether the rows belong to an earlier query. */
  readonly isOld?: boolean;
}) {
  const { caption, columns, rows, keyOf, isOld = false } = props;
  return (
    <table class="messages" aria-busy={isOld}>
      <caption class="off-screen">{caption}</caption>
      <thead>
        <tr>
          {columns.map(([title]) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(([title, cell], index) =>
              index === 0 ? (
                <th key={title} scope="row">
                  {cell(row)}
                </th>
              ) : (
                <td key={title} data-title={title}>
                  {cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Filters or choices as buttons. */
export function Chips<Name extends string>(props: {
  readonly label: string;
  readonly names: readonly Name[];
  readonly chosen: Name;
  readonly textOf: (name: Name) => string;
  readonly choose: (name: Name) => void;
}) {
  const { label, names, chosen, textOf, choose } = props;
  return (
    <div class="chips" role="group" aria-label={label}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          class={`chip${name === chosen ? " chip-on" : ""}`}
          aria-pressed={name === chosen}
          onClick={() => choose(name)}
        >
          {textOf(name)}
        </button>
      ))}
    </div>
  );
}

/** Relative time, with the full time as tooltip. */
export function When({ at }: { readonly at: string | null }) {
  return <TimeText at={at} textOf={relative} titleOf={moment} />;
}

/** Untrusted text, such as a payload. */
export function Text({ text, label }: { readonly text: string; readonly label: string }) {
  const words = { asSent: t("text.asSent"), copy: t("copy"), copied: t("copied") };
  return <TextView text={text} label={label} words={words} />;
}
