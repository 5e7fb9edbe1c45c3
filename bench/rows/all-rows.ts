import type { Row } from "../row.ts";
import { backlog } from "./backlog.ts";
import { bullmq } from "./bullmq.ts";
import { claims, claimsEmbedded } from "./claims.ts";
import { cores } from "./cores.ts";
import { drain, drainDefaultSchemes, drainStatistics, drainTracing } from "./drain.ts";
import { gatewayIsolation, gatewayPass, gatewayStore } from "./gateway.ts";
import { httpOneToOne } from "./http-one-to-one.ts";
import { tenantsPostgres } from "./hanging.ts";
import { hosts } from "./hosts.ts";
import { idle } from "./idle.ts";
import { isolation } from "./isolation.ts";
import { latency } from "./latency.ts";
import { loop } from "./loop.ts";
import { quiet } from "./quiet.ts";
import { raw, rawDispatch } from "./raw.ts";
import { distributed, postgres } from "./servers.ts";
import { fanOut, through } from "./through.ts";
import { tenants } from "./tenants.ts";
import { publishUnderTls } from "./publish-under-tls.ts";
import { tlsCold, tlsWarm } from "./tls.ts";
import { verify } from "./verify.ts";

/** Every bench, in the order of running. */
export const allRows: readonly Row[] = [
  raw,
  rawDispatch,
  bullmq,
  drain,
  drainDefaultSchemes,
  drainStatistics,
  drainTracing,
  through,
  httpOneToOne,
  gatewayStore,
  gatewayPass,
  gatewayIsolation,
  fanOut,
  tlsWarm,
  tlsCold,
  publishUnderTls,
  cores,
  hosts,
  latency,
  quiet,
  isolation,
  tenants,
  tenantsPostgres,
  backlog,
  claimsEmbedded,
  postgres,
  distributed,
  claims,
  idle,
  loop,
  verify,
];

/** Rows that measure a process which is not ours to improve, or the process of the bench itself. */
export const unprofiledRows: readonly string[] = [bullmq.name, quiet.name, verify.name];
