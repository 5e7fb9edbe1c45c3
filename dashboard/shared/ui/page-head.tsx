import type { ComponentChildren } from "preact";

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
