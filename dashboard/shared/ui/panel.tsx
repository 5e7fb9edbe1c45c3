import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Loaded } from "../queries.ts";
import { AsApi, type ApiTwin } from "./as-api.tsx";
import { ErrorNote } from "./error-note.tsx";

interface PanelProps {
  readonly title: string;
  /** Controls next to the title. */
  readonly tools?: ComponentChildren;
  readonly twin?: ApiTwin;
  /** Data of the panel. Shows a loading state, and keeps old data when a refresh fails. */
  readonly loaded?: Pick<Loaded<unknown>, "data" | "error" | "loadedAt" | "isLoading" | "isOld">;
  readonly children: ComponentChildren;
}

export function Panel({ title, tools, twin, loaded, children }: PanelProps) {
  const id = useId();
  const error = loaded?.error ?? null;
  const hasData = loaded === undefined || loaded.data !== null;
  return (
    <section class="panel" aria-labelledby={id} aria-busy={loaded?.isOld === true ? true : undefined}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        <div class="panel-tools">
          {tools}
          {twin !== undefined && <AsApi twin={twin} what={title} />}
        </div>
      </header>
      {error !== null && <ErrorNote error={error} since={loaded?.loadedAt ?? 0} />}
      {hasData && children}
      {!hasData && error === null && <p class="soft waiting">Loading…</p>}
    </section>
  );
}
