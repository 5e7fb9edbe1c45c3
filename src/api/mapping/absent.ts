/** `{ [key]: value }`, or nothing when the value is absent: absent and undefined are different to the services. */
export function present<const K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V };
}
