/** The operator's session. The API key is not stored; an HttpOnly cookie replaces it. */
import { signal } from "@preact/signals";
import { ApiError, callApi, isSessionOver, sessionPath } from "./api.ts";
import { queryClient, refreshAll } from "./queries.ts";
import type { SessionView } from "./resources.ts";

/** Null if not logged in. */
export const session = signal<SessionView | null>(null);
/** Reason shown on the login page. */
export const loginNote = signal<string>("");

/** Logs in with the one-time code in the URL, or with an existing cookie. */
export async function beginSession(): Promise<void> {
  const code = /^#c=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, "", location.pathname + location.search);
  try {
    if (code !== undefined) await login({ code });
    else session.value = (await callApi<SessionView>({ path: sessionPath })).value;
  } catch (error) {
    if (code !== undefined && (await hasSession())) return;
    const isNew = code === undefined && error instanceof ApiError && error.status === 401;
    loginNote.value = isNew ? "" : messageOf(error);
    session.value = null;
  }
}

export async function login(credentials: { readonly key?: string; readonly code?: string }): Promise<void> {
  const { value } = await callApi<SessionView>({ method: "POST", path: sessionPath, body: credentials });
  const before = session.value ?? null;
  loginNote.value = "";
  session.value = value;
  isSessionOver.value = false;
  if (before === null) return;
  // A different user must not see cached data. For the same user, the cached data is kept.
  const isSame = before.tenant_id === value.tenant_id && before.role === value.role;
  if (!isSame) queryClient.clear();
  await refreshAll();
}

export async function logout(): Promise<void> {
  await callApi({ method: "DELETE", path: sessionPath });
  queryClient.clear();
  isSessionOver.value = false;
  session.value = null;
}

/** Whether a session exists. If it does, a login link that was already used still opens the dashboard. */
async function hasSession(): Promise<boolean> {
  try {
    session.value = (await callApi<SessionView>({ path: sessionPath })).value;
    return true;
  } catch {
    return false;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
