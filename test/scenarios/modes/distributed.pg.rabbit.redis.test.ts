import { openDistributed } from "./deployment.fixture.ts";
import { scenariosOn } from "./modes.suite.ts";

scenariosOn("distributed", openDistributed);
