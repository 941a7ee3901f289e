import { useEffect, useState } from 'react';
import { refusal, send } from '../api/client.ts';
import { t } from '../texts/index.ts';
import { bytes } from './numbers.ts';
import { downloadBlob } from './output-file.ts';
import { toastError } from './toasts.tsx';

interface Part {
  blob_id: string;
  mimeType: string;
  size: number;
}

const pictures = /^image\/(png|jpeg|gif|webp|avif)$/;

/** Binary parts of an answer. */
export function partsOf(value: unknown): Part[] {
  const content = (value as { content?: unknown } | null)?.content;
  const all = Array.isArray(content) ? content : [value];
  return all.filter((each): each is Part => typeof (each as Part | null)?.blob_id === 'string').slice(0, 20);
}

/** Binary parts to download; pictures are shown only when asked for, and never as SVG, which can carry script. */
export function BlobParts({ parts }: { parts: Part[] }) {
  return (
    <ul className="stack tight">
      {parts.map((part, index) => (
        <li key={part.blob_id}>
          <OnePart part={part} number={index + 1} />
        </li>
      ))}
    </ul>
  );
}

function OnePart({ part, number }: { part: Part; number: number }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => () => void (address && URL.revokeObjectURL(address)), [address]);
  const load = async (): Promise<Blob> => {
    const response = await send('GET', `/blobs/${encodeURIComponent(part.blob_id)}`);
    if (!response.ok) throw refusal(response, await response.json().catch(() => null));
    return new Blob([await response.arrayBuffer()], {
      type: pictures.test(part.mimeType) ? part.mimeType : 'application/octet-stream',
    });
  };
  const label = t('output.part', { number, type: part.mimeType, size: bytes(part.size) });
  return (
    <div className="stack tight">
      <div className="row wrap small">
        <span className="quiet">{label}</span>
        {pictures.test(part.mimeType) && !address ? (
          <button
            className="button compact"
            onClick={() => void load().then((blob) => setAddress(URL.createObjectURL(blob)), toastError)}
          >
            {t('output.picture')}
          </button>
        ) : null}
        <button
          className="button compact"
          onClick={() => void load().then((blob) => downloadBlob(part.blob_id, blob), toastError)}
        >
          {t('common.download')}
        </button>
      </div>
      {address ? (
        <img src={address} alt={label} style={{ maxWidth: '100%', maxHeight: 420, alignSelf: 'start' }} />
      ) : null}
    </div>
  );
}
