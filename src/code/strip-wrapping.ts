const prefix = /^__ot(?:__)?(?![\w])[ \t]*(?:\r?\n)?/;
const fence = /^(`{3,}|~{3,})[^\n`]*\n([\s\S]*?)(?:\n?[ \t]*\1[`~]*[ \t\r\n]*)?$/;
const inlineTicks = /^(`{1,3})([^`]+)\1$/;

/** Takes away what surrounds a program in a chat: the `__ot` prefix, code fences, backticks, a common indentation. */
export function stripWrapping(text: string): string {
  let code = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  for (;;) {
    const before = code;
    const trimmed = code.trim();
    if (prefix.test(trimmed)) code = trimmed.replace(prefix, '');
    else if (fence.test(trimmed)) code = fence.exec(trimmed)![2]!;
    else if (inlineTicks.test(trimmed)) code = inlineTicks.exec(trimmed)![2]!;
    if (code === before) break;
  }
  return dedent(code);
}

/** Programs pasted with a common indentation run as they look; a program that starts at the margin is left alone. */
function dedent(code: string): string {
  const first = /^(?:[ \t]*\n)*([ \t]+)\S/.exec(code);
  if (!first) return code;
  const margin = first[1]!;
  const lines = code.split('\n');
  if (!lines.every((line) => line.trim() === '' || line.startsWith(margin))) return code;
  return lines.map((line) => (line.startsWith(margin) ? line.slice(margin.length) : line)).join('\n');
}
