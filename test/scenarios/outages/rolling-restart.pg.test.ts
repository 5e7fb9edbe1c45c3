import { Cluster } from "../postgres/cluster.ts";
import { rollingRestart } from "./rolling-restart.ts";

rollingRestart({ mode: "PostgreSQL", open: (env) => Cluster.open(env) });
