import { Field } from '../parts/fields.tsx';
import { Icon } from '../parts/icon.tsx';
import { t } from '../texts/index.ts';
import { hintOf, pathTo, type NestingProps } from './field-props.ts';
import { isObject, ownValue, resolve, startOf } from './read-schema.ts';
import { useTyped } from './use-typed.ts';

const openDepth = 2;

/** Fields of an object; one that is optional or deep opens only on demand, which is what tames recursion. */
export function ObjectField(props: NestingProps) {
  const { read, root, path, value, depth, label, problems, onChange, Value } = props;
  const isTop = depth === 0;
  if (!isTop && value === undefined && (!props.isRequired || depth > openDepth))
    return (
      <div>
        <button type="button" className="button compact" onClick={() => onChange(startOf(read, root) ?? {})}>
          <Icon name="plus" size={12} />
          {label}
        </button>
        {problems[path] ? <p className="problem">{problems[path]}</p> : null}
      </div>
    );
  const object = isObject(value) ? value : {};
  const properties = isObject(read['properties']) ? read['properties'] : {};
  const required = new Set(Array.isArray(read['required']) ? (read['required'] as string[]) : []);
  const names = Object.keys(properties).sort((a, b) => Number(required.has(b)) - Number(required.has(a)));
  const set = (name: string, next: unknown): void => {
    const { [name]: _old, ...rest } = object;
    onChange(next === undefined ? rest : { ...object, [name]: next });
  };
  const fields = names.map((name) => (
    <Value
      key={name}
      schema={properties[name]}
      root={root}
      label={name}
      path={pathTo(path, name)}
      value={ownValue(object, name)}
      isRequired={required.has(name)}
      depth={depth + 1}
      problems={problems}
      onChange={(next) => set(name, next)}
    />
  ));
  const patterns = isObject(read['patternProperties']) ? Object.values(read['patternProperties']) : [];
  const extra = patterns[0] ?? read['additionalProperties'];
  const takesMore = extra === true || isObject(extra) || (extra === undefined && names.length === 0);
  const more = takesMore ? (
    <FreePairs {...props} known={new Set(names)} object={object} schema={isObject(extra) ? extra : {}} />
  ) : null;
  if (isTop)
    return (
      <>
        {fields}
        {more}
      </>
    );
  return (
    <fieldset className="group">
      <legend>
        {label} {props.isRequired ? null : <RemoveButton label={label} onRemove={() => onChange(undefined)} />}
      </legend>
      {hintOf(read) ? <p className="small quiet">{hintOf(read)}</p> : null}
      {problems[path] ? <p className="problem">{problems[path]}</p> : null}
      {fields}
      {more}
    </fieldset>
  );
}

type PairsProps = NestingProps & {
  known: Set<string>;
  object: Record<string, unknown>;
};

function FreePairs({ known, object, onChange, schema, root, path, depth, problems, Value }: PairsProps) {
  const pairs = Object.entries(object);
  const names = Object.keys(object).filter((name) => !known.has(name));
  const replace = (name: string, ...by: [string, unknown][]): void =>
    onChange(Object.fromEntries(pairs.flatMap((pair) => (pair[0] === name ? by : [pair]))));
  const add = (): void => {
    let number = names.length + 1;
    while (`key${number}` in object) number += 1;
    onChange({ ...object, [`key${number}`]: startOf(resolve(schema, root), root) ?? '' });
  };
  return (
    <div className="stack">
      {names.map((name, index) => (
        <div className="pair" key={index}>
          <KeyField
            name={name}
            isFree={(next) => !known.has(next) && !Object.hasOwn(object, next)}
            onRename={(next) => replace(name, [next, object[name]])}
          />
          <Value
            schema={schema}
            root={root}
            label={t('form.value')}
            path={pathTo(path, name)}
            value={object[name]}
            isRequired
            depth={depth + 1}
            problems={problems}
            onChange={(next) => replace(name, [name, next])}
          />
          <RemoveButton label={name} onRemove={() => replace(name)} />
        </div>
      ))}
      <div>
        <button type="button" className="button compact" onClick={add}>
          <Icon name="plus" size={12} />
          {t('form.addKey')}
        </button>
      </div>
    </div>
  );
}

/** The name of an entry; one that is empty or taken is not a name yet, and the entry keeps the last that was. */
function KeyField({
  name,
  isFree,
  onRename,
}: {
  name: string;
  isFree(name: string): boolean;
  onRename(name: string): void;
}) {
  const [text, keep] = useTyped(name, String);
  return (
    <Field label={t('form.key')} problem={text === name ? undefined : t('form.badKey')}>
      {(control) => (
        <input
          {...control}
          className="input mono"
          spellCheck={false}
          value={text}
          data-broken={text !== name || undefined}
          onChange={(event) => {
            const next = event.target.value;
            const isName = next === name || (next !== '' && isFree(next));
            keep(next, isName ? next : name);
            if (isName) onRename(next);
          }}
        />
      )}
    </Field>
  );
}

/** Rows that can be added and removed. */
export function ArrayField(props: NestingProps) {
  const { read, root, path, value, depth, label, problems, isRequired, onChange, Value } = props;
  const rows = Array.isArray(value) ? (value as unknown[]) : [];
  const fixed = Array.isArray(read['prefixItems'])
    ? (read['prefixItems'] as unknown[])
    : Array.isArray(read['items'])
      ? (read['items'] as unknown[])
      : [];
  const itemOf = (index: number): unknown =>
    fixed[index] ?? (Array.isArray(read['items']) ? {} : (read['items'] ?? {}));
  const replace = (next: unknown[]): void => onChange(next.length === 0 && !isRequired ? undefined : next);
  return (
    <fieldset className="group">
      <legend>
        {label || t('form.list')}
        {isRequired ? ' *' : ''}
      </legend>
      {hintOf(read) ? <p className="small quiet">{hintOf(read)}</p> : null}
      {problems[path] ? <p className="problem">{problems[path]}</p> : null}
      {rows.map((row, index) => (
        <div className="row top" key={index}>
          <div className="grow">
            <Value
              schema={itemOf(index)}
              root={root}
              label={`${index + 1}`}
              path={`${path}/${index}`}
              value={row}
              isRequired
              depth={depth + 1}
              problems={problems}
              onChange={(next) => replace(rows.map((each, at) => (at === index ? next : each)))}
            />
          </div>
          <RemoveButton label={`${index + 1}`} onRemove={() => replace(rows.filter((_, at) => at !== index))} />
        </div>
      ))}
      <div>
        <button
          type="button"
          className="button compact"
          onClick={() => replace([...rows, startOf(resolve(itemOf(rows.length), root), root) ?? ''])}
        >
          <Icon name="plus" size={12} />
          {t('form.addItem')}
        </button>
      </div>
    </fieldset>
  );
}

function RemoveButton({ label, onRemove }: { label: string; onRemove(): void }) {
  return (
    <button
      type="button"
      className="button bare icon compact"
      aria-label={t('form.remove', { name: label })}
      onClick={onRemove}
    >
      <Icon name="close" size={12} />
    </button>
  );
}
