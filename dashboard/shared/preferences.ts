/** What this browser remembers of how somebody likes the dashboard. Never a key, an id, or anything that was shown. */

type Preference = "theme" | "keys" | "density";

/** Null also where the browser keeps nothing. */
export function remembered(name: Preference): string | null {
  try {
    return localStorage.getItem(`posthorn-${name}`);
  } catch {
    return null;
  }
}

export function remember(name: Preference, value: string): void {
  try {
    localStorage.setItem(`posthorn-${name}`, value);
  } catch {
    // It holds until the page is left.
  }
}
