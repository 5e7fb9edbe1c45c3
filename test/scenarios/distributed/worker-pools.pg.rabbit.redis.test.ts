import { Cluster } from "../postgres/cluster.fixture.ts";
import { workerPools } from "./worker-pools.suite.ts";

workerPools({ mode: "distributed", open: () => Cluster.openDistributed() });
