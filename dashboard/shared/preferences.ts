/** Display preferences stored in the browser. Never keys, ids or data. */

type Preference = "theme" | "keys" | "density";

/** Null if not stored or if the browser blocks storage. */
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
    // The preference applies until the page is closed.
  }
}
