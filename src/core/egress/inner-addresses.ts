import { isIPv6 } from "node:net";
import { classifyAddress } from "./address-policy.ts";

/**
 * A message about a connection, with `***` in place of non-public addresses. Tenants must not learn which internal
 * addresses a name resolves to. An address that the URL itself contains is already known to them.
 *
 * @param host of the URL, in the form of `URL.hostname`.
 */
export function withoutInnerAddresses(text: string, host: string): string {
  const own = host.replaceAll(/^\[|\]$/g, "").toLowerCase();
  return text.replaceAll(addressLike, (found) => {
    const address = addressIn(found);
    if (address === null || address.toLowerCase() === own) return found;
    const addressClass = classifyAddress(address);
    const isKnown = addressClass === "public" || (addressClass === "loopback" && isLocalName(own));
    return isKnown ? found : found.replace(address, "***");
  });
}

function isLocalName(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

/** Node appends a port to an IPv6 address without brackets: as one more group, or as a ninth. */
function addressIn(found: string): string | null {
  if (!found.includes(":")) return found;
  const withoutZone = found.replace(/%.*$/, "");
  if (isIPv6(withoutZone)) return withoutZone;
  const withoutPort = withoutZone.replace(/:\d+$/, "");
  return isIPv6(withoutPort) ? withoutPort : null;
}

const addressLike =
  /(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,9}(?:\.\d{1,3}){0,3}(?:%\w+)?)(?![\w.])/gi;
