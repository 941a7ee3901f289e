import type { ComponentType } from 'react';
import type { JsonSchema } from '../api/shapes.ts';
import type { Problems } from './check-value.ts';
import type { SchemaObject } from './read-schema.ts';

export interface ValueFieldProps {
  schema: unknown;
  root: JsonSchema;
  label: string;
  /** JSON pointer of the value in the whole. */
  path: string;
  value: unknown;
  isRequired: boolean;
  depth: number;
  problems: Problems;
  onChange(value: unknown): void;
}

/** The same with the schema resolved. */
export type ReadProps = ValueFieldProps & { read: SchemaObject };

export const hintOf = (read: SchemaObject): string | undefined =>
  typeof read['description'] === 'string' ? read['description'].slice(0, 400) : undefined;

/** The pointer of a field inside the value at `path`. */
export const pathTo = (path: string, name: string): string =>
  `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** Fields that hold others get the component for one value from above, so that the two need not import each other. */
export type NestingProps = ReadProps & { Value: ComponentType<ValueFieldProps> };
