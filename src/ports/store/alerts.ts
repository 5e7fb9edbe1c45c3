import type { AlertMute, AlertRecord, AlertState } from "../../features/alerts/alert.ts";
import type { AlertRuleInput } from "../../resources/alert.ts";
import type { Page, PageRequest } from "../store.ts";
import type { AuditEntry } from "./audit.ts";
import type { StepResult } from "./upkeep.ts";

/**
 * Alert rules and alerts. One process at a time evaluates the rules. It stores the complete alert state here, so
 * another process can continue without repeating notifications.
 */
export interface AlertStore {
  /** Custom rules, and changes to built-in rules; by name. */
  rules(): Promise<readonly StoredAlertRule[]>;
  saveRule(rule: StoredAlertRule, audit?: AuditEntry): Promise<void>;
  /** Returns false if the rule does not exist. */
  deleteRule(rule: AlertRuleName, audit?: AuditEntry): Promise<boolean>;
  /** Active alerts, and alerts that ended after a given time. Oldest first; the number is limited. */
  current(endedAfter: number): Promise<readonly AlertRecord[]>;
  /** Writes the current alerts and deletes those that never fired, in one transaction. */
  save(change: AlertChange): Promise<void>;
  get(tenantId: string | null, id: string): Promise<AlertRecord | null>;
  /** Newest first. */
  list(query: AlertQuery): Promise<Page<AlertRecord>>;
  mutes(): Promise<readonly AlertMute[]>;
  /** Replaces the mute with the same key. */
  saveMute(mute: AlertMute, audit?: AuditEntry): Promise<void>;
  /** Deletes alerts and mutes that ended before a given time. */
  forget(before: number, limit: number): Promise<StepResult>;
}

/** A null `tenantId` means the operator. */
export interface AlertRuleName {
  readonly tenantId: string | null;
  readonly name: string;
}

/** A rule as a user wrote it. Times are Unix milliseconds. */
export interface StoredAlertRule extends AlertRuleName {
  readonly input: AlertRuleInput;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The result of one evaluation round. */
export interface AlertChange {
  readonly put: readonly AlertRecord[];
  readonly remove: readonly string[];
}

/** If a tenant is set, alerts of other tenants are invisible. An empty list of states includes all states. */
export interface AlertQuery {
  readonly tenantId: string | null;
  readonly states: readonly AlertState[];
  readonly rule: string | null;
  readonly page: PageRequest;
}
