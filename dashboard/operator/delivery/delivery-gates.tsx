import { callApi } from "../../shared/api.ts";
import type { DeliveryDetail } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import { waitingOf } from "./wording.ts";

type DeliveryGate = DeliveryDetail["gates"][number];

/** Gates that hold a delivery now: since when, until when, why, and a button that resolves it. */
export function DeliveryGates({ gates }: { readonly gates: readonly DeliveryGate[] }) {
  if (gates.length === 0) return null;
  return (
    <ul class="gates" aria-label="Gates that hold this delivery">
      {gates.map(({ gate, since, until, cause, remedy }) => (
        <li key={gate}>
          <Badge tone="held" text="holding" />
          <strong>{waitingOf(gate).short}</strong>
          <span>
            {cause}
            {since !== null && (
              <>
                {" "}
                Since <When at={since} isExact />.
              </>
            )}
            {until !== null && (
              <>
                {" "}
                Until <When at={until} isExact />.
              </>
            )}
            {remedy !== null && gate !== "schedule" && <RemedyOf remedy={remedy} />}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Shows text instead of a button for calls that only read or need input. */
function RemedyOf({ remedy }: { readonly remedy: NonNullable<DeliveryGate["remedy"]> }) {
  const { text, method, path, body } = remedy;
  if (method === "GET" || body === null || !mayManage()) return <span class="soft"> {text}</span>;
  return (
    <>
      {" "}
      <ActionButton
        label={text.replace(/\.$/, "")}
        run={() => callApi({ method, path: path.replace(/^\//, ""), body })}
        done="Done"
      />
    </>
  );
}
