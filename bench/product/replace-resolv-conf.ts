// Preloaded into a product whose names the bench answers (`--import`). The product has no setting for name servers: it reads
// `/etc/resolv.conf`, which belongs to the machine.

import { systemNameFiles } from "../../src/system/name-files.ts";

const resolvConf = process.env["BENCH_RESOLV_CONF"];
if (resolvConf === undefined) throw new Error("BENCH_RESOLV_CONF names the file to read instead");
Object.assign(systemNameFiles, { resolv: resolvConf });
