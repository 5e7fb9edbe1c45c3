/** A position in a YAML file. A missing position is an empty node, so that a test failure can still name it. */
export class YamlNode {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }

  at(...keys: readonly (string | number)[]): YamlNode {
    return keys.reduce<YamlNode>(
      ({ value }, key) =>
        new YamlNode(
          typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined,
        ),
      this,
    );
  }

  get isThere(): boolean {
    return this.value !== undefined;
  }

  /** The value if it is a string or a number; otherwise empty. */
  get text(): string {
    const { value } = this;
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  }

  get items(): readonly YamlNode[] {
    return Array.isArray(this.value) ? this.value.map((each) => new YamlNode(each)) : [];
  }

  get texts(): readonly string[] {
    return this.items.map(({ text }) => text);
  }

  get entries(): readonly (readonly [name: string, node: YamlNode])[] {
    const { value } = this;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
    return Object.entries(value).map(([name, each]) => [name, new YamlNode(each)] as const);
  }

  get names(): readonly string[] {
    return this.entries.map(([name]) => name);
  }
}
