import { ResourceForm, type ResourceFormProps } from "../form/resource-form.tsx";
import { connectionFields, filterExamples, filterField } from "./connection-fields.ts";

/** Name, filter and weight of a connection; `lead` are its ends, where they can be chosen. */
export function ConnectionForm(
  props: Pick<ResourceFormProps, "before" | "isNew" | "label" | "send" | "lead" | "problemsOfParts">,
) {
  return (
    <ResourceForm
      {...props}
      fields={connectionFields}
      seldom="Delay, repeats, retries"
      middle={({ type }) => (
        <FilterExamples choose={(filter) => type({ [filterField.name]: JSON.stringify(filter, null, 2) })} />
      )}
    />
  );
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
