/** The database was written by a newer version of Posthorn. */
export class SchemaTooNewError extends Error {
  override readonly name = "SchemaTooNewError";
  readonly found: number;
  readonly known: number;

  constructor(found: number, known: number) {
    super(`the database has schema ${found}, this version supports up to ${known}: upgrade Posthorn`);
    this.found = found;
    this.known = known;
  }
}

/** An applied migration differs from the one in this version. */
export class MigrationMismatchError extends Error {
  override readonly name = "MigrationMismatchError";

  constructor(number: number, name: string) {
    super(`migration ${number} (${name}) differs from the one that created this database`);
  }
}
