/** Outages that apply to both RabbitMQ and Redis. Everything must keep working without these servers. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { CuttingProxy } from "../../services/cutting-proxy.fixture.ts";
import type { Rig } from "./rig.fixture.ts";

export interface Companion {
  readonly rig: Rig;
  readonly server: { stop(): Promise<void>; start(): Promise<void> };
  /** The network between the server and one worker. */
  readonly way: CuttingProxy;
  /** The problem that a process reports during the outage. */
  readonly complaint: string;
  /** Maximum time until every process has recovered, in milliseconds. */
  readonly connectedMsMax: number;
}

/**
 * Stops the server for this long. The processes must report the outage and stay ready, and the API must not refuse
 * anything.
 */
export async function stopsFor(awayMs: number, of: Companion): Promise<void> {
  const { deployment } = of.rig;
  const [api] = deployment.apis;
  assert.ok(api !== undefined);
  await of.server.stop();
  await sleep(awayMs);
  const complaints = await api.complaints();
  const ready = await fetch(`${api.url}/readyz`);
  await of.server.start();
  assert.deepEqual(complaints, [`api 1: ${of.complaint}`]);
  assert.equal(ready.status, 200);
  await deployment.untilSound(of.connectedMsMax);
}

/** Resets the connections between one worker and the server. */
export async function isCut({ rig, way, connectedMsMax }: Companion): Promise<void> {
  await way.cut();
  await sleep(5_000);
  await way.restore();
  await rig.deployment.untilSound(connectedMsMax);
}

/**
 * Withholds all packets between one worker and the server for this long. Then delivers them and adds latency for a
 * while.
 */
export async function vanishesFor(silentMs: number, of: Companion): Promise<void> {
  const { way } = of;
  way.stall();
  await sleep(silentMs);
  await way.restore();
  way.delay(50);
  await sleep(3_000);
  await way.restore();
  await of.rig.deployment.untilSound(of.connectedMsMax);
}
