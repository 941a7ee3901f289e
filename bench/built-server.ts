// The script has no types of its own.
const { builtProgram } = (await import(new URL('../scripts/built.js', import.meta.url).href)) as {
  builtProgram(node: string): string;
};

/** The program that `npm start` serves with, built if a source has changed. */
export const builtServer = (): string => builtProgram(process.execPath);
