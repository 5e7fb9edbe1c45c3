// Preloaded with `--import` into a product whose name server is the bench. Posthorn has no setting for name servers and
// reads the machine's `/etc/resolv.conf`.

import { systemNameFiles } from "../../src/system/name-files.ts";

const resolvConf = process.env["BENCH_RESOLV_CONF"];
if (resolvConf === undefined) throw new Error("BENCH_RESOLV_CONF names the file to read instead");
Object.assign(systemNameFiles, { resolv: resolvConf });
