/** Interfaces as data. If one interface contains the members of another, it can extend it instead of repeating them. */

export interface Member {
  readonly name: string;
  readonly isOptional: boolean;
  /** The comment of the member, indented; empty if there is none. */
  readonly comment: string;
  readonly type: string;
}

export interface Shape {
  readonly name: string;
  readonly comment: string;
  readonly members: readonly Member[];
}

/**
 * Returns the interface that leaves the fewest members to repeat if the shape extends it. Null if no interface has at
 * least `repeatedMin` of its members, because fewer may match by chance.
 */
export function baseOf(shape: Shape, shapes: readonly Shape[], repeatedMin: number): Shape | null {
  let best: Shape | null = null;
  let most = repeatedMin - 1;
  for (const candidate of shapes) {
    const repeated = repeatedMembers(shape, candidate);
    if (repeated <= most) continue;
    best = candidate;
    most = repeated;
  }
  return best;
}

/** How many members of the base also appear in the shape; 0 if the shape cannot extend the base. */
function repeatedMembers(shape: Shape, base: Shape): number {
  if (shape === base || shape.members.length < base.members.length) return 0;
  const own = new Map(shape.members.map((member) => [member.name, member]));
  let repeated = 0;
  for (const member of base.members) {
    const mine = own.get(member.name);
    if (mine?.type !== member.type || (mine.isOptional && !member.isOptional)) return 0;
    if (isSame(mine, member)) repeated += 1;
  }
  const isTwin = repeated === shape.members.length;
  return isTwin && shape.name < base.name ? 0 : repeated;
}

export function isSame(one: Member, other: Member): boolean {
  return one.isOptional === other.isOptional && one.comment === other.comment && one.type === other.type;
}

/** The declaration of an interface without the members that it inherits from its base. */
export function shapeText({ name, comment, members }: Shape, base: Shape | null): string {
  const inherited = new Map(base?.members.map((member) => [member.name, member]));
  const own = members.filter((member) => {
    const same = inherited.get(member.name);
    return same === undefined || !isSame(member, same);
  });
  if (base !== null && own.length === 0) return `${comment}export type ${name} = ${base.name};\n`;
  const extended = base === null ? "" : ` extends ${base.name}`;
  return `${comment}export interface ${name}${extended} {\n${own.map(memberText).join("")}}\n`;
}

function memberText({ name, isOptional, comment, type }: Member): string {
  return `${comment}  ${name}${isOptional ? "?" : ""}: ${type};\n`;
}
