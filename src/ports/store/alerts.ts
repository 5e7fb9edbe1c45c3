import type { AlertMute, AlertRecord, AlertState } from "../../core/alerts/alert-record.ts";
import type { AlertRuleInput } from "../../core/fields/alert.ts";
import type { Page, PageRequest } from "../store.ts";
import type { AuditEntry } from "./audit.ts";
import type { StepResult } from "./upkeep.ts";

/**
 * Rules of people, and what rules have held for. One process at a time looks at rules, and everything it knows of alerts
 * stands here: another one goes on where it stopped, and tells nothing again.
 */
export interface AlertStore {
  /** Rules of people, and what they changed of those that Posthorn brings; by name. */
  rules(): Promise<readonly StoredAlertRule[]>;
  saveRule(rule: StoredAlertRule, audit?: AuditEntry): Promise<void>;
  /** False where there is none. */
  deleteRule(rule: AlertRuleName, audit?: AuditEntry): Promise<boolean>;
  /** Alerts that are not over, and those that ended after a time; oldest first, bounded. */
  current(since: { readonly endedAfter: number }): Promise<readonly AlertRecord[]>;
  /** Writes alerts as they are now, and forgets those that never fired, in one transaction. */
  save(change: AlertChange): Promise<void>;
  get(query: { readonly tenantId: string | null; readonly id: string }): Promise<AlertRecord | null>;
  /** Newest first. */
  list(query: AlertQuery): Promise<Page<AlertRecord>>;
  mutes(): Promise<readonly AlertMute[]>;
  /** In place of the one of the same key. */
  saveMute(mute: AlertMute, audit?: AuditEntry): Promise<void>;
  /** Removes alerts that ended before a time, and mutes that did. */
  forget(step: { readonly before: number; readonly limit: number }): Promise<StepResult>;
}

/** Null in `tenantId` is the operator's. */
export interface AlertRuleName {
  readonly tenantId: string | null;
  readonly name: string;
}

/** As somebody wrote it. Times are Unix milliseconds. */
export interface StoredAlertRule extends AlertRuleName {
  readonly input: AlertRuleInput;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What a round found. */
export interface AlertChange {
  readonly put: readonly AlertRecord[];
  readonly remove: readonly string[];
}

/** With a tenant set, those of others do not exist; no states are all. */
export interface AlertQuery {
  readonly tenantId: string | null;
  readonly states: readonly AlertState[];
  readonly rule: string | null;
  readonly page: PageRequest;
}
