// `npm run client-types`: writes src/client/api-types.ts.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { clientTypes, clientTypesPath } from "./client-types/written-types.ts";
import { projectRoot } from "./source-files.ts";

writeFileSync(join(projectRoot, clientTypesPath), clientTypes());
