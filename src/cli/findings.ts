import type { Finding, FindingState } from "../check/finding.ts";
import { cellText, printTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

const words: Readonly<Record<FindingState, string>> = {
  passed: "passed",
  failed: "FAILED",
  skipped: "skipped",
  not_applicable: "-",
};

/** Readable in logs, emails and any terminal. */
const widthMax = 80;

/** Prints the table of findings, then failures with remedies, then the totals. */
export function printFindings(terminal: Terminal, findings: readonly Finding[]): void {
  printTable(
    terminal,
    [
      { title: "RESULT", value: ({ state }: Finding) => words[state] },
      { title: "RULE", value: ({ title }) => title },
      { title: "SEEN", value: ({ detail }) => detail },
    ],
    findings,
  );
  const width = Math.min(terminal.outColumns ?? widthMax, widthMax);
  for (const finding of findings) {
    if (finding.state !== "failed") continue;
    terminal.data("");
    const [head = "", ...lines] = failureLines(finding, width);
    terminal.data(terminal.outStyle("red", head));
    for (const line of lines) terminal.data(line);
  }
  terminal.data("");
  terminal.data(summaryOf(findings));
  const skippedHints = new Set(findings.filter(({ state }) => state === "skipped").map(({ hint }) => hint));
  for (const hint of skippedHints) if (hint !== null) terminal.data(`To run the skipped checks: ${hint}`);
}

function failureLines(finding: Finding, width: number): readonly string[] {
  const { title, level, detail, requirements, hint } = finding;
  const lines = (text: string): readonly string[] =>
    wrap(cellText(text), width - 2).map((line) => `  ${line}`);
  const recommended = level === "should" ? " (recommended)" : "";
  return [
    `FAILED  ${title}${recommended}`,
    ...lines(`seen: ${detail}`),
    ...lines(hint ?? ""),
    ...lines(requirements),
  ];
}

function summaryOf(findings: readonly Finding[]): string {
  const count = (wanted: FindingState): number => findings.filter(({ state }) => state === wanted).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped, ${count("not_applicable")} not applicable`;
}

/** Wraps at spaces. Long words get their own line. */
function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines;
}
