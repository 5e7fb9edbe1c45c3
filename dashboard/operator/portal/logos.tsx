import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { ActionButton } from "../action-button.tsx";
import { useBusy } from "../use-busy.ts";
import type { PortalSettings } from "./portal-fields.ts";

interface LogosProps {
  /** API path of the portal settings. */
  readonly path: string;
  readonly settings: PortalSettings;
}

export function Logos({ path, settings }: LogosProps) {
  return (
    <Panel title="Logos" twin={{ path, cli: null }}>
      <p class="soft">
        PNG or WebP up to 64 KiB. Without a dark logo, the light logo is used in both schemes.
      </p>
      <Logo path={path} scheme="light" mediaType={settings.logo_light} />
      <Logo path={path} scheme="dark" mediaType={settings.logo_dark} />
    </Panel>
  );
}

function Logo(props: {
  readonly path: string;
  readonly scheme: "light" | "dark";
  readonly mediaType: string | null;
}) {
  const { scheme, mediaType } = props;
  const id = useId();
  const { error, run } = useBusy();
  const call = { path: `${props.path}/logo`, query: { scheme } };
  const upload = (file: File | undefined) =>
    file === undefined
      ? undefined
      : void run(async () => {
          await callApi({ ...call, method: "PUT", file });
          announce("Logo saved");
          await refreshAll();
        });
  return (
    <div class="actions">
      <label for={id}>{`Logo for the ${scheme} scheme`}</label>
      <input
        id={id}
        type="file"
        accept="image/png,image/webp"
        onChange={({ currentTarget }) => upload(currentTarget.files?.[0])}
      />
      <span class="soft">{mediaType === null ? "not set" : `${mediaType}, saved`}</span>
      {mediaType !== null && (
        <ActionButton
          label={`Remove ${scheme} logo`}
          run={() => callApi({ ...call, method: "DELETE" })}
          done="Logo removed"
        />
      )}
      {error.value !== null && <ErrorNote error={error.value} />}
    </div>
  );
}
