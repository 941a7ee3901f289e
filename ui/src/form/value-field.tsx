import { useState } from 'react';
import { AreaField, Field, SelectField, TextField } from '../parts/fields.tsx';
import { t } from '../texts/index.ts';
import { hintOf, type ReadProps, type ValueFieldProps } from './field-props.ts';
import { ArrayField, ObjectField } from './nested-fields.tsx';
import { choicesOf, fitsKind, kindOf, nameOf, resolve, startOf, variantsOf, type SchemaObject } from './read-schema.ts';

const deepest = 7;

/** The control for one value, chosen by its schema. What no control fits is typed as JSON. */
export function ValueField(props: ValueFieldProps) {
  const read = resolve(props.schema, props.root);
  const kind = props.depth > deepest ? 'any' : kindOf(read);
  switch (kind) {
    case 'choice':
      return <ChoiceField {...props} read={read} />;
    case 'string':
      return <StringField {...props} read={read} />;
    case 'number':
    case 'integer':
      return <NumberField {...props} read={read} />;
    case 'boolean':
      return <BooleanField {...props} read={read} />;
    case 'array':
      return <ArrayField {...props} read={read} Value={ValueField} />;
    case 'object':
      return <ObjectField {...props} read={read} Value={ValueField} />;
    case 'union':
      return <UnionField {...props} read={read} />;
    case 'null':
      return <p className="small quiet">{props.label}: null</p>;
    default:
      return <JsonField {...props} read={read} />;
  }
}

const titleOf = ({ label, read }: ReadProps): string =>
  label || (typeof read['title'] === 'string' ? read['title'] : t('form.value'));

function StringField(props: ReadProps) {
  const { read, value, isRequired, problems, path, onChange } = props;
  const text = typeof value === 'string' ? value : value === undefined ? '' : String(value);
  const isLong =
    text.includes('\n') ||
    text.length > 80 ||
    Number(read['maxLength'] ?? 0) > 200 ||
    /body|message|content|code|markdown|html|prompt/i.test(props.label);
  const common = {
    label: titleOf(props),
    hint: hintOf(read),
    problem: problems[path],
    value: text,
    required: isRequired,
    placeholder: placeholderOf(read),
    onText: (next: string) => onChange(next === '' && !isRequired ? undefined : next),
    spellCheck: false,
    dir: 'auto' as const,
  };
  return isLong ? (
    <AreaField {...common} rows={Math.min(10, Math.max(2, text.split('\n').length))} />
  ) : (
    <TextField {...common} />
  );
}

function NumberField(props: ReadProps) {
  const { read, value, isRequired, problems, path, onChange } = props;
  const [text, setText] = useState(value === undefined ? '' : String(value));
  const shown = typeof value === 'number' && Number(text) !== value ? String(value) : text;
  return (
    <TextField
      label={titleOf(props)}
      hint={hintOf(read)}
      problem={problems[path]}
      value={shown}
      required={isRequired}
      inputMode="decimal"
      placeholder={placeholderOf(read)}
      onText={(next) => {
        setText(next);
        if (next.trim() === '') onChange(undefined);
        else onChange(Number.isNaN(Number(next)) ? next : Number(next));
      }}
    />
  );
}

function BooleanField(props: ReadProps) {
  const { read, value, problems, path, onChange } = props;
  return (
    <SelectField
      label={titleOf(props)}
      hint={hintOf(read)}
      problem={problems[path]}
      value={value === undefined ? '' : String(value)}
      options={[
        ...(props.isRequired && value !== undefined ? [] : [['', t('form.unset')] as const]),
        ['true', 'true'],
        ['false', 'false'],
      ]}
      onText={(next) => onChange(next === '' ? undefined : next === 'true')}
    />
  );
}

function ChoiceField(props: ReadProps) {
  const { read, value, isRequired, problems, path, onChange } = props;
  const choices = choicesOf(read);
  const at = choices.findIndex((each) => JSON.stringify(each) === JSON.stringify(value));
  return (
    <SelectField
      label={titleOf(props)}
      hint={hintOf(read)}
      problem={problems[path]}
      required={isRequired}
      value={String(at)}
      options={[
        ...(at < 0 || !isRequired ? [['-1', t('form.unset')] as const] : []),
        ...choices.map(
          (each, index) => [String(index), typeof each === 'string' ? each : JSON.stringify(each)] as const,
        ),
      ]}
      onText={(next) => onChange(next === '-1' ? undefined : choices[Number(next)])}
    />
  );
}

function UnionField(props: ReadProps) {
  const { read, root, value, onChange, label } = props;
  const variants = variantsOf(read).map((each) => resolve(each, root));
  const [picked, setPicked] = useState(() =>
    Math.max(
      0,
      variants.findIndex((each) => fitsKind(value, kindOf(each))),
    ),
  );
  const current = variants[picked] ?? {};
  return (
    <fieldset
      className={props.depth === 0 && !label ? 'stack' : 'group'}
      style={props.depth === 0 && !label ? { border: 0, padding: 0 } : undefined}
    >
      {label ? <legend>{label}</legend> : null}
      {hintOf(read) ? <p className="small quiet">{hintOf(read)}</p> : null}
      <SelectField
        label={t('form.variant')}
        value={String(picked)}
        options={variants.map((each, index) => [String(index), nameOf(each, index)] as const)}
        onText={(next) => {
          setPicked(Number(next));
          onChange(startOf(variants[Number(next)] ?? {}, root));
        }}
      />
      <ValueField
        key={picked}
        {...props}
        schema={current}
        label={label ? t('form.value') : ''}
        depth={props.depth + 1}
      />
    </fieldset>
  );
}

/** Free JSON for schemas that say nothing about their type; half-typed text stays until it is valid. */
function JsonField(props: ReadProps) {
  const { read, value, problems, path, isRequired, onChange } = props;
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2));
  const [problem, setProblem] = useState<string>();
  return (
    <Field
      label={titleOf(props)}
      hint={hintOf(read) ?? t('form.anyHint')}
      problem={problem ?? problems[path]}
      isRequired={isRequired}
    >
      {(control) => (
        <textarea
          {...control}
          className="textarea mono"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            const next = event.target.value;
            setText(next);
            setProblem(undefined);
            if (next.trim() === '') return onChange(undefined);
            try {
              onChange(JSON.parse(next));
            } catch {
              if (/^[[{"]/.test(next.trim())) setProblem(t('form.notJson'));
              else onChange(next);
            }
          }}
        />
      )}
    </Field>
  );
}

function placeholderOf(read: SchemaObject): string | undefined {
  const examples = read['examples'];
  const shown = 'default' in read ? read['default'] : Array.isArray(examples) ? examples[0] : undefined;
  return shown === undefined ? undefined : typeof shown === 'string' ? shown : JSON.stringify(shown);
}
