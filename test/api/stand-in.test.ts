import { apiConformance } from "../scenarios/api/api.suite.ts";
import { openStandIn } from "./stand-in/open.fixture.ts";

apiConformance("stand-in engine", openStandIn, "everything except a store");
