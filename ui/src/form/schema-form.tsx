import type { JsonSchema } from '../api/shapes.ts';
import { Note } from '../parts/page.tsx';
import { t } from '../texts/index.ts';
import type { Problems } from './check-value.ts';
import { pathTo } from './field-props.ts';
import { isObject, resolve, type SchemaObject } from './read-schema.ts';
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
    read['additionalProperties'] === true ||
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
      <ProblemList problems={hiddenOf(problems, read)} />
    </div>
  );
}

export function ProblemList({ problems }: { problems: Problems }) {
  const all = Object.entries(problems);
  if (all.length === 0) return null;
  return (
    <Note tone="bad">
      {all.map(([path, message]) => (
        <span key={path}>
          <code>{path || '/'}</code> {message}
        </span>
      ))}
    </Note>
  );
}

/** Problems that no field at the top shows beside itself. */
function hiddenOf(problems: Problems, read: SchemaObject): Problems {
  const fields = Object.keys(isObject(read['properties']) ? read['properties'] : {}).map((name) => pathTo('', name));
  return Object.fromEntries(
    Object.entries(problems).filter(([path]) => !fields.some((field) => `${path}/`.startsWith(`${field}/`))),
  );
}

/** The first field that was refused gets the focus, out of a closed part too: it may lie far from the button that was pressed. */
export function showProblem(form: HTMLFormElement): void {
  const problem = form.querySelector('.problem');
  for (let fold = problem?.closest('details'); fold; fold = fold.parentElement?.closest('details')) fold.open = true;
  const field = problem?.closest('.field, fieldset') ?? problem?.parentElement;
  field?.querySelector<HTMLElement>('input, select, textarea, .cm-content, button')?.focus();
}

/** The first field whose text cannot be sent as it is gets the focus; true when there is none. */
export function isWhole(form: HTMLFormElement): boolean {
  const broken = form.querySelector<HTMLElement>('[data-broken]');
  broken?.focus();
  return broken === null;
}
