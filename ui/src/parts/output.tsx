import { useMemo, useState } from 'react';
import { t } from '../texts/index.ts';
import { BlobParts, partsOf } from './blob-parts.tsx';
import { bytes } from './numbers.ts';
import { downloadText } from './output-file.ts';
import { CopyButton } from './copy.tsx';
import { Icon } from './icon.tsx';

const shownAtFirst = 40_000;

/** Any value as text: strings as they are, the rest as indented JSON. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? String(value));

/** A tool's answer as plain text. Only the beginning of a large one is drawn, so that 5 MB do not freeze the page. */
export function Output({ value, name = 'output' }: { value: unknown; name?: string }) {
  const text = useMemo(() => asText(value), [value]);
  const parts = useMemo(() => partsOf(value), [value]);
  const [shown, setShown] = useState(shownAtFirst);
  const isCut = text.length > shown;
  return (
    <div className="stack tight">
      {parts.length > 0 ? <BlobParts parts={parts} /> : null}
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
