/** The last `lines` lines of a text. */
export function tailOf(bytes: Buffer, lines: number): string {
  let start = bytes.length;
  // A closing newline ends the last line, it does not begin another.
  if (bytes[start - 1] === 10) start--;
  for (let left = lines; left > 0 && start > 0; left--) {
    const at = bytes.lastIndexOf(10, start - 1);
    start = at < 0 ? 0 : at;
  }
  if (bytes[start] === 10 && start > 0) start++;
  return bytes.toString('utf8', lines > 0 ? start : bytes.length);
}
