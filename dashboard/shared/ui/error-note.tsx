import type { ApiError } from "../api.ts";
import { now } from "../clock.ts";
import { localTime } from "../format.ts";
import type { Loaded } from "../queries.ts";
import { root } from "../root.ts";

/** Error message with code and request id for support. */
export function ErrorNote({ error, since = 0 }: { readonly error: ApiError; readonly since?: number }) {
  const { problem, requestId, message } = error;
  return (
    <div class="note note-bad" role="alert">
      <p>
        {message}
        {since > 0 && <> Showing data from {localTime(since, { now: now.value })}.</>}
      </p>
      <ErrorFields problem={problem} />
      {problem !== null && (
        <p class="soft">
          <a href={new URL(`docs/errors#${problem.code}`, root).href} target="_blank" rel="noreferrer">
            {problem.code}
          </a>
          {requestId !== null && (
            <>
              {" "}
              request <code>{requestId}</code>
            </>
          )}
        </p>
      )}
    </div>
  );
}

/** What is wrong with each field of the request. */
export function ErrorFields({ problem }: Pick<ApiError, "problem">) {
  if (problem?.errors === undefined) return null;
  return (
    <ul>
      {problem.errors.map(({ field, message }) => (
        <li key={field}>
          <code>{field}</code> {message}
        </li>
      ))}
    </ul>
  );
}

/** Placeholder while a page is loading or after loading failed. */
export function NotLoaded({ error }: Pick<Loaded<unknown>, "error">) {
  return error === null ? <p class="waiting soft">Loading…</p> : <ErrorNote error={error} />;
}
