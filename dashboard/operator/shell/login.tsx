import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi, isSessionOver, sessionPath } from "../../shared/api.ts";
import { now } from "../../shared/clock.ts";
import { refreshAll, useApi } from "../../shared/queries.ts";
import type { SessionView } from "../../shared/resources.ts";
import { login, loginNote, logout, session } from "../../shared/session.ts";
import { Command } from "../../shared/ui/as-api.tsx";
import { Modal } from "../../shared/ui/modal.tsx";

export function LoginPage() {
  return (
    <main class="login">
      <h1>Posthorn</h1>
      <LoginForm note={loginNote.value} />
      <p class="soft">To print a login link, run this on the server:</p>
      <Command text="npm run posthorn -- ui" />
    </main>
  );
}

/** Login dialog over the page, so that form input is not lost. */
function LoginDialog() {
  return (
    <Modal title="Session ended" onClose={() => void logout().catch(() => (session.value = null))}>
      <div class="login-dialog">
        <p>Log in again to continue. Your input is still there.</p>
        <LoginForm note="" />
      </div>
    </Modal>
  );
}

function LoginForm(props: { readonly note: string }) {
  const note = useSignal(props.note);
  const isBusy = useSignal(false);
  const id = useId();
  const submit = async (form: HTMLFormElement) => {
    isBusy.value = true;
    try {
      await login({ key: typedIn(form).trim() });
    } catch (error) {
      note.value = error instanceof Error ? error.message : String(error);
      form.querySelector("input")?.focus();
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      <label for={id}>API key</label>
      <input
        id={id}
        name="key"
        type="password"
        autocomplete="off"
        required
        aria-describedby={`${id}-note`}
        aria-invalid={note.value !== ""}
      />
      <p id={`${id}-note`} role="alert" class={note.value === "" ? "soft" : "bad-text"}>
        {note.value === "" ? "The key is exchanged for a session cookie and is not stored." : note.value}
      </p>
      <button type="submit" class="primary" disabled={isBusy.value}>
        Log in
      </button>
    </form>
  );
}

function typedIn(form: HTMLFormElement): string {
  const key = new FormData(form).get("key");
  return typeof key === "string" ? key : "";
}

const lookEveryMs = 30_000;
const announcedMs = 120_000;

/** Warns two minutes before the session ends, and shows a login dialog when it has ended. */
export function SessionEnd({ view }: { readonly view: SessionView }) {
  const isAsking = useSignal(false);
  const { data } = useApi<SessionView>({ path: sessionPath }, { everyMs: lookEveryMs });
  if (isSessionOver.value) return <LoginDialog />;
  const { expires_at, idle_until } = data ?? view;
  const [end, idleEnd] = [Date.parse(expires_at), Date.parse(idle_until)];
  const leftMs = Math.min(end, idleEnd) - now.value;
  if (leftMs > announcedMs || leftMs <= 0) return null;
  const isIdle = idleEnd < end;
  const stay = async () => {
    isAsking.value = true;
    await callApi({ path: sessionPath });
    await refreshAll();
    isAsking.value = false;
  };
  return (
    <div class="session-end" role="alert">
      <p>The session ends in less than two minutes. Your input is kept. You will be asked for your key.</p>
      {isIdle && (
        <button type="button" disabled={isAsking.value} onClick={() => void stay()}>
          Stay logged in
        </button>
      )}
    </div>
  );
}
