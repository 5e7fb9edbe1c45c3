import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { known, t } from "../language.ts";

interface Judgement {
  readonly acceptable: boolean;
  readonly code: string | null;
  readonly detail: string | null;
  readonly duplicate_of: string | null;
}

const pauseMs = 350;

/** Address field that is validated while typing, with the same rules as at sending. */
export function AddressField(props: {
  readonly value: string;
  readonly except: string | null;
  readonly onChange: (value: string) => void;
}) {
  const { value, except, onChange } = props;
  const id = useId();
  const judgement = useSignal<Judgement | null>(null);
  useEffect(() => {
    judgement.value = null;
    if (value.length < 8) return undefined;
    const ended = new AbortController();
    const ask = async () => {
      const body = { url: value };
      const { value: found } = await callApi<Judgement>({
        method: "POST",
        path: "v1/webhooks/check-url",
        body,
        signal: ended.signal,
      });
      judgement.value = found;
    };
    const timer = setTimeout(() => void ask().catch(() => undefined), pauseMs);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [value]);
  const problem = problemOf(judgement.value, except);
  return (
    <p class="field">
      <label for={id}>{t("field.url")}</label>
      <input
        id={id}
        type="url"
        inputMode="url"
        autocomplete="off"
        spellcheck={false}
        required
        value={value}
        placeholder="https://example.com/webhooks"
        aria-describedby={`${id}-note`}
        aria-invalid={problem?.isWrong === true}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <span id={`${id}-note`} role="status" class={problem?.isWrong === true ? "bad-text" : "soft"}>
        {problem?.text ?? (judgement.value === null ? t("field.url.hint") : t("field.url.ok"))}
      </span>
    </p>
  );
}

function problemOf(found: Judgement | null, except: string | null) {
  if (found === null) return null;
  if (!found.acceptable) {
    const key = `url.${found.code ?? ""}`;
    return { isWrong: true, text: known(key) ? t(key) : (found.detail ?? "") };
  }
  if (found.duplicate_of !== null && found.duplicate_of !== except)
    return { isWrong: false, text: t("url.duplicate") };
  return null;
}
