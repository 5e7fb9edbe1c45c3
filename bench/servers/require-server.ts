import { services } from "../../scripts/services.ts";
import { RowSkippedError } from "../row.ts";

/** As in the names of test files. */
export type ServerMark = "pg" | "rabbit" | "redis";

/** The address of a server that runs: what is measured is what people have. Skips the row where nothing answers there. */
export async function requireServer(mark: ServerMark): Promise<string> {
  const service = services.find((each) => each.mark === mark);
  if (service === undefined) throw new Error(`no service is marked ${mark}`);
  const { at, isReachable } = await service.findRunning();
  // Host and port alone: an address may hold a password.
  if (!isReachable) {
    throw new RowSkippedError(
      `${service.name} cannot be reached at ${new URL(at).host}; ${service.variable} says where it is`,
    );
  }
  return at;
}
