import { Cluster } from "../postgres/cluster.fixture.ts";
import { rollingRestart } from "./rolling-restart.suite.ts";

rollingRestart({ mode: "distributed", open: (env) => Cluster.openDistributed(env) });
