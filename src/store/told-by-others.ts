/** A row that another process wrote: of a new file with its name and owner, of any other change without. */
export type ToldRow = { seq: number; name: string | null; owner: string | null };

/** What other processes told since a row that moves on now and then: each of their rows is read once, not for every group of files. */
export class ToldByOthers {
  #rows: ToldRow[] = [];
  /** The owner of each name they told of; undefined where they told of several. */
  #owners = new Map<string, string | null | undefined>();
  #hasOtherChanges = false;
  #since = 0;
  #readUpTo = 0;

  /** Only rows after this one must be read. */
  upTo(since: number): number {
    return since < this.#since ? since : Math.max(since, this.#readUpTo);
  }

  get size(): number {
    return this.#rows.length;
  }

  /** Takes the rows after `upTo(since)`, in order; `last` is the last one of whomever. What lies before `since` is forgotten. */
  take(rows: readonly ToldRow[], since: number, last: number): void {
    this.#readUpTo = last;
    if (since !== this.#since) this.#keep(since < this.#since ? [] : this.#rows.filter(({ seq }) => seq > since));
    this.#since = since;
    for (const row of rows) this.#add(row);
  }

  /** Up to this row only we told of anything more. */
  readUpTo(last: number): void {
    this.#readUpTo = last;
  }

  /** Whether they told of a change that is no new file, or of one of these names for another owner. */
  standAgainst(files: readonly { name: string; owner: string }[]): boolean {
    return (
      this.#hasOtherChanges ||
      files.some(({ name, owner }) => this.#owners.has(name) && this.#owners.get(name) !== owner)
    );
  }

  #keep(rows: readonly ToldRow[]): void {
    this.#rows = [];
    this.#owners = new Map();
    this.#hasOtherChanges = false;
    for (const row of rows) this.#add(row);
  }

  #add(row: ToldRow): void {
    this.#rows.push(row);
    const { name, owner } = row;
    if (name === null) this.#hasOtherChanges = true;
    else this.#owners.set(name, this.#owners.has(name) && this.#owners.get(name) !== owner ? undefined : owner);
  }
}
