import { Cluster } from "../postgres/cluster.fixture.ts";
import { fourWorkers } from "./four-workers.suite.ts";

fourWorkers({ mode: "PostgreSQL", open: () => Cluster.open(), sharesTenantLimit: false });
