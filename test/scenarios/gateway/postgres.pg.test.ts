import { Cluster } from "../postgres/cluster.ts";
import { gatewayOfSeveralProcesses } from "./several-processes.ts";

gatewayOfSeveralProcesses("PostgreSQL", () => Cluster.open());
