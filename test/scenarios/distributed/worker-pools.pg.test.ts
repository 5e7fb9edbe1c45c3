import { Cluster } from "../postgres/cluster.ts";
import { workerPools } from "./worker-pools.ts";

workerPools({ mode: "PostgreSQL", open: () => Cluster.open() });
