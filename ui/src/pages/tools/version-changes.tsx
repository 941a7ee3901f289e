import { useMemo } from 'react';
import type { ToolView } from '../../api/shapes.ts';
import { Diff } from '../../editors/editor.tsx';
import { Card } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';
import { bodyFrom, type ToolDraft } from './editor-state.ts';
import { bodyOf } from './tool-body.ts';

/** What a new version would change against the stored one. */
export function VersionChanges({ before, draft }: { before: ToolView; draft: ToolDraft }) {
  const after = useMemo(() => {
    try {
      return JSON.stringify(bodyFrom(draft), null, 2);
    } catch {
      return undefined;
    }
  }, [draft]);
  const old = JSON.stringify({ ...bodyOf(before), isEnabled: draft.isEnabled }, null, 2);
  return (
    <Card title={t('tool.changes', { version: before.version })}>
      {after === undefined ? (
        <p className="quiet small">{t('tool.changesLater')}</p>
      ) : after === old ? (
        <p className="quiet small">{t('tool.changesNone')}</p>
      ) : (
        <Diff before={old} after={after} label={t('tool.changes', { version: before.version })} />
      )}
    </Card>
  );
}
