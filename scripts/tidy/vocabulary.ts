// One word for one thing: words that were replaced stay out of src. Strings are not searched, because SQL names columns.

import { posix } from "node:path";
import ts from "@typescript/typescript6";
import type { CheckResult } from "../check.ts";
import { type SourceFile, sourceFiles, walk } from "../source-files.ts";

interface RetiredWord {
  readonly pattern: RegExp;
  readonly use: string;
}

const retiredWords: readonly RetiredWord[] = [
  { pattern: /\bSharedOwnership/, use: "ClusterMember" },
  { pattern: /\bWebhookTaker|\bTakingWorker\b/, use: "WebhookAcquirer, acquire" },
  { pattern: /\bHeldEndpoints|Unheld\b/, use: "OwnedEndpoints, owned" },
  {
    pattern: /\bfences?\b|[a-z]Fences?\b|\bfence(s|d)?[A-Z]/,
    use: "ownerEpoch (webhook) or leaseToken (delivery)",
  },
  { pattern: /\b(beats?|beatMs|isBeating)\b/, use: "heartbeat" },
  { pattern: /\b(duty|duties)\b(?! of people)|\bDuties\b|[a-z]Duty\b/, use: "leadership" },
  { pattern: /\bWorkNotice\b|[a-z]Notices?\b|\bnotices? of (a|the) (lane|pool)/, use: "hint, notify" },
  { pattern: /\b(workQueue|queue|publisher|news)\.tell\b|\btellExchange\b|\balsoTell\b/, use: "notify" },
  {
    pattern: /\bLanes?Left\b|\blanesLeft\b|\bworkLeft|\bunserved\b/,
    use: "PendingLane, pendingLanes, unownedLanes",
  },
  {
    pattern: /[Ss]tranger/,
    use: "unservable webhook, foreign lease or attacker, whichever is meant",
  },
  { pattern: /[Ss]weeper/, use: "Reannouncer (lost work) or sweeps (retention)" },
  { pattern: /(:|\bnew|\bclass) Words\b|\bintern(ed|Words)?\b/, use: "StringTable, ensure, lookUp" },
  { pattern: /\.rank\b|\brank(In|Max|Sql)\b/, use: "queuePosition" },
  { pattern: /(?<!`)\b[Tt]all(y|ies)\b|[a-z]Tally\b/, use: "counters" },
  { pattern: /[Tt]enanc(y|ies)\b|\btenancy[A-Z]/, use: "TenantQueue, tenantQueue" },
  { pattern: /\b(Permissions|SendPermissions?)\b/, use: "SendPermits, SendPermit" },
  { pattern: /\bAttentionDesk/, use: "OwnerAlerts" },
];

const retiredFiles: ReadonlyMap<string, string> = new Map([
  ["words", "string-table"],
  ["rank", "queue-position"],
  ["rank-sql", "queue-position-sql"],
  ["tally", "counters"],
  ["tenancy", "tenant-queue"],
  ["permissions", "send-permits"],
  ["attention", "owner-alerts"],
  ["duties", "leaderships"],
  ["sweeper", "reannouncer"],
  ["shared-ownership", "cluster-member"],
  ["webhook-taker", "webhook-acquirer"],
  ["held-endpoints", "owned-endpoints"],
  ["work-left", "pending-lanes"],
]);

const retiredFolders: ReadonlyMap<string, string> = new Map([
  ["src/engine/ownership/", "src/engine/cluster/"],
  ["src/engine/shared/", "src/engine/cluster/"],
  ["src/engine/management/", "src/services/"],
]);

export function vocabulary(): CheckResult {
  const files = sourceFiles().filter(({ path }) => path.startsWith("src/"));
  return { problems: [...files.flatMap(problemsOfPath), ...files.flatMap(problemsOfText)] };
}

function problemsOfPath({ path }: SourceFile): readonly string[] {
  const [stem = ""] = posix.basename(path).split(".");
  const name = retiredFiles.get(stem);
  const problems = name === undefined ? [] : [`${path}: "${stem}" is retired; the file is called ${name}.ts`];
  for (const [folder, use] of retiredFolders)
    if (path.startsWith(folder)) problems.push(`${path}: ${folder} is retired; use ${use}`);
  return problems;
}

function problemsOfText(file: SourceFile): readonly string[] {
  return withoutStrings(file)
    .split("\n")
    .flatMap((line, index) =>
      retiredWords.flatMap(({ pattern, use }) => {
        const found = pattern.exec(line)?.[0].trim();
        return found === undefined ? [] : [`${file.path}:${index + 1}: "${found}" is retired; use ${use}`];
      }),
    );
}

/** The text with blanks in place of all strings, line by line as before. */
function withoutStrings({ text, tree }: SourceFile): string {
  const parts: string[] = [];
  let end = 0;
  walk(tree, (node) => {
    if (!ts.isStringLiteralLike(node) && !ts.isTemplateHead(node) && !ts.isTemplateMiddleOrTemplateTail(node))
      return;
    const start = node.getStart(tree);
    parts.push(text.slice(end, start), text.slice(start, node.end).replaceAll(/[^\n]/g, " "));
    end = node.end;
  });
  return [...parts, text.slice(end)].join("");
}
