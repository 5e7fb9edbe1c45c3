import type { Profile } from "../../core/profile.ts";
import type { MessageVerifier } from "../../receiver/message/message.ts";
import type { Result, Rule } from "../finding.ts";
import type { RecordedEvent, RecordedRequest } from "./record.ts";

/** What was seen of a sender when the watching ended. */
export interface SenderSession {
  readonly profile: Profile;
  /** Null when no secret was given. */
  readonly verifier: MessageVerifier | null;
  readonly bearerToken: string | null;
  readonly events: readonly RecordedEvent[];
  /** Every request but those to the target of the redirect, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  readonly followed: readonly RecordedRequest[];
}

/** One rule for senders. Judged once there is at least one request. */
export interface SenderRule extends Rule {
  judge(session: SenderSession): Result | Promise<Result>;
}
