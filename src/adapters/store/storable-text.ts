/** PostgreSQL cannot store U+0000, which a receiver may well send: it becomes U+FFFD. */
export function storable(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text;
}
