import { Cluster } from "../postgres/cluster.fixture.ts";
import { gatewayOfSeveralProcesses } from "./several-processes.suite.ts";

gatewayOfSeveralProcesses("PostgreSQL", () => Cluster.open());
