import { callApi } from "../../shared/api.ts";
import type { DeliveryDetail } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import { waitingOf } from "./wording.ts";

type DeliveryGate = DeliveryDetail["gates"][number];

/** All that holds a delivery now: since when, until when, why, and the button that ends it. */
export function DeliveryGates({ gates }: { readonly gates: readonly DeliveryGate[] }) {
  if (gates.length === 0) return null;
  return (
    <ul class="gates" aria-label="What holds it">
      {gates.map(({ gate, since, until, cause, remedy }) => (
        <li key={gate}>
          <Badge tone="held" text="holds" />
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

/** The retry of a scheduled one stands below already. A call that the caller has to fill in, and one that only reads, are told in words. */
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
