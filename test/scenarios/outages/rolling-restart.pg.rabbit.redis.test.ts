import { Cluster } from "../postgres/cluster.ts";
import { rollingRestart } from "./rolling-restart.ts";

rollingRestart({ mode: "distributed", open: (env) => Cluster.openDistributed(env) });
