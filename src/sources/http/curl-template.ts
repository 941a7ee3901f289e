import { fail } from '../../schema/index.ts';
import { plain, type Word } from './curl-words.ts';
import { literal } from './openapi/security.ts';

/** A credential of a command: `value` is there when the command held it. */
export interface FoundSecret {
  name: string;
  value?: string;
}

/** Which name a secret gets: another one than the wish when that one stands for something else already. */
export type NameSecret = (wish: string, value: string) => string;

/**
 * Turns the words of a command into templates. Between the two a variable is a mark: letters and digits, which
 * come unharmed through whatever takes an address, a form or a body apart.
 */
export class TemplateWriter {
  readonly properties: Record<string, Record<string, unknown>> = {};
  readonly required: string[] = [];
  readonly secrets = new Map<string, FoundSecret>();
  readonly #prefix: string;
  readonly #nameSecret: NameSecret;
  readonly #mark: string;
  readonly #variables: string[] = [];
  /** What a variable is called in templates, once it is known what it is. */
  readonly #names = new Map<string, string>();

  constructor(words: readonly Word[], prefix: string, nameSecret: NameSecret) {
    this.#prefix = prefix;
    this.#nameSecret = nameSecret;
    const all = words.map(plain).join(' ').toLowerCase();
    let mark = 'ouv0';
    while (all.includes(mark)) mark += 'z';
    this.#mark = mark;
  }

  /** The text of a word, with marks for its variables. */
  marked(word: Word): string {
    return word
      .map((part) => (typeof part === 'string' ? part : `${this.#mark}${this.#variables.push(part.variable) - 1}e`))
      .join('');
  }

  hasMark(text: string): boolean {
    return this.#marks().test(text);
  }

  /** A text with marks as people read it. */
  shown(text: string): string {
    return text.replace(this.#marks(), (_, index: string) => `{${this.#variables[Number(index)]}}`);
  }

  /** A text with marks as a template: its variables become arguments unless they are secrets, all else is as it is. */
  template(text: string): string {
    return this.#fill(text, (variable) => this.#argument(variable, { type: 'string' }));
  }

  /** A mark that stands in the place of a whole JSON value, of whatever type. */
  anyValue(text: string): string {
    return this.#fill(text, (variable) => this.#argument(variable, {}));
  }

  /** A template that stands for a credential; `what` says which one. */
  hide(text: string, what: string): string {
    if (this.hasMark(text)) return this.#fill(text, (variable) => this.#secretVariable(variable));
    if (text === '') return '';
    const wish = `${this.#prefix}_${what
      .replace(/[^A-Za-z0-9]+/g, '_')
      .toUpperCase()
      .slice(0, 60)}`;
    let name = this.#nameSecret(wish, text);
    for (let count = 2; name in this.properties || this.#isOther(name, text); count++)
      name = this.#nameSecret(`${wish}_${count}`, text);
    this.secrets.set(name, { name, value: text });
    return `\${${name}}`;
  }

  /** A credential that the command does not hold. */
  ask(what: string): string {
    const name = `${this.#prefix}_${what}`;
    this.secrets.set(name, { name });
    return `\${${name}}`;
  }

  /** The placeholder of an argument with that name, or with a free one like it. */
  argument(wish: string, schema: Record<string, unknown>): string {
    return `\${${this.#declare(wish, schema)}}`;
  }

  #marks(): RegExp {
    return new RegExp(`${this.#mark}(\\d+)e`, 'gi');
  }

  #fill(text: string, name: (variable: string) => string): string {
    if (new RegExp(`\\$${this.#mark}`, 'i').test(text))
      throw fail('import.invalid', { reason: 'a $ right before a variable cannot be expressed by a tool' });
    return literal(text).replace(this.#marks(), (_, index: string) => {
      const variable = this.#variables[Number(index)] as string;
      return `\${${this.#names.get(variable) ?? name(variable)}}`;
    });
  }

  #argument(variable: string, schema: Record<string, unknown>): string {
    const name = this.#declare(variable, schema);
    this.required.push(name);
    this.#names.set(variable, name);
    return name;
  }

  #secretVariable(variable: string): string {
    const name = variable in this.properties ? `${this.#prefix}_${variable}` : variable;
    this.#names.set(variable, name);
    this.secrets.set(name, { name });
    return name;
  }

  #isOther(name: string, value: string): boolean {
    const known = this.secrets.get(name);
    return known !== undefined && known.value !== value;
  }

  #declare(wish: string, schema: Record<string, unknown>): string {
    const base =
      wish
        .replace(/[^A-Za-z0-9_]+/g, '_')
        .replace(/^(?=\d)/, '_')
        .slice(0, 60) || 'value';
    let name = base;
    // Also no name that every object has already.
    for (let count = 2; name in this.properties || this.secrets.has(name); count++) name = `${base}_${count}`;
    this.properties[name] = schema;
    return name;
  }
}
