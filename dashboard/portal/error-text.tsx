import type { ApiError } from "../shared/api.ts";
import { known, t } from "./language.ts";

/** Translated text if available, otherwise the server's message. */
function errorText({ problem, status, message }: ApiError): string {
  const key = `error.${problem?.code ?? (status === 0 ? "offline" : "")}`;
  return known(key) ? t(key) : message;
}

export function ErrorText({ error }: { readonly error: ApiError }) {
  return (
    <div class="note note-bad" role="alert">
      <p>{errorText(error)}</p>
      {error.problem?.errors !== undefined && (
        <ul>
          {error.problem.errors.map(({ field, message }) => (
            <li key={field}>
              <code>{field}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
