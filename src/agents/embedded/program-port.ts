/** What a tool call gave: a JSON value, or the text of a failure that the program may catch. */
export type ToolAnswer = { value: unknown } | { error: string };

export type ProgramResult = { ok: true; text: string } | { ok: false; text: string; isProgram: boolean };

/** What the embedded agent needs of whoever can run programs. */
export interface ProgramPort {
  /** Runs one program in which each tool is a function of that name; rejects only when `signal` aborts. */
  run(program: {
    code: string;
    /** Tool name to its argument schema; asked for again when a program names one that is not there. */
    tools(fresh: boolean): Promise<Map<string, unknown>>;
    call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolAnswer>;
    signal: AbortSignal;
  }): Promise<ProgramResult>;
}
