/** Downloads a text as a CSV file. */
export function download({ name, text }: { readonly name: string; readonly text: string }): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
