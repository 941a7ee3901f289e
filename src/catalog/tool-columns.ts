/** The part of a tool's file name that is made of slug and version. */
export const fileHashBytes = 16;

/** What is kept of every tool, and in how many numbers each. */
export const kinds = {
  starts: [Uint32Array, 1],
  lengths: [Uint32Array, 1],
  mtimes: [Float64Array, 1],
  sizes: [Float64Array, 1],
  revisions: [Float64Array, 1],
  bundles: [Uint32Array, 1],
  /** The next tool of the same bundle. */
  nexts: [Int32Array, 1],
  idHashes: [Uint32Array, 1],
  nameHashes: [Uint32Array, 1],
  slugHashes: [Uint32Array, 1],
  pathHashes: [Uint32Array, 1],
  fileHashes: [Uint8Array, fileHashBytes],
} as const;
export const columnNames = Object.keys(kinds) as ColumnName[];
type ColumnName = keyof typeof kinds;
type Columns = { [Name in ColumnName]: InstanceType<(typeof kinds)[Name][0]> };
interface Kind {
  new (size: number): Columns[ColumnName];
  new (buffer: ArrayBufferLike, at: number, size: number): Columns[ColumnName];
}

/** All columns, each made by `make`. */
export function columnsOf(make: (name: ColumnName, Kind: Kind, width: number) => Columns[ColumnName]): Columns {
  return Object.fromEntries(
    columnNames.map((name) => [name, make(name, kinds[name][0] as Kind, kinds[name][1])]),
  ) as unknown as Columns;
}
