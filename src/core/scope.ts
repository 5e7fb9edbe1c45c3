/** Whose call it is: `tenantId: null` is an administrator; with a tenant set, rows of others do not exist. */
export interface Scope {
  readonly tenantId: string | null;
}
