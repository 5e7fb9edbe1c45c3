import { codeOf } from "../../core/thrown.ts";
import type { NameLookup, TextLookup } from "../../ports/name-lookup.ts";
import { NameServers, saysAbsent } from "./name-servers.ts";

export interface NameLookupOptions {
  /** `address:port` of name servers to query instead of the system's. */
  readonly servers?: readonly string[];
}

const textsMax = 100;
const textLengthMax = 1_024;

/** TXT records from the name servers of the system. */
export function createNameLookup(options: NameLookupOptions = {}): NameLookup {
  const servers = new NameServers(undefined, options.servers);
  return {
    async texts(name): Promise<TextLookup> {
      try {
        const records = await servers.texts(name);
        // A text longer than 255 bytes is sent in pieces.
        const texts = records.slice(0, textsMax).map((pieces) => pieces.join("").slice(0, textLengthMax));
        return { kind: "found", texts };
      } catch (error) {
        return saysAbsent(error)
          ? { kind: "absent" }
          : { kind: "failed", detail: `the name servers did not answer (${codeOf(error) ?? "unknown"})` };
      }
    },
    close: () => servers.close(),
  };
}
