import { apiConformance } from "../scenarios/api/conformance.ts";
import { openStandIn } from "./stand-in/open.ts";

apiConformance("stand-in engine", openStandIn, "everything except a store");
