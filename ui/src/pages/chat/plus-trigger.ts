/** True when a `+` typed after this text opens the palette: at the start of a line or after a space, never inside code. */
export function opensPalette(before: string): boolean {
  if (before !== '' && !/\s$/.test(before)) return false;
  const fences = before.match(/^```/gm)?.length ?? 0;
  if (fences % 2 === 1) return false;
  const line = before.slice(before.lastIndexOf('\n') + 1);
  return (line.match(/`/g)?.length ?? 0) % 2 === 0;
}
