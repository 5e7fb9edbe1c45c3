import { useAddress } from "../../shared/address.ts";
import { pagePath } from "../../shared/root.ts";

const parts: readonly (readonly [string, string])[] = [
  ["sources", "Sources"],
  ["connections", "Connections"],
  ["requests", "Requests"],
];

export function GatewayTabs() {
  const { page } = useAddress();
  return (
    <ul class="tabs" aria-label="Parts of the gateway">
      {parts.map(([name, title]) => (
        <li key={name}>
          <a href={pagePath(name)} aria-current={page === name ? "page" : undefined}>
            {title}
          </a>
        </li>
      ))}
    </ul>
  );
}
