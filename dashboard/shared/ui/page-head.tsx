import type { ComponentChildren } from "preact";

/** The heading of a page, with what holds for all of it. */
export function PageHead({
  title,
  beside,
  children,
}: {
  readonly title: string;
  /** A state, after the words. */
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
