import { contrast, grounds, repairedAccent, type Scheme } from "../../../src/core/portal/contrast.ts";

/** What the portal makes of an accent, in both schemes, while it is typed. */
export function AccentPreview({ accent }: { readonly accent: string }) {
  if (!/^#[0-9a-f]{6}$/i.test(accent.trim())) return null;
  return (
    <div class="accents">
      {(["light", "dark"] as const).map((scheme) => (
        <Shown key={scheme} accent={accent.trim()} scheme={scheme} />
      ))}
    </div>
  );
}

function Shown({ accent, scheme }: { readonly accent: string; readonly scheme: Scheme }) {
  const { text, fill, onFill } = repairedAccent(accent, scheme);
  const lowest = Math.min(...grounds[scheme].map((ground) => contrast([text, ground])));
  const isMoved = text !== accent.toLowerCase() || fill !== accent.toLowerCase();
  return (
    <figure class="accent" style={{ background: grounds[scheme][0] ?? "", colorScheme: scheme }}>
      <p style={{ color: text }}>A link</p>
      <p>
        <span class="accent-button" style={{ background: fill, color: onFill }}>
          A button
        </span>
      </p>
      <figcaption style={{ color: scheme === "light" ? "#1d2329" : "#e6e9ec" }}>
        {`In ${scheme}: ${text}, ${ratio(lowest)} on the ground; ${fill} under text, ${ratio(contrast([fill, onFill]))}. `}
        {isMoved ? "It was moved to be readable." : "It is readable as it is."}
      </figcaption>
    </figure>
  );
}

function ratio(value: number): string {
  return `${(Math.floor(value * 10) / 10).toFixed(1)}:1`;
}
