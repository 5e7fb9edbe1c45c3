import { openPostgres } from "./deployment.fixture.ts";
import { scenariosOn } from "./modes.suite.ts";

scenariosOn("PostgreSQL", openPostgres);
