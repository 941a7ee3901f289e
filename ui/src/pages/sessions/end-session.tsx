import { own } from '../../api/client.ts';
import { queries } from '../../api/queries.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { t } from '../../texts/index.ts';

/** Asks before an agent is stopped with all that it started. */
export function EndSession({ sessionId, onClose }: { sessionId: string; onClose(): void }) {
  return (
    <Confirm
      title={t('sessions.endTitle')}
      action={t('sessions.end')}
      onClose={onClose}
      run={async () => {
        await own('session_end', { session_id: sessionId });
        await queries.invalidateQueries({ queryKey: ['session'] });
      }}
    >
      <p>{t('sessions.endAbout')}</p>
    </Confirm>
  );
}
