// The alerts of deploy/monitoring.

import type { Alert } from "./alert.ts";
import { alertsOfDeliveries } from "./alerts-of-deliveries.ts";
import { alertsOfProcesses } from "./alerts-of-processes.ts";

export const alerts: readonly Alert[] = [...alertsOfDeliveries, ...alertsOfProcesses];
