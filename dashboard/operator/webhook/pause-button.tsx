import { callApi } from "../../shared/api.ts";
import { HoldButton } from "../hold-button.tsx";

/** Holds a webhook's deliveries back; events published meanwhile are kept. */
export function PauseButton({ path }: { readonly path: string }) {
  return (
    <HoldButton
      label="Pause"
      title="Pause this webhook?"
      explanation="Events go on being kept and are sent when the pause ends."
      done="Paused"
      hold={(hold) => callApi({ method: "POST", path: `${path}/pause`, body: hold })}
    />
  );
}
