const prefix = /^__ot(?:__)?(?![\w])[ \t]*(?:\r?\n)?/;
const inlineTicks = /^(`{1,3})([^`]+)\1$/;
const mostLayers = 4;

/** Takes away what surrounds a program in a chat: the `__ot` prefix, code fences, backticks, a common indentation. */
export function stripWrapping(text: string): string {
  let code = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  for (let layer = 0; layer < mostLayers; layer++) {
    const trimmed = code.trim();
    const inner = withoutPrefix(trimmed) ?? withoutFence(trimmed) ?? inlineTicks.exec(trimmed)?.[2];
    if (inner === undefined) break;
    code = inner;
  }
  return dedent(code);
}

const withoutPrefix = (text: string): string | undefined => (prefix.test(text) ? text.replace(prefix, '') : undefined);

/** A first line that opens a fence goes, and so does the same fence at the end, if it is there. */
function withoutFence(text: string): string | undefined {
  const mark = /^(?:`{3,}|~{3,})/.exec(text)?.[0];
  const firstLine = text.indexOf('\n');
  if (mark === undefined || firstLine < 0 || text.slice(mark.length, firstLine).includes('`')) return undefined;
  const body = text.slice(firstLine + 1);
  return body.endsWith(mark) ? body.slice(0, -mark.length).replace(/\n[ \t]*$/, '') : body;
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
