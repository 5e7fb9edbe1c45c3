import type { ComponentChildren } from "preact";
import { useAddress } from "../address.ts";
import { pagePath } from "../root.ts";

/** Heading of a page, with its page-wide controls. */
export function PageHead({
  title,
  beside,
  children,
}: {
  readonly title: string;
  /** Badge after the title. */
  readonly beside?: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="page-head">
      <h1>
        {title} {beside}
      </h1>
      <div class="panel-tools">{children}</div>
    </div>
  );
}

export interface Tab {
  /** Name in the URL. Empty for the first tab. */
  readonly name: string;
  readonly title: string;
}

/** Tab in the URL. Defaults to the first one. */
export function useTab(tabs: readonly Tab[]): string {
  const { params } = useAddress();
  const name = params.get("tab") ?? "";
  return tabs.some((tab) => tab.name === name) ? name : (tabs[0]?.name ?? "");
}

/** Tabs as links, so that each tab has a URL and the browser's Back button works. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const { page, params } = useAddress();
  const current = useTab(tabs);
  return (
    <ul class="tabs" aria-label={label}>
      {tabs.map(({ name, title }) => {
        const next = new URLSearchParams(params);
        if (name === "") next.delete("tab");
        else next.set("tab", name);
        const query = next.size === 0 ? "" : `?${next.toString()}`;
        return (
          <li key={name}>
            <a href={`${pagePath(page)}${query}`} aria-current={name === current ? "page" : undefined}>
              {title}
            </a>
          </li>
        );
      })}
    </ul>
  );
}
