import type { TimelineEntry } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ResourceList } from "../list-page.tsx";
import { byText } from "./history-wording.ts";

const kinds: Readonly<Record<TimelineEntry["kind"], { readonly tone: Tone; readonly text: string }>> = {
  created: { tone: "new", text: "created" },
  changed: { tone: "new", text: "changed" },
  secret_rotated: { tone: "new", text: "secret rotated" },
  paused: { tone: "held", text: "paused" },
  resumed: { tone: "good", text: "resumed" },
  enabled: { tone: "good", text: "enabled" },
  disabled: { tone: "off", text: "disabled" },
  suspended: { tone: "bad", text: "suspended" },
  verified: { tone: "good", text: "verified" },
  unverified: { tone: "wait", text: "verification requested" },
  circuit_opened: { tone: "bad", text: "circuit opened" },
  circuit_closed: { tone: "good", text: "circuit closed" },
};

function columnsOf(id: string): readonly Column<TimelineEntry>[] {
  return [
    { title: "Change", cell: (row) => <Badge {...kinds[row.kind]} /> },
    { title: "When", cell: ({ at }) => <When at={at} /> },
    { title: "Who", cell: byText },
    { title: "Reason", cell: ({ reason }) => reason ?? "–", isProse: true, needs: "medium" },
    {
      title: "Changed fields",
      cell: ({ changed }) => changed.join(", ") || "–",
      isProse: true,
      needs: "medium",
    },
    {
      title: "Revision",
      cell: ({ revision }) => (revision === null ? "–" : <a href={revisionPath(id, revision)}>{revision}</a>),
      isFigure: true,
    },
  ];
}

/** Page that shows the changes of a revision. */
export function revisionPath(id: string, revision: number): string {
  return `${pagePath(`webhooks/${id}`)}?tab=revisions&revision=${revision}`;
}

export function WebhookTimeline({ id }: { readonly id: string }) {
  return (
    <ResourceList<TimelineEntry>
      title="Timeline"
      path={`v1/webhooks/${id}/timeline`}
      cli={shell`webhooks timeline ${id}`}
      columns={columnsOf(id)}
      keyOf={({ at, kind, revision }) => `${at} ${kind} ${revision ?? ""}`}
      hasNoLinks
      none={<p class="soft">No entries yet.</p>}
    />
  );
}
