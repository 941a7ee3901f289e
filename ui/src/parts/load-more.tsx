import { t } from '../texts/index.ts';

interface Pages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage(): Promise<unknown>;
}

/** The end of a paged list: one more page, as long as there is one. */
export function LoadMore({ pages }: { pages: Pages }) {
  if (!pages.hasNextPage) return null;
  return (
    <div className="card-foot">
      <button className="button compact" onClick={() => void pages.fetchNextPage()} disabled={pages.isFetchingNextPage}>
        {t('common.loadMore')}
      </button>
    </div>
  );
}
