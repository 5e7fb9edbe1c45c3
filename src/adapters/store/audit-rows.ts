import type { AuditEntry, AuditFilter, StoredAuditEntry } from "../../ports/store/audit.ts";

/** As both stores select it. */
export type AuditRow = [seq: number, document: string];

/** Rows that one turn of a search looks at. */
export const auditRowsAtOnce = 2_000;

/** All that a filter may name somebody by, each between line feeds, which no name has. */
export function actorText({ actor }: AuditEntry): string {
  const names = [actor.keyId, actor.keyName, actor.sessionId].filter((name) => name !== null);
  return `\n${names.join("\n")}\n`;
}

export function toAuditEntry([seq, document]: AuditRow): StoredAuditEntry {
  return { ...(JSON.parse(document) as AuditEntry), position: seq };
}

/** The filter as six parameters: tenant, actor, action, target, from, to. */
export function auditParameters(filter: AuditFilter): readonly (string | number | null)[] {
  const { tenantId, actor, action, target, from, to } = filter;
  return [tenantId, actor === null ? null : `\n${actor}\n`, action, target, from, to];
}
