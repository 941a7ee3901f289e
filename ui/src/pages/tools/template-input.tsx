import { useRef, type ReactNode } from 'react';
import type { Detail } from '../../api/errors.ts';
import { Field } from '../../parts/fields.tsx';
import { t } from '../../texts/index.ts';
import { problemAt } from './editor-state.ts';
import { piecesOf, type Origins } from './placeholders.ts';

interface TemplateProps {
  value: string;
  origins: Origins;
  onText(text: string): void;
  label?: string;
  placeholder?: string;
  isMultiline?: boolean;
  control?: object;
}

/** A text box that marks placeholders by where their value comes from. The text stays exactly as typed. */
export function TemplateBox({ value, origins, onText, label, placeholder: hint, isMultiline, control }: TemplateProps) {
  const backdrop = useRef<HTMLDivElement>(null);
  return (
    <span className="template">
      <div className="backdrop" ref={backdrop} aria-hidden="true">
        {piecesOf(value, origins).map((piece, index) =>
          piece.origin ? (
            <mark key={index} className={piece.origin}>
              {piece.text}
            </mark>
          ) : (
            <span key={index}>{piece.text}</span>
          ),
        )}
      </div>
      <textarea
        {...control}
        className="textarea"
        rows={isMultiline ? 5 : 1}
        spellCheck={false}
        value={value}
        placeholder={hint}
        aria-label={label}
        onScroll={(event) => {
          if (backdrop.current) backdrop.current.scrollTop = event.currentTarget.scrollTop;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !isMultiline) event.preventDefault();
        }}
        onChange={(event) => onText(isMultiline ? event.target.value : event.target.value.replace(/[\r\n]+/g, ''))}
      />
    </span>
  );
}

export function TemplateField({
  path,
  details,
  hint,
  label,
  ...box
}: TemplateProps & { path: string; details: Detail[]; hint?: ReactNode; label: string }) {
  return (
    <Field
      label={label}
      hint={hint ?? <Legend text={box.value} origins={box.origins} />}
      problem={problemAt(details, path)}
    >
      {(control) => <TemplateBox {...box} control={control} />}
    </Field>
  );
}

/** Says in words what the colours say. */
export function Legend({ text, origins }: { text: string; origins: Origins }) {
  const names = new Map(
    piecesOf(text, origins).flatMap((piece) => (piece.origin ? [[piece.name ?? '', piece.origin] as const] : [])),
  );
  if (names.size === 0) return null;
  const tone = { argument: 'accent', secret: 'violet', unknown: 'bad' } as const;
  return (
    <span className="row wrap">
      {[...names].map(([name, origin]) => (
        <span key={name} className={`badge ${tone[origin]}`} title={t(`origin.${origin}.about`)}>
          <code>{name}</code> {t(`origin.${origin}`)}
        </span>
      ))}
    </span>
  );
}
