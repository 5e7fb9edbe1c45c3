import { Cluster } from "../postgres/cluster.ts";
import { fourWorkers } from "./four-workers.ts";

fourWorkers({ mode: "PostgreSQL", open: () => Cluster.open(), sharesTenantLimit: false });
