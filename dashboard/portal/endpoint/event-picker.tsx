import { useId } from "preact/hooks";
import { useApi } from "../../shared/queries.ts";
import type { Page } from "../../shared/resources.ts";
import { t } from "../language.ts";

export interface EventType {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  readonly examples: readonly unknown[];
  readonly deprecated: boolean;
}

export function useEventTypes() {
  return useApi<Page<EventType>>({ path: "v1/event-types", query: { limit: 250 } }, { everyMs: false });
}

/** Selects all event types, types from the catalogue, or typed names. */
export function EventPicker(props: {
  readonly value: readonly string[];
  readonly onChange: (value: readonly string[]) => void;
}) {
  const { value, onChange } = props;
  const types = (useEventTypes().data?.data ?? []).filter(
    ({ name, deprecated }) => !deprecated || value.includes(name),
  );
  const isAll = value.includes("*");
  const others = value.filter((name) => name !== "*" && !types.some((type) => type.name === name));
  const id = useId();
  const toggle = (name: string, isOn: boolean) =>
    onChange(isOn ? [...value.filter((one) => one !== "*"), name] : value.filter((one) => one !== name));
  return (
    <fieldset class="events">
      <legend>{t("field.events")}</legend>
      <label>
        <input
          type="checkbox"
          checked={isAll}
          onChange={({ currentTarget }) => onChange(currentTarget.checked ? ["*"] : [])}
        />
        {t("field.events.all")}
      </label>
      {!isAll &&
        types.map(({ name, description }) => (
          <label key={name} class="event-choice">
            <input
              type="checkbox"
              checked={value.includes(name)}
              onChange={({ currentTarget }) => toggle(name, currentTarget.checked)}
            />
            <span>
              <code>{name}</code> {description !== "" && <span class="soft">{description}</span>}
            </span>
          </label>
        ))}
      {!isAll && (
        <p class="field">
          <label for={id}>{t("field.events.others")}</label>
          <input
            id={id}
            defaultValue={others.join(", ")}
            placeholder="order.*, user.created"
            onChange={({ currentTarget }) =>
              onChange([
                ...value.filter((name) => types.some((type) => type.name === name)),
                ...currentTarget.value.split(/[\s,]+/).filter((name) => name !== ""),
              ])
            }
          />
        </p>
      )}
    </fieldset>
  );
}
