import type { Profile } from "../../core/profile.ts";
import type { MessageVerifier } from "../../receiver/message/message.ts";
import type { Result, Rule } from "../finding.ts";
import type { RecordedEvent, RecordedRequest } from "./record.ts";

/** What was observed of a sender. */
export interface SenderSession {
  readonly profile: Profile;
  /** Null if no secret was given. */
  readonly verifier: MessageVerifier | null;
  readonly bearerToken: string | null;
  readonly events: readonly RecordedEvent[];
  /** All requests except those to the target of the redirect, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  readonly followed: readonly RecordedRequest[];
}

/** One rule for senders. Evaluated if there is at least one request. */
export interface SenderRule extends Rule {
  judge(session: SenderSession): Result | Promise<Result>;
}
