import { bodyOf, type FormProblem } from "../form/form-fields.ts";
import { ResourceForm, type ResourceFormProps } from "../form/resource-form.tsx";
import { connectionFields, filterExamples, filterField } from "./connection-fields.ts";
import { FilterTrial } from "./filter-trial.tsx";

interface ConnectionFormProps
  extends Pick<ResourceFormProps, "before" | "isNew" | "label" | "send" | "lead" | "problemsOfParts"> {
  /** Whose requests the filter is tried on; empty while none is chosen. */
  readonly sourceId: string;
}

/** Name, filter and weight of a connection; `lead` are its ends, where they can be chosen. */
export function ConnectionForm({ sourceId, ...props }: ConnectionFormProps) {
  return (
    <ResourceForm
      {...props}
      fields={connectionFields}
      seldom="Delay, repeats, retries"
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
  return sourceId === "" ? [{ field: "source_id", message: "has to be chosen" }] : [];
}

/** Puts one of them into the field, to be changed there. */
function FilterExamples({ choose }: { readonly choose: (filter: object) => void }) {
  return (
    <details>
      <summary>Examples of filters</summary>
      <p class="soft">
        A filter looks at <code>body</code>, <code>headers</code>, <code>query</code> and <code>path</code>,
        with <code>$eq $neq $in $nin $gt $gte $lt $lte $startsWith $endsWith $exist $and $or $not</code>. What
        it leaves out is in the log of requests, with the rule that did it.
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
