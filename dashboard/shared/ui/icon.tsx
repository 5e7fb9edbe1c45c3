/** Decorative icons next to text. Outlines on a 24 px grid, like Lucide. */
const paths = {
  overview: "M3 13h6V3H3zM15 21h6V11h-6zM3 21h6v-4H3zM15 7h6V3h-6z",
  deliveries: "M22 2 11 13M22 2l-7 20-4-9-9-4z",
  events: "M13 2 3 14h9l-1 8 10-12h-9z",
  webhooks:
    "M10 13a5 5 0 0 0 7.5.5l3-3a5 5 0 0 0-7-7l-1.7 1.7M14 11a5 5 0 0 0-7.5-.5l-3 3a5 5 0 0 0 7 7l1.7-1.7",
  gateway: "M3 21V9a9 9 0 0 1 18 0v12M8 21v-9a4 4 0 0 1 8 0v9M3 21h18",
  problems: "M12 3 2 20h20zM12 10v4M12 17h.01",
  alerts: "M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 21h4",
  audit: "M6 3h9l4 4v14H6zM14 3v5h5M9 12h7M9 16h7",
  dead: "M3 8h18v12H3zM1 4h22v4H1zM10 12h4",
  operations: "M3 6h12M3 12h12M3 18h7M18 14l3 3-3 3M21 17h-7",
  types: "M20.6 13.4 13.4 20.6a2 2 0 0 1-2.8 0L2 12V2h10l8.6 8.6a2 2 0 0 1 0 2.8zM7 7h.01",
  portal: "M3 4h18v14H3zM3 8h18M7 6h0M10 6h0M8 22h8",
  tenants: "M3 21h18M5 21V5l7-3v19M19 21V9l-7-3M9 9h0M9 13h0M9 17h0",
  system: "M3 4h18v7H3zM3 13h18v7H3zM7 7.5h0M7 16.5h0M11 7.5h6M11 16.5h6",
  docs: "M4 4h12a3 3 0 0 1 3 3v13H7a3 3 0 0 1-3-3zM4 17a3 3 0 0 1 3-3h12",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M20 6 9 17l-5-5",
  pause: "M8 5v14M16 5v14",
  play: "M7 4v16l13-8z",
  theme: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  leave: "M9 21H4V3h5M16 17l5-5-5-5M21 12H9",
  keys: "M2 6h20v12H2zM6 10h0M10 10h0M14 10h0M18 10h0M7 14h10",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM21 21l-4.5-4.5",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3.5 2",
  columns: "M3 4h18v16H3zM9 4v16M15 4v16",
  filter: "M3 5h18l-7 8v6l-4-2v-4z",
  without: "M3 5h18l-7 8v6l-4-2v-4zM3 21 21 3",
  peek: "M3 4h18v16H3zM14 4v16",
  close: "M18 6 6 18M6 6l12 12",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width="16" height="16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

/** A button that shows only an icon. */
export function IconButton(props: {
  readonly icon: IconName;
  /** Accessible name, and tooltip unless `title` is given. */
  readonly label: string;
  readonly title?: string;
  /** Shortcut that clicks the button. */
  readonly shortcut?: string;
  readonly onClick: () => void;
}) {
  const { icon, label, title = label, shortcut, onClick } = props;
  return (
    <button
      type="button"
      class="quiet icon-button"
      aria-label={label}
      title={title}
      data-key={shortcut}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
