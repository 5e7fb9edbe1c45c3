// The programs of docs/languages: tests run them, and the portal shows them.

/** A program as it stands in a page. */
export interface LanguageProgram {
  /** Of its file, from its first line. */
  readonly name: string;
  readonly code: string;
  /** By the tests; where it could not be, the page says so. */
  readonly isExecuted: boolean;
  /** Title of the section that it stands in. */
  readonly section: string;
}

/** In the order of the page. */
export function programsOf(page: string): readonly LanguageProgram[] {
  return page.split(/^## /m).flatMap((section) => {
    const blocks = section.matchAll(/(<!-- not executed: .+ -->\n)?^```\w+\n([^]*?)^```$/gm);
    return [...blocks].map(([, mark, code = ""]) => ({
      name: /^(?:<\?php )?(?:\/\/|#) ([\w.]+)/.exec(code)?.[1] ?? "",
      code,
      isExecuted: mark === undefined,
      section: section.split("\n", 1)[0] ?? "",
    }));
  });
}
