import { Cluster } from "../postgres/cluster.fixture.ts";
import { fourWorkers } from "./four-workers.suite.ts";

fourWorkers({ mode: "distributed", open: () => Cluster.openDistributed(), sharesTenantLimit: true });
