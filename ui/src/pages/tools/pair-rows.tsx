import { Icon } from '../../parts/icon.tsx';
import { t } from '../../texts/index.ts';
import type { Pair } from './editor-state.ts';
import type { Origins } from './placeholders.ts';
import { Legend, TemplateBox } from './template-input.tsx';

interface PairRowsProps {
  label: string;
  pairs: Pair[];
  origins: Origins;
  problem?: string | undefined;
  add: string;
  onChange(pairs: Pair[]): void;
}

/** Headers or query parameters as rows of name and value. */
export function PairRows({ label, pairs, origins, problem, add, onChange }: PairRowsProps) {
  const set = (index: number, pair: Pair): void => onChange(pairs.map((each, at) => (at === index ? pair : each)));
  return (
    <div className="field" role="group" aria-label={label}>
      <span className="label">{label}</span>
      <div className="pairs">
        {pairs.map(([name, value, ...kind], index) => (
          <div className="pair" key={index}>
            <input
              className="input mono"
              aria-label={t('pairs.name', { label, number: index + 1 })}
              value={name}
              spellCheck={false}
              onChange={(event) => set(index, [event.target.value, value, ...kind])}
            />
            <TemplateBox
              label={t('pairs.value', { label, number: index + 1 })}
              value={value}
              origins={origins}
              onText={(next) => set(index, [name, next, ...kind])}
            />
            <button
              type="button"
              className="button bare icon"
              aria-label={t('form.remove', { name: name || String(index + 1) })}
              onClick={() => onChange(pairs.filter((_, at) => at !== index))}
            >
              <Icon name="close" size={13} />
            </button>
          </div>
        ))}
      </div>
      <div>
        <button type="button" className="button compact" onClick={() => onChange([...pairs, ['', '']])}>
          <Icon name="plus" size={12} />
          {add}
        </button>
      </div>
      {problem ? (
        <span className="problem" role="alert">
          {problem}
        </span>
      ) : null}
      <Legend text={pairs.map(([, value]) => value).join(' ')} origins={origins} />
    </div>
  );
}
