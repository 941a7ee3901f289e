import type { JsonSchema } from '../api/shapes.ts';
import { t } from '../texts/index.ts';
import type { Problems } from './check-value.ts';
import { isObject, resolve } from './read-schema.ts';
import { ValueField } from './value-field.tsx';

interface SchemaFormProps {
  schema: JsonSchema;
  value: Record<string, unknown>;
  problems: Problems;
  onChange(value: Record<string, unknown>): void;
}

/** A form for the arguments of a tool, made from its schema: unions, references, recursion and schemas without any type included. */
export function SchemaForm({ schema, value, problems, onChange }: SchemaFormProps) {
  const read = resolve(schema, schema);
  const hasFields = isObject(read['properties']) && Object.keys(read['properties']).length > 0;
  const takesMore =
    isObject(read['additionalProperties']) ||
    isObject(read['patternProperties']) ||
    Array.isArray(read['oneOf']) ||
    Array.isArray(read['anyOf']);
  if (!hasFields && !takesMore) return <p className="quiet small">{t('form.noArguments')}</p>;
  return (
    <div className="stack">
      <ValueField
        schema={read}
        root={schema}
        label=""
        path=""
        value={value}
        isRequired
        depth={0}
        problems={problems}
        onChange={(next) => onChange(isObject(next) ? next : {})}
      />
    </div>
  );
}
