import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { toolSearch } from '../../api/queries.ts';
import type { ToolView } from '../../api/shapes.ts';
import { Diff } from '../../editors/editor.tsx';
import { SelectField } from '../../parts/fields.tsx';
import { Card, Skeleton, Trouble } from '../../parts/page.tsx';
import { When } from '../../parts/when.tsx';
import { t } from '../../texts/index.ts';
import { bodyOf } from './tool-body.ts';

const asBody = (tool: ToolView): string => JSON.stringify(bodyOf(tool), null, 2);

/** All versions of one tool, newest first, and what differs between this one and another. */
export function Versions({ tool }: { tool: ToolView }) {
  const list = useInfiniteQuery(toolSearch(`${tool.bundleSlug} ${tool.slug}`, true, 256));
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const pages = list.data?.pages.length ?? 0;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && pages < 20) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, pages]);
  const versions = (list.data?.pages.flatMap((page) => page.tools) ?? [])
    .filter((each) => each.bundleID === tool.bundleID && each.slug === tool.slug)
    .sort((a, b) => b.createdAt.localeCompare(a.createdAt));
  const others = versions.filter((each) => each.id !== tool.id);
  const [otherId, setOtherId] = useState('');
  const other = others.find((each) => each.id === otherId) ?? others[0];
  if (!list.data)
    return (
      <Card isPlain>
        {list.isError ? <Trouble error={list.error} retry={() => void list.refetch()} /> : <Skeleton rows={3} />}
      </Card>
    );
  return (
    <div className="stack">
      <Card isPlain>
        <ul className="rows">
          {versions.map((each) => (
            <li key={each.id} className="item keep">
              <div className="row wrap">
                <Link
                  className="name"
                  to="/tools/$bundleID/$slug/$version"
                  params={{ bundleID: each.bundleID, slug: each.slug, version: each.version }}
                >
                  {each.version}
                </Link>
                {each.id === tool.id ? <span className="badge accent">{t('versions.this')}</span> : null}
                {each.isEnabled ? null : <span className="badge">{t('common.off')}</span>}
              </div>
              <span className="tiny quiet">
                <When at={each.createdAt} />
              </span>
            </li>
          ))}
        </ul>
      </Card>
      {other ? (
        <Card title={t('versions.compare')}>
          <SelectField
            label={t('versions.with')}
            value={other.id}
            options={others.map((each) => [each.id, each.version] as const)}
            onText={setOtherId}
          />
          {asBody(other) === asBody(tool) ? (
            <p className="quiet">{t('versions.same')}</p>
          ) : other.createdAt < tool.createdAt ? (
            <Diff before={asBody(other)} after={asBody(tool)} label={t('versions.compare')} />
          ) : (
            <Diff before={asBody(tool)} after={asBody(other)} label={t('versions.compare')} />
          )}
        </Card>
      ) : (
        <p className="quiet">{t('versions.only')}</p>
      )}
    </div>
  );
}
