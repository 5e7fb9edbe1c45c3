import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { login, loginNote, logout, session } from "../shared/session.ts";
import { Command } from "../shared/ui/as-api.tsx";
import { Modal } from "../shared/ui/modal.tsx";

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
export function LoginDialog() {
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
