/** Whether every % in a part of a URL begins a valid escape, so that `decodeURIComponent` accepts it. */
export function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
