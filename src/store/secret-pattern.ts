/** Every form is at least this long, and found by its first characters. */
export const shortestForm = 6;

/** Where in a text a form was found. */
export interface Place {
  index: number;
  form: string;
}

/**
 * Finds any of many texts. The expression knows only how each of them begins: one with thousands of whole forms takes
 * seconds to compile, and is compiled anew with every token that comes.
 */
export class SecretPattern {
  readonly longest: number;
  /** Forms by how they begin, the longer ones first. */
  readonly #byStart: Map<string, string[]>;
  readonly #starts: RegExp;
  /** What could become the start of a form. */
  #openings: Set<string> | undefined;

  constructor(forms: Iterable<string>) {
    const sorted = [...forms].sort((a, b) => b.length - a.length);
    this.longest = sorted[0]?.length ?? 0;
    this.#byStart = Map.groupBy(sorted, (form) => form.slice(0, shortestForm));
    this.#starts = new RegExp([...this.#byStart.keys()].map((start) => RegExp.escape(start)).join('|'), 'g');
  }

  /** The first form from a place on; where several begin, the longest. */
  next(text: string, from: number): Place | undefined {
    const starts = this.#starts;
    starts.lastIndex = from;
    for (let match = starts.exec(text); match; match = starts.exec(text)) {
      const { index } = match;
      const form = this.#byStart.get(match[0])!.find((each) => text.startsWith(each, index));
      if (form !== undefined) return { index, form };
      starts.lastIndex = index + 1;
    }
    return undefined;
  }

  /** All forms in a text, in order, without overlaps. */
  all(text: string): Place[] {
    const places: Place[] = [];
    for (let place = this.next(text, 0); place; place = this.next(text, place.index + place.form.length))
      places.push(place);
    return places;
  }

  replace(text: string, by: (form: string) => string): string {
    let place = this.next(text, 0);
    if (!place) return text;
    let out = '';
    let from = 0;
    for (; place; place = this.next(text, from)) {
      out += text.slice(from, place.index) + by(place.form);
      from = place.index + place.form.length;
    }
    return out + text.slice(from);
  }

  /** How much of the end of a text could be the start of a form. */
  openEnd(text: string): number {
    for (let length = Math.min(this.longest - 1, text.length); length > 0; length--)
      if (this.#isOpening(text, text.length - length)) return length;
    return 0;
  }

  #isOpening(text: string, at: number): boolean {
    const rest = text.length - at;
    if (rest < shortestForm) return (this.#openings ??= this.#allOpenings()).has(text.slice(at));
    const forms = this.#byStart.get(text.slice(at, at + shortestForm));
    return forms !== undefined && forms.some((form) => form.length > rest && form.startsWith(text.slice(at)));
  }

  #allOpenings(): Set<string> {
    const openings = new Set<string>();
    for (const start of this.#byStart.keys())
      for (let end = 1; end < shortestForm; end++) openings.add(start.slice(0, end));
    return openings;
  }
}
