import { Cli } from '../cli.ts';
import { knownNames } from '../completion/known-names.ts';
import { isPath, readWritten, type Word } from '../completion/next-words.ts';
import { scripts, shells, type Shell } from '../completion/scripts.ts';
import { define, type Setting } from '../define.ts';
import { Silent } from '../failure.ts';
import { oneLine } from '../output.ts';

/** Whoever pressed Tab waits; a server that is slower has nothing to offer. */
const patienceMs = 2000;

export function addCompletion(setting: Setting): void {
  const command = define(setting, setting.program, {
    usage: 'completion <shell> [words...]',
    summary: 'print the script by which a shell completes commands, options and names at Tab',
    examples: [
      'eval "$(oubliette completion bash)"     # in ~/.bashrc',
      'eval "$(oubliette completion zsh)"      # in ~/.zshrc, behind compinit',
      'oubliette completion fish | source      # in ~/.config/fish/config.fish',
      'oubliette completion bash -- session s  # what the script asks: which words may come here',
    ],
    async run(cli, [name, written]) {
      const shell = name as Shell;
      if (written.length === 0) return cli.print({ shell, script: scripts[shell] }, () => scripts[shell]);
      const words = await nextWords(setting, cli, written);
      cli.print({ words }, () => words.map((each) => line(shell, each)).join('\n'));
    },
  });
  command.registeredArguments[0]!.choices(shells);
}

/** Fails silently where only the shell knows what to offer: file names. */
async function nextWords({ program, env }: Setting, cli: Cli, words: string[]): Promise<Word[]> {
  const written = readWritten(program, words);
  const begins = ({ word }: Word): boolean => word.startsWith(written.start) && !/\p{Cc}/u.test(word);
  const asked = new Cli(cli.terminal, env, { home: written.given['home'] ?? cli.home, patienceMs });
  const names = await knownNames(asked, written).catch((): Word[] => []);
  const found = new Map([...written.fixed, ...names].filter(begins).map((each) => [each.word, each]));
  if (found.size === 0 && isPath(written.kind)) throw new Silent(1);
  return [...found.values()];
}

function line(shell: Shell, { word, about }: Word): string {
  const text = oneLine((about ?? '').replaceAll(/\p{Cc}/gu, ' '), 80);
  if (shell === 'bash' || text === '') return shell === 'zsh' ? escaped(word) : word;
  return shell === 'zsh' ? `${escaped(word)}:${text}` : `${word}\t${text}`;
}

const escaped = (word: string): string => word.replaceAll(/[\\:]/g, '\\$&');
