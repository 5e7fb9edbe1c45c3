import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { useAddress } from "../shared/address.ts";
import { callApi } from "../shared/api.ts";
import type { DeliveryPage } from "../shared/resources.ts";
import { pagePath } from "../shared/root.ts";
import { announce } from "../shared/ui/announcer.tsx";
import { Icon } from "../shared/ui/icon.tsx";

const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const kinds = ["deliveries", "events", "webhooks"] as const;

/** Leads to what an id names, or to the deliveries of what was published with a key. */
async function placeOf(text: string): Promise<string | null> {
  if (idForm.test(text)) {
    for (const kind of kinds) if (await exists(`v1/${kind}/${text}`)) return pagePath(`${kind}/${text}`);
    return null;
  }
  const query = { idempotency_key: text, limit: 1 };
  const { value } = await callApi<DeliveryPage>({ path: "v1/deliveries", query });
  if (value.data.length === 0) return null;
  return `${pagePath("deliveries")}?idempotency_key=${encodeURIComponent(text)}`;
}

async function exists(path: string): Promise<boolean> {
  try {
    await callApi({ path });
    return true;
  } catch {
    return false;
  }
}

export function SearchField() {
  const { go } = useAddress();
  const note = useSignal("");
  const field = useRef<HTMLInputElement>(null);
  const search = async () => {
    const text = field.current?.value.trim() ?? "";
    if (text === "") return;
    const place = await placeOf(text).catch(() => null);
    note.value = place === null ? `Nothing has the id or key ${text}.` : "";
    announce(note.value);
    if (place === null) return;
    if (field.current !== null) field.current.value = "";
    go(place);
  };
  return (
    <search class="search">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void search();
        }}
      >
        <Icon name="search" />
        <input
          ref={field}
          id="search"
          type="search"
          placeholder="Id or idempotency key"
          aria-label="Find by id or idempotency key"
          onInput={() => (note.value = "")}
        />
        <kbd aria-hidden="true">/</kbd>
      </form>
      {note.value !== "" && <p class="search-note">{note.value}</p>}
    </search>
  );
}
