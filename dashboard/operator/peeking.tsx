import type { ComponentChildren } from "preact";
import { useAddress } from "../shared/address.ts";

/** The row shown in the side panel, as stored in the address. */
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

/** Wraps a list, so that the side panel follows the focused row. */
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

/** Closes the panel and returns the focus to its row. */
export function useClosePanel(key: string): () => void {
  const { set } = useAddress();
  return () => {
    set({ panel: [] });
    document.querySelector<HTMLElement>(`tr[data-row="${key}"] th a`)?.focus();
  };
}
