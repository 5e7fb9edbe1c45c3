import { contrast, grounds, repairedAccent, type Scheme } from "../../../src/features/portal/contrast.ts";

/** Live preview of the accent colour in both schemes. */
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
      <p style={{ color: text }}>Link</p>
      <p>
        <span class="accent-button" style={{ background: fill, color: onFill }}>
          A button
        </span>
      </p>
      <figcaption style={{ color: scheme === "light" ? "#1d2329" : "#e6e9ec" }}>
        {`In ${scheme}: ${text}, ${ratio(lowest)} on the background; ${fill} under text, ${ratio(contrast([fill, onFill]))}. `}
        {isMoved ? "Adjusted for readability." : "Readable as is."}
      </figcaption>
    </figure>
  );
}

function ratio(value: number): string {
  return `${(Math.floor(value * 10) / 10).toFixed(1)}:1`;
}
