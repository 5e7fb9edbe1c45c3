/**
 * The program as operators run it, in each of its modes. Scenarios do not depend on the mode: they get a URL and a key.
 */
import type { OpenedApi } from "../api/client.fixture.ts";
import { Cluster } from "../postgres/cluster.fixture.ts";
import { PosthornProcess } from "../posthorn-process.fixture.ts";

export interface Deployment extends OpenedApi {
  /** Output of its processes, line by line. */
  log(): readonly string[];
}

/** One process with all roles, on SQLite. */
export async function openEmbedded(): Promise<Deployment> {
  const posthorn = await PosthornProcess.start();
  return {
    baseUrl: posthorn.url,
    adminKey: posthorn.adminKey,
    log: () => posthorn.output.split("\n"),
    close: () => posthorn.remove(),
  };
}

/** The API, a scheduler and two workers as separate processes, on a separate PostgreSQL database. */
export async function openPostgres(): Promise<Deployment> {
  return openApart(await Cluster.open());
}

/** Same as `openPostgres`, with RabbitMQ as the queue and Redis for the shared state. */
export async function openDistributed(): Promise<Deployment> {
  return openApart(await Cluster.openDistributed());
}

async function openApart(cluster: Cluster): Promise<Deployment> {
  const close = (): Promise<void> => cluster.close();
  try {
    const processes = await cluster.start("api", "scheduler", "worker", "worker");
    const [api] = processes;
    if (api === undefined || api.url === null)
      throw new Error("the process with the role api has no address");
    const log = () => processes.flatMap(({ output }) => output.split("\n"));
    return { baseUrl: api.url, adminKey: cluster.adminKey, log, close };
  } catch (error) {
    await close();
    throw error;
  }
}
