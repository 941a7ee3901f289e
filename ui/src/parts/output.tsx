import { useMemo, useState } from 'react';
import { t } from '../texts/index.ts';
import { bytes } from './numbers.ts';
import { CopyButton } from './copy.tsx';
import { Icon } from './icon.tsx';

const shownAtFirst = 40_000;

/** Any value as text: strings as they are, the rest as indented JSON. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? String(value));

/** A tool's answer as plain text. Only the beginning of a large one is drawn, so that 5 MB do not freeze the page. */
export function Output({ value, name = 'output' }: { value: unknown; name?: string }) {
  const text = useMemo(() => asText(value), [value]);
  const [shown, setShown] = useState(shownAtFirst);
  const isCut = text.length > shown;
  return (
    <div className="stack tight">
      <pre className="out" dir="auto" tabIndex={0} aria-label={t('output.label')}>
        {isCut ? text.slice(0, shown) : text}
      </pre>
      <div className="row wrap">
        {isCut ? (
          <>
            <span className="small quiet">{t('output.cut', { shown: bytes(shown), size: bytes(text.length) })}</span>
            <button className="button compact" onClick={() => setShown(shown * 5)}>
              {t('output.more')}
            </button>
          </>
        ) : null}
        <CopyButton text={text} />
        <button
          className="button bare compact"
          onClick={() => downloadText(`${name}.${typeof value === 'string' ? 'txt' : 'json'}`, text)}
        >
          <Icon name="download" size={13} />
          {t('common.download')}
        </button>
      </div>
    </div>
  );
}

/** Hands a text to the browser as a file. */
export function downloadText(name: string, text: string, type = 'text/plain'): void {
  downloadBlob(name, new Blob([text], { type }));
}

export function downloadBlob(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
