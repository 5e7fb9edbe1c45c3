/** Elements that detail pages share: the link back, ids and times. */
import type { ComponentChildren } from "preact";
import { useRoute } from "preact-iso";
import { pagePath } from "../../shared/root.ts";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { When } from "../../shared/ui/when.tsx";

/** The resource id in the URL. */
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
      <code>{id}</code> <CopyButton text={id} label="Copy ID" />
    </>
  );
}

/** A time with the words before and after it. Empty if the time is unknown. */
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
