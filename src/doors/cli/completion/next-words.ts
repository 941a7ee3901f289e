import type { Argument, Command, Option } from 'commander';

export interface Word {
  word: string;
  about?: string;
}

/** What is known of a command line that ends in a word which is being written. */
export interface Written {
  /** The word, as far as it is there. */
  start: string;
  /** Commands, options and fixed choices that may stand there. */
  fixed: Word[];
  /** What the word is the name of (`bundle`, `session`), or what else its place is called (`file`, `message`). */
  kind?: string;
  /** What stands in the places before it: `{ bundle: 'paint' }`. */
  given: Record<string, string>;
}

/** Reads a command line as the program itself would, up to its last word. */
export function readWritten(program: Command, words: readonly string[]): Written {
  const given: Record<string, string> = {};
  let at = program;
  let places = 0;
  let waiting: Option | undefined;
  let isPlain = false;
  for (const word of words.slice(0, -1)) {
    // Bash cuts `--home=x` into three words.
    if (word === '=' && waiting) continue;
    if (waiting) {
      given[waiting.name()] = word;
      waiting = undefined;
    } else if (!isPlain && word === '--') isPlain = true;
    else if (!isPlain && word.startsWith('-')) waiting = withValue(at, word);
    else {
      const below = places === 0 ? at.commands.find((each) => each.name() === word) : undefined;
      if (below) at = below;
      else given[placeOf(at, places++)?.name() ?? ''] = word;
    }
  }
  const last = words.at(-1) ?? '';
  const start = waiting && last === '=' ? '' : last;
  if (waiting) return { start, fixed: choicesOf(waiting), kind: kindOf(waiting), given };
  const help = at.createHelp();
  if (!isPlain && start.startsWith('-')) {
    const options = help
      .visibleOptions(at)
      .flatMap(({ long, description }) => (long ? [{ word: long, about: description }] : []));
    return { start, fixed: options, given };
  }
  const place = placeOf(at, places);
  const commands =
    places > 0 ? [] : help.visibleCommands(at).map((each) => ({ word: each.name(), about: each.description() }));
  return { start, fixed: [...commands, ...(place ? choicesOf(place) : [])], kind: place && kindOf(place), given };
}

/** The option that takes the next word; undefined where none is waited for. */
function withValue(at: Command, word: string): Option | undefined {
  // Every command has it, and it may stand before its name.
  if (word === '--home') return at.options.find((each) => each.long === word) ?? at.createOption('--home <dir>');
  return at.options.find((each) => each.long === word && (each.required || each.optional));
}

function placeOf(at: Command, index: number): Argument | undefined {
  const places = at.registeredArguments;
  return places[index] ?? (places.at(-1)?.variadic ? places.at(-1) : undefined);
}

const choicesOf = ({ argChoices }: Option | Argument): Word[] => (argChoices ?? []).map((word) => ({ word }));

/** `--bundle <slug>` takes a bundle, `<session-id>` is a session, `--out <file>` a file. */
function kindOf(place: Option | Argument): string {
  if (!('flags' in place)) return place.name().replace(/-id$/, '');
  const value = /<([\w-]+)>$/.exec(place.flags)?.[1] ?? '';
  return isPath(value) ? value : place.name();
}

/** A place that the shell knows how to fill. */
export function isPath(kind: string | undefined): boolean {
  return /^(file|folder|dir|path|source|body|arguments)$/.test(kind ?? '');
}
