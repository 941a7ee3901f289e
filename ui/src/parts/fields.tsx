import {
  useId,
  useState,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react';
import { Switch as Radix } from 'radix-ui';
import { Icon } from './icon.tsx';

interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  problem?: string | undefined;
  isRequired?: boolean;
  /** Gets the ids to wire label, hint and problem to the control. */
  children(control: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }): ReactNode;
}

/** A labelled control; the problem is read out with it and stands beside it. */
export function Field({ label, hint, problem, isRequired, children }: FieldProps) {
  const id = useId();
  const described = [hint ? `${id}h` : '', problem ? `${id}p` : ''].filter(Boolean).join(' ');
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
        {isRequired ? (
          <span className="must" aria-hidden="true">
            *
          </span>
        ) : null}
      </label>
      {children({
        id,
        ...(described ? { 'aria-describedby': described } : {}),
        ...(problem ? { 'aria-invalid': true } : {}),
      })}
      {problem ? (
        <span className="problem" id={`${id}p`} role="alert">
          {problem}
        </span>
      ) : null}
      {hint ? (
        <span className="hint" id={`${id}h`}>
          {hint}
        </span>
      ) : null}
    </div>
  );
}

type Common = {
  label: ReactNode;
  hint?: ReactNode;
  problem?: string | undefined;
  onText(text: string): void;
  value: string;
};

type Text<Element> = Common & Omit<InputHTMLAttributes<Element> & TextareaHTMLAttributes<Element>, 'value'>;

export const TextField = (props: Text<HTMLInputElement>) => <TypedField as="input" {...props} />;
export const AreaField = (props: Text<HTMLTextAreaElement>) => <TypedField as="textarea" {...props} />;

type Typed = Text<HTMLInputElement> | Text<HTMLTextAreaElement>;

function TypedField({
  as: Control,
  label,
  hint,
  problem,
  onText,
  className,
  ...rest
}: Typed & { as: 'input' | 'textarea' }) {
  const given = rest as object;
  return (
    <Field label={label} hint={hint} problem={problem} isRequired={rest.required}>
      {(control) => (
        <Control
          {...given}
          {...control}
          className={`${Control} ${className ?? ''}`}
          onChange={(event: { target: { value: string } }) => onText(event.target.value)}
        />
      )}
    </Field>
  );
}

export function SelectField({
  label,
  hint,
  problem,
  onText,
  options,
  ...rest
}: Common & { options: readonly (readonly [value: string, label: string])[] } & Omit<
    SelectHTMLAttributes<HTMLSelectElement>,
    'value'
  >) {
  return (
    <Field label={label} hint={hint} problem={problem} isRequired={rest.required}>
      {(control) => (
        <select {...rest} {...control} className="select" onChange={(event) => onText(event.target.value)}>
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Switch({
  label,
  isOn,
  onTurn,
  isDisabled,
}: {
  label: string;
  isOn: boolean;
  onTurn(isOn: boolean): void;
  isDisabled?: boolean;
}) {
  return (
    <Radix.Root
      className="switch"
      checked={isOn}
      onCheckedChange={onTurn}
      disabled={isDisabled ?? false}
      aria-label={label}
      title={label}
    >
      <Radix.Thumb className="switch-thumb" />
    </Radix.Root>
  );
}

/** What is searched for stands in the address of the page, which must still open with it. */
const longestSearch = 300;

export function SearchField({
  label,
  value,
  onText,
  autoFocus,
}: {
  label: string;
  value: string;
  onText(text: string): void;
  autoFocus?: boolean;
}) {
  // The value may come back later than the next key, by way of the address: until one leaves the box, what is typed counts.
  const [typed, setTyped] = useState<string>();
  return (
    <label className="search">
      <Icon name="search" />
      <input
        className="input"
        type="search"
        maxLength={longestSearch}
        value={typed ?? value}
        placeholder={label}
        aria-label={label}
        autoFocus={autoFocus ?? false}
        onBlur={() => setTyped(undefined)}
        onChange={(event) => {
          setTyped(event.target.value);
          onText(event.target.value);
        }}
      />
    </label>
  );
}

/** A few choices side by side, one of them taken. */
export function Segmented<T extends string>({
  label,
  value,
  options,
  onPick,
}: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onPick(value: T): void;
}) {
  return (
    <div className="segmented" role="group" aria-label={label}>
      {options.map(([each, text]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => onPick(each)}>
          {text}
        </button>
      ))}
    </div>
  );
}
