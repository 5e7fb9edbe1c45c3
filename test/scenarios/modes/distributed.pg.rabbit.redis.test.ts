import { openDistributed } from "./deployment.ts";
import { scenariosOn } from "./scenarios.ts";

scenariosOn("distributed", openDistributed);
