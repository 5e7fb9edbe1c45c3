import { Cluster } from "../postgres/cluster.ts";
import { workerPools } from "./worker-pools.ts";

workerPools({ mode: "distributed", open: () => Cluster.openDistributed() });
