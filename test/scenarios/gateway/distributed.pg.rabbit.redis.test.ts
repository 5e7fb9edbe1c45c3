import { Cluster } from "../postgres/cluster.fixture.ts";
import { gatewayOfSeveralProcesses } from "./several-processes.suite.ts";

gatewayOfSeveralProcesses("PostgreSQL, RabbitMQ and Redis", () => Cluster.openDistributed());
