/** Whether a URL leads back to this deployment, so that a message sent there could go in a circle (G11). */

export interface OwnAddressesOptions {
  /** Where the deployment is reached, and where this process listens. */
  readonly urls: readonly string[];
  /** Below which a proxy passes requests on; empty for everywhere. */
  readonly basePath: string;
  /** The addresses of a host; empty where nobody knows them. Never rejects. */
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

  /** This process listens there, too. */
  add(url: string): void {
    this.#places.push(placeOf(new URL(url)));
  }

  /** The name is one of ours, or the way in of a gateway lies behind an address that is one of ours. */
  async includes(text: string): Promise<boolean> {
    const url = new URL(text);
    const { basePath } = this.#options;
    if (basePath !== "" && !url.pathname.startsWith(`${basePath}/`)) return false;
    const place = placeOf(url);
    const samePort = this.#places.filter(({ port }) => port === place.port);
    if (samePort.some(({ hostname }) => hostname === place.hostname)) return true;
    const below = url.pathname.slice(basePath.length);
    // Others may share the address, behind a proxy of both: there the path decides.
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
