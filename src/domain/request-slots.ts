/**
 * A request uses CPU while it is young, and later only a socket (docs/decisions/request-age.md). It is active for one
 * second. Then it counts as a waiting request, and after five seconds as one that probably hangs.
 */
export const waitingAfterMs = 1_000;
export const hangingAfterMs = 5_000;

/** Number of slots held, by share. */
export type HeldSlots = number[];

export interface SlotShare {
  readonly size: number;
  /**
   * A tenant may take a slot while it holds fewer slots than this multiple of the free ones, excluding reserved slots.
   */
  readonly tenantMultiple: number;
}

/** Like `tenantMultiple` for a webhook or a source, relative to the slots that its tenant may still take. */
const keyMultiple = 2;
/**
 * One slot in 25 is reserved for tenants that hold fewer slots than are free, so that even many busy tenants leave some
 * slots for others.
 */
const sparedPart = 1 / 25;

/**
 * Slots that tenants share, and within a tenant its webhooks or sources.
 *
 * Shares are nested: share 0 has all slots, and a request of a narrower share counts in the wider ones too. Within
 * each share, a dynamic threshold applies (Choudhury and Hahne): a tenant may take a slot only while it holds less
 * than a multiple of the free slots. A single busy tenant therefore uses most of a share, several busy tenants get
 * equal parts, and some slots are left for the next tenant, however many tenants are busy. Where only one tenant has
 * webhooks, the threshold applies between its webhooks only.
 */
export class SharedSlots {
  readonly #shares: readonly SlotShare[];
  readonly #severalTenants: () => boolean;
  readonly #inUse: HeldSlots;

  constructor(shares: readonly SlotShare[], severalTenants: () => boolean) {
    this.#shares = shares;
    this.#severalTenants = severalTenants;
    this.#inUse = shares.map(() => 0);
  }

  inUse(share: number): number {
    return this.#inUse[share] as number;
  }

  free(share: number): number {
    return (this.#shares[share] as SlotShare).size - this.inUse(share);
  }

  /** How many more slots a tenant with this many held slots may take; zero or less if it may not take any. */
  left(share: number, tenantHolds: number): number {
    const free = this.free(share);
    if (free <= 0 || !this.#severalTenants()) return free;
    const { tenantMultiple, size } = this.#shares[share] as SlotShare;
    const plenty = free - Math.max(1, Math.floor(size * sparedPart));
    return Math.max((free - tenantHolds) / 2, (tenantMultiple * plenty - tenantHolds) / (tenantMultiple + 1));
  }

  /** Whether the tenant, or its webhook or source with `keyHolds` slots, must not take a slot of the share now. */
  refuses(share: number, tenantHolds: number, keyHolds: number): boolean {
    const left = this.left(share, tenantHolds);
    return left <= 0 || keyHolds >= left * keyMultiple;
  }

  /** Takes slots, or returns them if `count` is negative; updates `held` as well. */
  count(share: number, count: number, held: HeldSlots): void {
    for (let wider = share; wider >= 0; wider -= 1) {
      this.#inUse[wider] = this.inUse(wider) + count;
      held[wider] = (held[wider] as number) + count;
    }
  }
}

/** The owner of a request: a tenant, and a webhook or source of the tenant. */
export interface SlotOwner {
  readonly tenantId: string;
  readonly key: string;
}

/** A waiting request. It ends with `WaitingSlots.free`. */
export interface WaitingSlot {
  readonly owner: SlotOwner;
  readonly weight: number;
  isHanging: boolean;
}

const all = 0;
const hanging = 1;
/**
 * The last quarter of the slots is not available to hanging requests, so that receivers that are merely slow can use
 * it.
 */
const hangingPart = 3 / 4;
/** A larger body counts as several requests, which limits the memory use. */
const bytesPerSlot = 65_536;

/** The requests of this process that have waited for a second: deliveries, forwarded messages and verifications. */
export class WaitingSlots {
  readonly size: number;
  readonly severalTenants: () => boolean;
  readonly #slots: SharedSlots;
  readonly #tenants = new Map<string, HeldSlots>();
  readonly #keys = new Map<string, HeldSlots>();
  #requests = 0;

  constructor(size: number, severalTenants: () => boolean) {
    this.size = size;
    this.severalTenants = severalTenants;
    const shares = [size, Math.floor(size * hangingPart)].map((each) => ({ size: each, tenantMultiple: 2 }));
    this.#slots = new SharedSlots(shares, severalTenants);
  }

  /** Number of waiting requests. */
  get requests(): number {
    return this.#requests;
  }

  /** Slots in use; a request with a large body uses several. */
  get inUse(): number {
    return this.#slots.inUse(all);
  }

  /**
   * Takes a waiting slot. Null if none is available, so the request has to stay active. `isHanging`: whether the
   * request is older than five seconds, or its receiver did not respond last time.
   */
  take(owner: SlotOwner, bytes: number, isHanging: boolean): WaitingSlot | null {
    const narrowest = isHanging ? hanging : all;
    for (let share = narrowest; share >= 0; share -= 1) {
      const tenantHolds = this.#tenants.get(owner.tenantId)?.[share] ?? 0;
      if (this.#slots.refuses(share, tenantHolds, this.#keys.get(owner.key)?.[share] ?? 0)) return null;
    }
    const weight = 1 + Math.floor(bytes / bytesPerSlot);
    this.#count(owner, narrowest, weight);
    this.#requests += 1;
    return { owner, weight, isHanging };
  }

  /**
   * Marks a request as hanging after five seconds, even if the share for hanging requests is full, because the slot
   * cannot be revoked.
   */
  hangs(slot: WaitingSlot): void {
    if (slot.isHanging) return;
    slot.isHanging = true;
    this.#count(slot.owner, all, -slot.weight);
    this.#count(slot.owner, hanging, slot.weight);
  }

  free({ owner, weight, isHanging }: WaitingSlot): void {
    this.#count(owner, isHanging ? hanging : all, -weight);
    this.#requests -= 1;
  }

  #count({ tenantId, key }: SlotOwner, share: number, count: number): void {
    this.#slots.count(share, count, heldBy(this.#tenants, tenantId));
    const own = heldBy(this.#keys, key);
    for (let wider = share; wider >= 0; wider -= 1) own[wider] = (own[wider] as number) + count;
    if (own[all] === 0) this.#keys.delete(key);
    if (this.#tenants.get(tenantId)?.[all] === 0) this.#tenants.delete(tenantId);
  }
}

function heldBy(parties: Map<string, HeldSlots>, id: string): HeldSlots {
  let held = parties.get(id);
  if (held === undefined) {
    held = [0, 0];
    parties.set(id, held);
  }
  return held;
}
