/** Time range of a page with charts. It is stored in the address, and charts can narrow it. */
import { useAddress } from "../shared/address.ts";
import { localZone } from "../shared/charts/scale.ts";
import { minute } from "../shared/clock.ts";
import { shellOptions, type ShellText } from "../shared/shell-text.ts";
import { rangeQuery } from "../shared/time-range.ts";

/** Default if the address has no range. */
export const usualRange = "1h";

export interface StatisticsRange {
  /** Parameters of `GET /v1/stats/…`. */
  readonly query: Readonly<Record<string, string>>;
  /** Equivalent CLI options. */
  readonly flags: ShellText;
  readonly narrow: (from: number, to: number) => void;
}

export function useStatisticsRange(fallback = usualRange): StatisticsRange {
  const { params, set } = useAddress();
  const range = rangeQuery(params, minute.value, fallback);
  return {
    query: range,
    flags: flagsOfRange(range),
    narrow: (from, to) =>
      set({ range: [], from: [new Date(from).toISOString()], to: [new Date(to).toISOString()] }),
  };
}

/** Makes the server use days of the browser's time zone. */
export function zoneQuery(): Readonly<Record<string, string>> {
  return { time_zone: localZone() };
}

/** Options of `posthorn stats`. */
function flagsOfRange({ from, to }: Readonly<Record<string, string>>): ShellText {
  return shellOptions([
    ...(from === undefined ? [] : [["since", from] as const]),
    ...(to === undefined ? [] : [["until", to] as const]),
  ]);
}
