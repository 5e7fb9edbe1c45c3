/**
 * Structured Field Values (RFC 9651, which includes RFC 8941) as data. Every value carries its type, because most uses
 * accept only one: `"a"` and `a` are different.
 */
export type BareItem =
  | { readonly kind: "integer"; readonly value: number }
  | { readonly kind: "decimal"; readonly value: number }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "token"; readonly value: string }
  | { readonly kind: "bytes"; readonly value: Uint8Array }
  | { readonly kind: "boolean"; readonly value: boolean }
  /** Unix seconds. */
  | { readonly kind: "date"; readonly value: number }
  | { readonly kind: "display_string"; readonly value: string };

/** In the order in which the keys first appeared. */
export type Parameters = ReadonlyMap<string, BareItem>;

export interface Item {
  readonly kind: "item";
  readonly value: BareItem;
  readonly parameters: Parameters;
}

export interface InnerList {
  readonly kind: "inner_list";
  readonly items: readonly Item[];
  readonly parameters: Parameters;
}

export type Member = Item | InnerList;
export type List = readonly Member[];

/** In the order in which the keys first appeared; for repeated keys the last value wins. */
export type Dictionary = ReadonlyMap<string, Member>;
