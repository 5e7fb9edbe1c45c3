/** `{ [key]: value }`, or `{}` if the value is absent: the services distinguish absent from undefined. */
export function present<const K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V };
}
