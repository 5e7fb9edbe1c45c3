import type { Tone } from "./tone.ts";

const shapes: Readonly<Record<Tone, string>> = {
  good: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2z",
  wait: "M8 2 15 14H1z",
  bad: "M4 2h8l3 6-3 6H4L1 8z",
  held: "M3 2h4v12H3zM9 2h4v12H9z",
  off: "M2 7h12v2H2z",
  new: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zm0 2.5a4 4 0 1 1 0 8 4 4 0 0 1 0-8z",
};

/** A state shown by shape and word, so the colour is not needed to tell states apart. */
export function Badge({ tone, text }: { readonly tone: Tone; readonly text: string }) {
  return (
    <span class={`badge tone-${tone}`}>
      <svg viewBox="0 0 16 16" width="10" height="10" aria-hidden="true">
        <path d={shapes[tone]} fill-rule="evenodd" />
      </svg>
      {text}
    </span>
  );
}
