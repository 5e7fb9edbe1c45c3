import { openPostgres } from "./deployment.ts";
import { scenariosOn } from "./scenarios.ts";

scenariosOn("PostgreSQL", openPostgres);
