import { Cluster } from "../postgres/cluster.fixture.ts";
import { rollingRestart } from "./rolling-restart.suite.ts";

rollingRestart({ mode: "PostgreSQL", open: (env) => Cluster.open(env) });
