import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { fastify } from "fastify";
import { Hono } from "hono";
import { expressHandler } from "../../src/receiver/frameworks/express.ts";
import { fastifyReceiver } from "../../src/receiver/frameworks/fastify.ts";
import { fetchHandler } from "../../src/receiver/frameworks/fetch.ts";
import { honoHandler } from "../../src/receiver/frameworks/hono.ts";
import { nodeHttpListener } from "../../src/receiver/frameworks/node-http.ts";
import type { Receiver } from "../../src/receiver/receiver.ts";

/** A server that listens on an unused port of this machine. */
export interface RunningServer {
  /** The server's URL, without a trailing slash. */
  readonly url: string;
  close(): Promise<void>;
}

/** An application that serves the receiver at `/app/hooks` and parses JSON on all other paths. */
export interface Framework {
  readonly name: string;
  start(receiver: Receiver): Promise<RunningServer>;
}

/** The parts of Express used here. Express has no types of its own. */
interface ExpressModule {
  (): ExpressApp;
  json(): unknown;
  raw(options: { type: () => boolean }): unknown;
  Router(): ExpressApp;
}
type ExpressApp = RequestListener & Record<"use" | "all" | "post", (...parts: unknown[]) => unknown>;

export async function importExpress(version: "express" | "express4"): Promise<ExpressModule> {
  const module = (await import(version)) as { default: ExpressModule };
  return module.default;
}

export async function listen(listener: RequestListener): Promise<RunningServer> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function express(version: "express" | "express4"): Framework {
  return {
    name: version,
    start: async (receiver) => {
      const module = await importExpress(version);
      const [app, router] = [module(), module.Router()];
      router.all("/hooks", expressHandler(receiver));
      app.use("/app", router);
      app.use(module.json());
      return listen(app);
    },
  };
}

export const frameworks: readonly Framework[] = [
  { name: "node:http", start: (receiver) => listen(nodeHttpListener(receiver)) },
  express("express"),
  express("express4"),
  {
    name: "fastify",
    start: async (receiver) => {
      const app = fastify();
      await app.register(fastifyReceiver, { path: "/app/hooks", receiver });
      app.post("/json", async ({ body }) => ({ body }));
      const url = await app.listen({ port: 0, host: "127.0.0.1" });
      return { url, close: () => app.close() };
    },
  },
  {
    name: "hono",
    start: (receiver) => {
      const app = new Hono();
      app.all("/app/hooks", honoHandler(receiver));
      return listenFetch((request) => app.fetch(request));
    },
  },
  { name: "fetch", start: (receiver) => listenFetch(fetchHandler(receiver)) },
];

export function listenFetch(
  handle: (request: Request) => Response | Promise<Response>,
): Promise<RunningServer> {
  return new Promise((resolve) => {
    const server = serve({ fetch: handle, port: 0, hostname: "127.0.0.1" }, ({ port }) => {
      const close = () => new Promise<void>((closed) => void server.close(() => closed()));
      resolve({ url: `http://127.0.0.1:${port}`, close });
    });
  });
}
