import { callApi } from "../../shared/api.ts";
import { HoldButton } from "../hold-button.tsx";

/** Pauses a webhook. New events are still stored. */
export function PauseButton({ path }: { readonly path: string }) {
  return (
    <HoldButton
      label="Pause"
      title="Pause this webhook?"
      explanation="New events are stored and sent when the pause ends."
      done="Paused"
      hold={(hold) => callApi({ method: "POST", path: `${path}/pause`, body: hold })}
    />
  );
}
