/**
 * Cursors are opaque. The position inside is encrypted, because it counts rows of all tenants. It is authenticated
 * together with the parameters of the listing, so that a cursor continues only its own listing.
 */
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { PosthornError } from "../core/errors.ts";

export interface CursorCodec {
  encode(listing: Listing, position: CursorPosition): string;
  /** Throws `invalid_cursor`. */
  decode(listing: Listing, cursor: string): CursorPosition;
}

/** The parameters that a cursor is bound to. */
export interface Listing {
  /** Null for an administrator. */
  readonly tenantId: string | null;
  readonly route: string;
  readonly filters: Readonly<Record<string, unknown>>;
}

/** A position in the store, or the last id of the previous page. */
export type CursorPosition = number | string;

const nonceBytes = 12;
const tagBytes = 16;
const cursorLengthMax = 512;

export function createCursorCodec(key: Uint8Array): CursorCodec {
  if (key.length < 32) throw new RangeError("the cursor key has fewer than 32 bytes");
  const encryptionKey = createHmac("sha256", key).update("posthorn cursor encryption").digest();
  const nonceKey = createHmac("sha256", key).update("posthorn cursor nonce").digest();

  return {
    encode: (listing, position) => {
      const context = contextOf(listing);
      const plain = JSON.stringify(position);
      // Derived from the whole input: equal input gives the same cursor, different input a different nonce.
      const nonce = createHmac("sha256", nonceKey).update(context).update("\0").update(plain).digest();
      const cipher = createCipheriv("aes-256-gcm", encryptionKey, nonce.subarray(0, nonceBytes));
      cipher.setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return Buffer.concat([nonce.subarray(0, nonceBytes), sealed, cipher.getAuthTag()]).toString(
        "base64url",
      );
    },
    decode: (listing, cursor) => {
      const position = open(cursor, contextOf(listing), encryptionKey);
      if (position === null) {
        throw new PosthornError(
          "invalid_cursor",
          "The cursor was not issued for this listing. Start again without a cursor.",
          { fields: [{ field: "cursor", message: "was not issued for this listing" }] },
        );
      }
      return position;
    },
  };
}

function contextOf(listing: Listing): string {
  const filters = Object.entries(listing.filters).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([listing.tenantId, listing.route, filters]);
}

function open(cursor: string, context: string, encryptionKey: Uint8Array): CursorPosition | null {
  if (cursor.length > cursorLengthMax || !/^[\w-]+$/.test(cursor)) return null;
  const bytes = Buffer.from(cursor, "base64url");
  // The last character may carry unused bits; accept only the canonical spelling.
  if (bytes.length <= nonceBytes + tagBytes || bytes.toString("base64url") !== cursor) return null;
  const decipher = createDecipheriv("aes-256-gcm", encryptionKey, bytes.subarray(0, nonceBytes));
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const plain =
      decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8");
    return JSON.parse(plain) as CursorPosition;
  } catch {
    return null;
  }
}
