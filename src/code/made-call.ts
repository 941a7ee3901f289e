/** A call as a program makes it; the arguments are JSON text, exactly as the interpreter's process would write them. */
export interface MadeCall {
  pack?: string;
  name: string;
  args: string;
  kwargs: string;
}

export function isSameCall(a: MadeCall, b: MadeCall): boolean {
  return a.pack === b.pack && a.name === b.name && a.args === b.args && a.kwargs === b.kwargs;
}
