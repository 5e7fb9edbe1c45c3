/** Who is logged in. The key is never kept: a cookie that scripts cannot read stands for it. */
import { signal } from "@preact/signals";
import { ApiError, callApi, isSessionOver, sessionPath } from "./api.ts";
import { queryClient, refreshAll } from "./queries.ts";
import type { SessionView } from "./resources.ts";

/** Null when nobody is. */
export const session = signal<SessionView | null>(null);
/** Why there is none, for the page that asks for a login. */
export const loginNote = signal<string>("");

/** Takes the one-time code out of the address, or the cookie that is there. */
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
  // Somebody else must not see what was read before; the same goes on where they were.
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

/** A used link still leads somebody who is logged in to the dashboard. */
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
