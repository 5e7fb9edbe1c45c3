/** The known name closest to a misspelled one, or null if none is close. */
export function closestName(name: string, known: Iterable<string>): string | null {
  if (name.length > 64) return null;
  const wanted = normalise(name);
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, normalise(candidate));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** `eventType` and `event-type` match `event_type`. */
function normalise(name: string): string {
  return name.replaceAll(/[_\-\s]/g, "").toLowerCase();
}

/** Levenshtein distance, computed one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
