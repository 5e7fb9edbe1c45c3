import type { ComponentChildren } from "preact";
import { useAddress } from "../shared/address.ts";

/** The row of a list that is shown beside it, as the address names it. */
export interface Peeking {
  readonly peekedKey: string | null;
  readonly peek: (key: string) => void;
}

export function usePeeking(): Peeking {
  const { params, set } = useAddress();
  const peekedKey = params.get("panel");
  const peek = (key: string) => set({ panel: [key] }, peekedKey === null ? "push" : "replace");
  return { peekedKey, peek };
}

/** Around a list: what is shown beside it follows the row that has the focus. */
export function PeekingRows({ children }: { readonly children: ComponentChildren }) {
  const { peekedKey, peek } = usePeeking();
  return (
    <div
      onFocusCapture={({ target }) => {
        const key =
          target instanceof Element ? target.closest<HTMLElement>("tr[data-row]")?.dataset["row"] : undefined;
        if (peekedKey !== null && key !== undefined && key !== peekedKey) peek(key);
      }}
    >
      {children}
    </div>
  );
}

/** Takes the row out of the address and gives the focus back to it. */
export function useClosePanel(key: string): () => void {
  const { set } = useAddress();
  return () => {
    set({ panel: [] });
    document.querySelector<HTMLElement>(`tr[data-row="${key}"] th a`)?.focus();
  };
}
