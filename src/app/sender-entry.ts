// Entry point of a sender thread.

import { systemClock } from "../adapters/system/clock.ts";
import { serveSender } from "../adapters/transport/threads/serve-sender.ts";
import { openInThread } from "./sender-settings.ts";
import type { SenderSettings } from "./sender-settings.ts";

serveSender((settings: SenderSettings, onOpenSockets) => openInThread(settings, systemClock, onOpenSockets));
