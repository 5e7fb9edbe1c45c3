import { TextView } from "../../shared/ui/text-view.tsx";
import { useEventTypes } from "../endpoint/event-picker.tsx";
import { ErrorText } from "../error-text.tsx";
import { t } from "../language.ts";
import { portalPath } from "../paths.ts";
import { may } from "../session.ts";
import { textWords } from "../text-words.ts";

export function EventTypesPage() {
  const { data, error, isLoading } = useEventTypes();
  return (
    <>
      <h1>{t("types.title")}</h1>
      {error !== null && <ErrorText error={error} />}
      {isLoading && <p class="soft">{t("loading")}</p>}
      {data?.data.length === 0 && <p class="panel">{t("types.none")}</p>}
      {data?.data.map(({ name, description, schema, examples, deprecated }) => (
        <details class="panel" key={name}>
          <summary>
            <code>{name}</code> {description}
            {deprecated && <span class="soft"> {t("types.deprecated")}</span>}
          </summary>
          {examples.map((example, index) => (
            <TextView
              // Examples have no id, so use the index.
              key={index}
              text={JSON.stringify(example)}
              label={t("types.example", { name })}
              words={textWords()}
            />
          ))}
          {schema !== null && (
            <TextView text={JSON.stringify(schema)} label={t("types.schema", { name })} words={textWords()} />
          )}
          {may("endpoints:write") && (
            <p>
              <a href={portalPath("add", { event: name })}>{t("types.subscribe", { name })}</a>
            </p>
          )}
        </details>
      ))}
    </>
  );
}
