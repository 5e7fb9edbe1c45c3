import { isDecodable } from "../../../core/http/percent-encoding.ts";
import { SharedStateSetupError } from "./errors.ts";

/** The server's address. The URL holds the password, so only `at` may be shown. */
export interface Address {
  readonly url: string;
  /** `host:port`, or the path of a socket, for messages: without user and password. */
  readonly at: string;
  readonly isEncrypted: boolean;
}

/** Checks the form of the URL. Error messages never contain the URL, because it holds the password. */
export function parseAddress(url: string): Address {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isValid =
    parsed !== null &&
    /^(rediss?|unix):$/.test(parsed.protocol) &&
    (parsed.protocol === "unix:" ? socketUrl.test(url) : hasHostAndNumber(parsed)) &&
    isDecodable(parsed.username) &&
    isDecodable(parsed.password);
  if (!isValid) {
    throw new SharedStateSetupError(
      "invalid_url",
      "the address of Redis is not a URL like redis://user:password@host:6379/0, with special characters of the " +
        "password percent-encoded",
    );
  }
  const isEncrypted = parsed.protocol === "rediss:";
  if (parsed.protocol === "unix:") return { url, at: parsed.pathname, isEncrypted };
  const host = parsed.hostname === "" ? "localhost" : parsed.hostname;
  return { url, at: `${host}:${parsed.port === "" ? "6379" : parsed.port}`, isEncrypted };
}

/** The syntax that the client accepts. It would refuse other forms with an error that does not name the setting. */
const socketUrl = /^unix:\/\/(?:[^:@/]*(?::[^@/]*)?@)?\/[^?#@]+(?:\?db=\d{1,5})?$/;

/**
 * An unencoded / ? or # in the password ends the authority there; the beginning of the password would be taken for a
 * port and shown.
 */
function hasHostAndNumber({ pathname, search, hash }: URL): boolean {
  return /^(\/\d{0,5})?$/.test(pathname) && search === "" && hash === "";
}
