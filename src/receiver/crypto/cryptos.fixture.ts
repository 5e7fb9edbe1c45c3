import * as nodeCrypto from "node:crypto";
import type { ReceiverCrypto } from "./crypto.ts";
import { createNodeCrypto } from "./crypto-node.ts";
import { createWebCrypto } from "./default-crypto.ts";

/** Both implementations, because every guarantee of the kit applies to both. */
export const cryptos: readonly (readonly [name: string, crypto: ReceiverCrypto])[] = [
  ["node:crypto", createNodeCrypto(nodeCrypto)],
  ["WebCrypto", createWebCrypto(globalThis.crypto.subtle)],
];
