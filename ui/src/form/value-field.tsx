import { useState } from 'react';
import { AreaField, Field, SelectField, TextField } from '../parts/fields.tsx';
import { t } from '../texts/index.ts';
import { hintOf, type ReadProps, type ValueFieldProps } from './field-props.ts';
import { longInteger, tooLong } from './long-integer.ts';
import { ArrayField, ObjectField } from './nested-fields.tsx';
import { readFree } from './read-free.ts';
import { choicesOf, fits, kindOf, nameOf, resolve, startOf, variantsOf, type SchemaObject } from './read-schema.ts';
import { useTyped } from './use-typed.ts';

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
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  // Decided once: a box that becomes another one while somebody types takes the focus away.
  const [isLong, setLong] = useState(
    text.length > 80 ||
      Number(read['maxLength'] ?? 0) > 200 ||
      /body|message|content|code|markdown|html|prompt|sql/i.test(props.label),
  );
  const [isPasted, setPasted] = useState(false);
  if (!isLong && text.includes('\n')) setLong(true);
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
    <AreaField {...common} rows={Math.min(10, Math.max(2, text.split('\n').length))} autoFocus={isPasted} />
  ) : (
    <TextField
      {...common}
      onPaste={(event) => {
        // A box of one line would make one line of several, and say nothing.
        const pasted = event.clipboardData.getData('text/plain').replaceAll('\r\n', '\n');
        if (!pasted.trimEnd().includes('\n')) return;
        event.preventDefault();
        const { selectionStart, selectionEnd } = event.currentTarget;
        setPasted(true);
        onChange(text.slice(0, selectionStart ?? 0) + pasted + text.slice(selectionEnd ?? text.length));
      }}
    />
  );
}

function NumberField(props: ReadProps) {
  const { read, value, isRequired, problems, path, onChange } = props;
  const [text, keep] = useTyped(value, (number) => (number === undefined ? '' : String(number)));
  const long = longInteger(text);
  return (
    <TextField
      label={titleOf(props)}
      hint={hintOf(read)}
      problem={long ? tooLong(long) : problems[path]}
      data-broken={long ? true : undefined}
      value={text}
      required={isRequired}
      inputMode="decimal"
      placeholder={placeholderOf(read)}
      onText={(next) => {
        const number = readNumber(next);
        keep(next, number);
        onChange(number);
      }}
    />
  );
}

/** What is no number, or would become another one, stays the text that it is. */
function readNumber(text: string): number | string | undefined {
  if (text.trim() === '') return undefined;
  return Number.isFinite(Number(text)) && !longInteger(text) ? Number(text) : text;
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
  const { read, root, value, label, isRequired } = props;
  const variants = variantsOf(read).map((each) => resolve(each, root));
  const [picked, keep] = useTyped(value, (now) =>
    Math.max(
      0,
      variants.findIndex((each) => fits(now, each)),
    ),
  );
  const current = variants[picked] ?? {};
  const change = (at: number, next: unknown): void => {
    keep(at, next);
    props.onChange(next);
  };
  return (
    <fieldset
      className={props.depth === 0 && !label ? 'stack' : 'group'}
      style={props.depth === 0 && !label ? { border: 0, padding: 0 } : undefined}
    >
      {label ? (
        <legend>
          {label}
          {isRequired ? ' *' : ''}
        </legend>
      ) : null}
      {hintOf(read) ? <p className="small quiet">{hintOf(read)}</p> : null}
      <SelectField
        label={t('form.variant')}
        value={String(picked)}
        options={variants.map((each, index) => [String(index), nameOf(each, index)] as const)}
        onText={(next) => change(Number(next), startOf(variants[Number(next)] ?? {}, root))}
      />
      {kindOf(current) === 'null' ? null : (
        <ValueField
          key={picked}
          {...props}
          schema={current}
          label={label ? t('form.value') : ''}
          depth={props.depth + 1}
          onChange={(next) => change(picked, next)}
        />
      )}
    </fieldset>
  );
}

/** Free JSON for schemas that say nothing about their type; half-typed text stays, and nothing is sent until it is valid. */
function JsonField(props: ReadProps) {
  const { read, value, problems, path, isRequired, onChange } = props;
  const [text, keep] = useTyped(value, (now) => (now === undefined || now === '' ? '' : JSON.stringify(now, null, 2)));
  const { fault } = readFree(text);
  return (
    <Field
      label={titleOf(props)}
      hint={hintOf(read) ?? t('form.anyHint')}
      problem={fault ?? problems[path]}
      isRequired={isRequired}
    >
      {(control) => (
        <textarea
          {...control}
          className="textarea mono"
          spellCheck={false}
          value={text}
          data-broken={fault ? true : undefined}
          onChange={(event) => {
            const next = readFree(event.target.value);
            keep(event.target.value, next.value);
            onChange(next.value);
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
