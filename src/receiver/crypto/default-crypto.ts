import type { ReceiverCrypto } from "./crypto.ts";
import { createNodeCrypto, type NodeCrypto } from "./crypto-node.ts";
import { createWebCrypto } from "./crypto-web.ts";

/** How Node and compatible runtimes provide built-in modules without an import that a bundler would have to resolve. */
interface MaybeNode {
  readonly getBuiltinModule?: (id: string) => unknown;
}

/**
 * The best implementation on this platform: `node:crypto` in Node from 20.16 on, Bun and Deno, WebCrypto elsewhere. The
 * kit therefore needs no build step and no conditions in its package.json.
 */
export const defaultCrypto: ReceiverCrypto = chooseCrypto();

function chooseCrypto(): ReceiverCrypto {
  const host = (globalThis as { readonly process?: MaybeNode }).process;
  const node = host?.getBuiltinModule?.("node:crypto") as NodeCrypto | undefined;
  // Some runtimes have the module, but not all of its functions.
  const isComplete = [
    node?.createHmac,
    node?.createPublicKey,
    node?.createSecretKey,
    node?.timingSafeEqual,
    node?.verify,
  ].every((part) => typeof part === "function");
  return node !== undefined && isComplete
    ? createNodeCrypto(node)
    : createWebCrypto(globalThis.crypto.subtle);
}
