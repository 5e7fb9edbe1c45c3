import type { ComponentChildren } from "preact";

/** The heading of a page, with what holds for all of it. */
export function PageHead({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="page-head">
      <h1>{title}</h1>
      <div class="panel-tools">{children}</div>
    </div>
  );
}
