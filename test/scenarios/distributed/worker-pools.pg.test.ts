import { Cluster } from "../postgres/cluster.fixture.ts";
import { workerPools } from "./worker-pools.suite.ts";

workerPools({ mode: "PostgreSQL", open: () => Cluster.open() });
