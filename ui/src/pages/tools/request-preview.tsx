import { useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { own } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import type { ToolView } from '../../api/shapes.ts';
import { Card, Note } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';

interface Preview {
  method: string;
  url: string;
  headers?: Record<string, string>;
  body?: unknown;
  secrets?: { name: string; isSet: boolean }[];
}

/** The request as it will be sent, secrets masked by the server; filled in again as the arguments change. */
export function RequestPreview({ tool, args }: { tool: ToolView; args: Record<string, unknown> }) {
  const wanted = useDeferredValue(args);
  const isReady = requiredOf(tool).every((name) => wanted[name] !== undefined && wanted[name] !== '');
  const preview = useQuery({
    queryKey: ['tools', 'preview', tool.id, wanted],
    queryFn: ({ signal }) =>
      own<Preview>(
        'preview_request',
        { bundle_id: tool.bundleID, slug: tool.slug, version: tool.version, args: wanted },
        signal,
      ),
    enabled: isReady,
    retry: false,
    placeholderData: (before) => before,
  });
  return (
    <Card title={t('tester.request')}>
      {isReady ? null : <p className="quiet small">{t('tester.previewLater')}</p>}
      {isReady && preview.error ? <Note>{messageOf(preview.error)}</Note> : null}
      {isReady && preview.data && !preview.error ? (
        <pre className="out" tabIndex={0}>
          {written(preview.data)}
        </pre>
      ) : null}
      {preview.isLoading ? <pre className="out">…</pre> : null}
      {(preview.data?.secrets ?? [])
        .filter((secret) => !secret.isSet)
        .map((secret) => (
          <Note key={secret.name} tone="warn">
            {t('tester.secretMissing', { name: secret.name })}
          </Note>
        ))}
      <p className="small faint">{t('tester.masked')}</p>
    </Card>
  );
}

const requiredOf = (tool: ToolView): string[] => (tool.argSchema as { required?: string[] }).required ?? [];

function written({ method, url, headers, body }: Preview): string {
  const lines = [`${method} ${url}`, ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`)];
  if (body !== undefined && body !== null)
    lines.push('', typeof body === 'string' ? body : JSON.stringify(body, null, 2));
  return lines.join('\n');
}
