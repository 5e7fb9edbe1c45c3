// Entry point of a sender thread.

import { systemClock } from "../system/clock.ts";
import { serveSender } from "../transport/threads/serve-sender.ts";
import { openInThread, type SenderSettings } from "./sender-settings.ts";

serveSender((settings: SenderSettings, onOpenSockets) => openInThread(settings, systemClock, onOpenSockets));
