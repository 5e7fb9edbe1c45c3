import { Cluster } from "../postgres/cluster.ts";
import { fourWorkers } from "./four-workers.ts";

fourWorkers({ mode: "distributed", open: () => Cluster.openDistributed(), sharesTenantLimit: true });
