/** Detects URLs that lead back to this deployment, where a message could loop. */

export interface OwnAddressesOptions {
  /** Public URLs of the deployment, and where this process listens. */
  readonly urls: readonly string[];
  /** Base path that a proxy forwards; empty for all paths. */
  readonly basePath: string;
  /** The addresses of a host; empty if they are unknown. Never rejects. */
  readonly addressesOf: (hostname: string) => Promise<readonly string[]>;
}

interface Place {
  readonly hostname: string;
  readonly port: string;
}

export class OwnAddresses {
  readonly #options: OwnAddressesOptions;
  readonly #places: Place[];

  constructor(options: OwnAddressesOptions) {
    this.#options = options;
    this.#places = options.urls.map((url) => placeOf(new URL(url)));
  }

  /** Adds a URL on which this process listens. */
  add(url: string): void {
    this.#places.push(placeOf(new URL(url)));
  }

  /** True if the host name is one of ours, or if a gateway path is served at one of our addresses. */
  async includes(text: string): Promise<boolean> {
    const url = new URL(text);
    const { basePath } = this.#options;
    if (basePath !== "" && !url.pathname.startsWith(`${basePath}/`)) return false;
    const place = placeOf(url);
    const samePort = this.#places.filter(({ port }) => port === place.port);
    if (samePort.some(({ hostname }) => hostname === place.hostname)) return true;
    const below = url.pathname.slice(basePath.length);
    // Other services may share the address behind the same proxy, so the path decides.
    if (samePort.length === 0 || !inboundPath.test(below)) return false;
    const { addressesOf } = this.#options;
    const theirs = new Set(await addressesOf(place.hostname));
    const ours = await Promise.all(samePort.map(({ hostname }) => addressesOf(hostname)));
    return ours.flat().some((address) => theirs.has(address));
  }
}

const inboundPath = /^\/(in|_webhooks)\//;

function placeOf({ hostname, port, protocol }: URL): Place {
  const usual = protocol === "https:" ? "443" : "80";
  return { hostname, port: port === "" ? usual : port };
}
