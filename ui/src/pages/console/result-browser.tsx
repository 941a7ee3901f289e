import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { own } from '../../api/client.ts';
import { SearchField } from '../../parts/fields.tsx';
import { Card, Note } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';

const pageLines = 50;

/** Names of stored results in an answer. */
export const handlesIn = (text: string): string[] =>
  [...new Set([...text.matchAll(/"?handle"?\s*[:=]\s*["']([\w-]{8,64})["']/g)].map((match) => match[1] ?? ''))].slice(
    0,
    5,
  );

/** A stored result, page by page or by search. */
export function ResultBrowser({ handle }: { handle: string }) {
  const [offset, setOffset] = useState(1);
  const [search, setSearch] = useState('');
  const page = useQuery({
    queryKey: ['result', handle, offset, search],
    queryFn: ({ signal }) =>
      own<ResultPage>('ot_result', { handle, offset, limit: pageLines, ...(search ? { search } : {}) }, signal),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const total = page.data?.matched_lines ?? page.data?.total_lines ?? 0;
  return (
    <Card
      title={
        <div className="stack tight">
          <h2>{t('console.stored')}</h2>
          <code className="tiny faint">{handle}</code>
        </div>
      }
      actions={
        <SearchField
          label={t('console.searchResult')}
          value={search}
          onText={(next) => {
            setSearch(next);
            setOffset(1);
          }}
        />
      }
    >
      {page.isError ? <Note tone="bad">{page.error.message}</Note> : null}
      {page.data ? (
        <pre className="out" dir="auto" tabIndex={0}>
          {page.data.lines.join('\n')}
        </pre>
      ) : null}
      <div className="row between">
        <button
          className="button compact"
          disabled={offset <= 1}
          onClick={() => setOffset(Math.max(1, offset - pageLines))}
        >
          {t('console.before')}
        </button>
        <span className="small quiet number">
          {total === 0
            ? page.data && t('common.nothingFound')
            : t('console.lines', { from: offset, to: Math.min(offset + pageLines - 1, total), total })}
        </span>
        <button
          className="button compact"
          disabled={offset + pageLines > total}
          onClick={() => setOffset(offset + pageLines)}
        >
          {t('console.after')}
        </button>
      </div>
    </Card>
  );
}

interface ResultPage {
  lines: string[];
  total_lines: number;
  matched_lines?: number;
}
