import { dirname, join } from 'node:path';

// A plain script without types of its own.
const { builtProgram } = (await import(new URL('../../scripts/built.js', import.meta.url).href)) as {
  builtProgram(node: string): string;
};

/** `oubliette` as users run it, built anew if a source has changed: it also starts in half the time of the sources. */
export const cliFile = builtProgram(process.execPath);
if (!cliFile.endsWith('.js')) throw new Error('the program could not be built; npm run build says why');

/** `oubliette-client`, which agents run. */
export const clientFile = join(dirname(cliFile), 'client.js');
