/**
 * Cuts English endings off, after the algorithm that M. F. Porter published in 1980, so that "translations",
 * "translated" and "translate" count as one word. Words with other letters than a to z stay as they are.
 */
export function stemOf(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word;
  const stem = plural(word.startsWith('y') ? `Y${word.slice(1)}` : word);
  return finalE(suffixes(suffixes(suffixes(finalY(pastAndGerund(stem)), toBase), toShort), dropped)).toLowerCase();
}

const consonants = '[^aeiou][^aeiouy]*';
const vowels = '[aeiouy][aeiou]*';
const hasVowel = new RegExp(`^(${consonants})?[aeiouy]`);
const oneSyllable = new RegExp(`^(${consonants})?${vowels}${consonants}`);
const exactlyOne = new RegExp(`^(${consonants})?${vowels}${consonants}(${vowels})?$`);
const twoSyllables = new RegExp(`^(${consonants})?${vowels}${consonants}${vowels}${consonants}`);
const shortEnd = new RegExp(`^${consonants}[aeiouy][^aeiouwxy]$`);

function plural(word: string): string {
  if (/(ss|i)es$/.test(word)) return word.slice(0, -2);
  return /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

function pastAndGerund(word: string): string {
  if (word.endsWith('eed')) return oneSyllable.test(word.slice(0, -3)) ? word.slice(0, -1) : word;
  const stem = /^(.+?)(?:ed|ing)$/.exec(word)?.[1];
  if (stem === undefined || !hasVowel.test(stem)) return word;
  if (/(at|bl|iz)$/.test(stem) || shortEnd.test(stem)) return `${stem}e`;
  return /([^aeiouylsz])\1$/.test(stem) ? stem.slice(0, -1) : stem;
}

const finalY = (word: string): string =>
  word.endsWith('y') && hasVowel.test(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word;

interface Step {
  pattern: RegExp;
  needs: RegExp;
  into: Record<string, string>;
}

function step(needs: RegExp, into: Record<string, string>): Step {
  const longestFirst = Object.keys(into).sort((a, b) => b.length - a.length);
  return { pattern: new RegExp(`^(.+?)(${longestFirst.join('|')})$`), needs, into };
}

const toBase = step(oneSyllable, {
  ational: 'ate', tional: 'tion', enci: 'ence', anci: 'ance', izer: 'ize', bli: 'ble', alli: 'al', entli: 'ent', eli: 'e',
  ousli: 'ous', ization: 'ize', ation: 'ate', ator: 'ate', alism: 'al', iveness: 'ive', fulness: 'ful', ousness: 'ous',
  aliti: 'al', iviti: 'ive', biliti: 'ble', logi: 'log',
}); // prettier-ignore
const toShort = step(oneSyllable, { icate: 'ic', ative: '', alize: 'al', iciti: 'ic', ical: 'ic', ful: '', ness: '' });
const dropped = step(twoSyllables, {
  ...Object.fromEntries(
    'al ance ence er ic able ible ant ement ment ent ou ism ate iti ous ive ize'.split(' ').map((end) => [end, '']),
  ),
  sion: 's',
  tion: 't',
});

function suffixes(word: string, { pattern, needs, into }: Step): string {
  const match = pattern.exec(word);
  if (!match) return word;
  const [, stem = '', end = ''] = match;
  const kept = into[end] as string;
  return needs.test(end.endsWith('ion') && kept.length === 1 ? stem + kept : stem) ? stem + kept : word;
}

function finalE(word: string): string {
  const stem = word.slice(0, -1);
  const isDropped = word.endsWith('e') && (twoSyllables.test(stem) || (exactlyOne.test(stem) && !shortEnd.test(stem)));
  const kept = isDropped ? stem : word;
  return kept.endsWith('ll') && twoSyllables.test(kept) ? kept.slice(0, -1) : kept;
}
