import type { Signal } from "@preact/signals";
import { useApi } from "../../shared/queries.ts";
import type { EventType, Page } from "../../shared/resources.ts";
import { CheckBox, CheckBoxes, Field } from "../../shared/ui/field.tsx";
import { t } from "../shell/language.ts";
import { ListState, Text } from "../shell/parts.tsx";
import { portalPath } from "../shell/paths.ts";
import { may } from "../shell/session.ts";

export function useEventTypes() {
  return useApi<Page<EventType>>({ path: "v1/event-types", query: { limit: 250 } }, { everyMs: false });
}

/** Page that lists the event type catalogue. */
export function EventTypesPage() {
  const loaded = useEventTypes();
  return (
    <>
      <h1>{t("types.title")}</h1>
      <ListState loaded={loaded} empty={t("types.none")} />
      {loaded.data?.data.map(({ name, description, schema, examples, deprecated }) => (
        <details class="panel" key={name}>
          <summary>
            <code>{name}</code> {description}
            {deprecated && <span class="soft"> {t("types.deprecated")}</span>}
          </summary>
          {examples.map((example, index) => (
            // Examples have no id, so use the index.
            <Text key={index} text={JSON.stringify(example)} label={t("types.example", { name })} />
          ))}
          {schema !== null && <Text text={JSON.stringify(schema)} label={t("types.schema", { name })} />}
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

/** Selects all event types, types from the catalogue, or typed names. */
export function EventPicker({ value }: { readonly value: Signal<readonly string[]> }) {
  const chosen = value.value;
  const types = (useEventTypes().data?.data ?? []).filter(
    ({ name, deprecated }) => !deprecated || chosen.includes(name),
  );
  const isAll = chosen.includes("*");
  const isListed = (name: string) => types.some((type) => type.name === name);
  return (
    <fieldset class="events">
      <legend>{t("field.events")}</legend>
      <CheckBox
        label={t("field.events.all")}
        isChecked={isAll}
        onChange={(isChecked) => (value.value = isChecked ? ["*"] : [])}
      />
      {!isAll && (
        <>
          <CheckBoxes
            value={value}
            options={types.map(({ name, description }) => [
              name,
              <span key={name}>
                <code>{name}</code> {description !== "" && <span class="soft">{description}</span>}
              </span>,
            ])}
          />
          <Field label={t("field.events.others")}>
            {(control) => (
              <input
                {...control}
                defaultValue={chosen.filter((name) => !isListed(name)).join(", ")}
                placeholder="order.*, user.created"
                onChange={({ currentTarget }) => {
                  const others = currentTarget.value.split(/[\s,]+/).filter((name) => name !== "");
                  value.value = [...chosen.filter(isListed), ...others];
                }}
              />
            )}
          </Field>
        </>
      )}
    </fieldset>
  );
}
