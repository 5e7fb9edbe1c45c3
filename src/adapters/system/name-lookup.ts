import { Resolver } from "node:dns/promises";
import { codeOf } from "../../core/thrown.ts";
import type { NameLookup, TextLookup } from "../../ports/name-lookup.ts";

export interface NameLookupOptions {
  /** `address:port` of name servers to ask instead of the system's. */
  readonly servers?: readonly string[];
}

const queryTimeoutMs = 2_000;
const queryTriesMax = 2;
const textsMax = 100;
const textLengthMax = 1_024;

/** Through c-ares, which knows the name servers of the system and needs no thread while it waits. */
export function createNameLookup(options: NameLookupOptions = {}): NameLookup {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTriesMax });
  if (options.servers !== undefined) resolver.setServers(options.servers);
  return {
    async texts(name): Promise<TextLookup> {
      try {
        const records = await resolver.resolveTxt(name);
        // A text longer than 255 bytes travels in pieces.
        const texts = records.slice(0, textsMax).map((pieces) => pieces.join("").slice(0, textLengthMax));
        return { kind: "found", texts };
      } catch (error) {
        return absentCodes.has(codeOf(error) ?? "")
          ? { kind: "absent" }
          : { kind: "failed", detail: `the name servers did not answer (${codeOf(error) ?? "unknown"})` };
      }
    },
    close: () => resolver.cancel(),
  };
}

const absentCodes: ReadonlySet<string> = new Set(["ENODATA", "ENOTFOUND"]);
