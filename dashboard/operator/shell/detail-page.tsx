/** What pages have in common: the way back, tabs, ids and times. */
import type { ComponentChildren } from "preact";
import { useRoute } from "preact-iso";
import { useAddress } from "../../shared/address.ts";
import { pagePath } from "../../shared/root.ts";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { When } from "../../shared/ui/when.tsx";

/** The id in the address. */
export function useRouteId(): string {
  const { params } = useRoute();
  return params["id"] ?? "";
}

/** Page of one resource, with a link to its list. */
export function DetailPage(props: {
  readonly id: string;
  /** Page of the list. */
  readonly list: string;
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div data-page-id={props.id}>
      <Trail href={pagePath(props.list)}>{props.title}</Trail>
      {props.children}
    </div>
  );
}

/** Link to the page above. */
export function Trail({ href, children }: { readonly href: string; readonly children: ComponentChildren }) {
  return (
    <p class="trail">
      <a href={href}>{children}</a>
    </p>
  );
}

export function IdText({ id }: { readonly id: string }) {
  return (
    <>
      <code>{id}</code> <CopyButton text={id} label="Copy id" />
    </>
  );
}

/** A time with the words around it. Nothing without a time. */
export function TimePhrase(props: {
  readonly before: string;
  readonly at: string | null;
  readonly isExact?: boolean;
  readonly after?: string;
}) {
  const { before, at, isExact = false, after = "" } = props;
  if (at === null) return null;
  return (
    <>
      {before}
      <When at={at} isExact={isExact} />
      {after}
    </>
  );
}

export interface Tab {
  /** Name in the address. Empty for the first tab. */
  readonly name: string;
  readonly title: string;
}

/** Tab in the address, or the first one. */
export function useTab(tabs: readonly Tab[]): string {
  const { params } = useAddress();
  const name = params.get("tab") ?? "";
  return tabs.some((tab) => tab.name === name) ? name : (tabs[0]?.name ?? "");
}

/** Tabs as links, so that each has an address and Back works. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const { page, params } = useAddress();
  const current = useTab(tabs);
  const hrefOf = (name: string) => {
    const next = new URLSearchParams(params);
    if (name === "") next.delete("tab");
    else next.set("tab", name);
    return pagePath(page) + (next.size === 0 ? "" : `?${next.toString()}`);
  };
  return (
    <TabLinks label={label} links={tabs.map(({ name, title }) => [title, hrefOf(name), name === current])} />
  );
}

/** Links between the parts of something. */
export function TabLinks(props: {
  readonly label: string;
  readonly links: readonly (readonly [title: string, href: string, isCurrent: boolean])[];
}) {
  return (
    <ul class="tabs" aria-label={props.label}>
      {props.links.map(([title, href, isCurrent]) => (
        <li key={title}>
          <a href={href} aria-current={isCurrent ? "page" : undefined}>
            {title}
          </a>
        </li>
      ))}
    </ul>
  );
}
