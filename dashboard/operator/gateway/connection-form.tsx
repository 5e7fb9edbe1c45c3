import { bodyOf, type FormProblem } from "../form/form-fields.ts";
import { ResourceForm, type ResourceFormProps } from "../form/resource-form.tsx";
import { connectionFields, filterExamples, filterField } from "./connection-fields.ts";
import { FilterTrial } from "./filter-trial.tsx";

interface ConnectionFormProps
  extends Pick<ResourceFormProps, "before" | "isNew" | "label" | "send" | "lead" | "problemsOfParts"> {
  /** The filter is tried on requests of this source. Empty while no source is selected. */
  readonly sourceId: string;
}

/** Form for a connection. `lead` selects source and webhook of a new connection. */
export function ConnectionForm({ sourceId, ...props }: ConnectionFormProps) {
  return (
    <ResourceForm
      {...props}
      fields={connectionFields}
      seldom="Delay, deduplication, retries"
      middle={({ typed, type, submit }) => (
        <>
          <FilterExamples
            choose={(filter) => type({ [filterField.name]: JSON.stringify(filter, null, 2) })}
          />
          <FilterTrial
            sourceId={sourceId}
            text={typed[filterField.name] ?? ""}
            attempt={(look) => {
              const { body, problems } = bodyOf([filterField], { typed, before: {} });
              const wrong = [...missingSource(sourceId), ...problems];
              return submit({ body, problems: wrong }, ({ filter }) => look(filter ?? {}));
            }}
          />
        </>
      )}
    />
  );
}

function missingSource(sourceId: string): readonly FormProblem[] {
  return sourceId === "" ? [{ field: "source_id", message: "is required" }] : [];
}

/** Copies an example into the field for editing. */
function FilterExamples({ choose }: { readonly choose: (filter: object) => void }) {
  return (
    <details>
      <summary>Filter examples</summary>
      <p class="soft">
        A filter can test <code>body</code>, <code>headers</code>, <code>query</code> and <code>path</code>,
        with <code>$eq $neq $in $nin $gt $gte $lt $lte $startsWith $endsWith $exist $and $or $not</code>. The
        request log lists filtered messages with the rule that excluded them.
      </p>
      <ul class="examples">
        {filterExamples.map(([what, filter]) => (
          <li key={what}>
            <button type="button" onClick={() => choose(filter)}>
              {what}
            </button>{" "}
            <code>{JSON.stringify(filter)}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}
