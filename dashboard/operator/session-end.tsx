import { useSignal } from "@preact/signals";
import { callApi, isSessionOver, sessionPath } from "../shared/api.ts";
import { now } from "../shared/clock.ts";
import { refreshAll, useApi } from "../shared/queries.ts";
import type { SessionView } from "../shared/resources.ts";
import { LoginDialog } from "./login.tsx";

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
