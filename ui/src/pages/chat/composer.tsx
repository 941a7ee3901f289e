import { useEffect, useImperativeHandle, useRef, useState, type Ref } from 'react';
import { messageOf } from '../../api/errors.ts';
import { usePalette } from '../../palette/palette-host.tsx';
import { useDraft } from '../../parts/draft.ts';
import { Icon } from '../../parts/icon.tsx';
import { Note } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';
import { opensPalette } from './plus-trigger.ts';
import { uploadBlob } from './send-message.ts';

export interface ComposerHandle {
  insert(text: string): void;
}

interface ComposerProps {
  draftName: string;
  isBusy: boolean;
  isDisabled?: boolean;
  placeholder: string;
  ref?: Ref<ComposerHandle>;
  send(message: string, attachments: { blob_id: string; name: string }[], key: string): Promise<void>;
  onStop?: (() => void) | undefined;
}

/** The message box. A message that could not be sent stays in it, and a reload keeps what was typed. */
export function Composer({ draftName, isBusy, isDisabled, placeholder, ref, send, onStop }: ComposerProps) {
  const draft = useDraft(draftName, '');
  const [files, setFiles] = useState<{ blob_id: string; name: string }[]>([]);
  const [uploading, setUploading] = useState(0);
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  const caret = useRef(0);
  const latest = useRef('');
  const attempt = useRef({ of: '', key: '' });
  const palette = usePalette();

  const insert = (text: string): void => {
    const at = Math.min(caret.current, draft.value.length);
    draft.change(draft.value.slice(0, at) + text + draft.value.slice(at));
    caret.current = at + text.length;
    requestAnimationFrame(() => {
      box.current?.focus();
      box.current?.setSelectionRange(caret.current, caret.current);
    });
  };
  useImperativeHandle(ref, () => ({ insert }));
  useEffect(() => {
    if (matchMedia('(min-width: 861px)').matches) box.current?.focus();
  }, [draftName]);

  useEffect(() => {
    latest.current = draft.value;
  }, [draft.value]);

  const submit = async (): Promise<void> => {
    const typed = draft.value;
    const message = typed.trim();
    if (message === '' || isSending || uploading > 0) return;
    setSending(true);
    setProblem(undefined);
    // A try that failed may have arrived: the same again is one message, another one is not.
    const of = JSON.stringify([message, files]);
    if (attempt.current.of !== of) attempt.current = { of, key: crypto.randomUUID() };
    try {
      await send(message, files, attempt.current.key);
      attempt.current = { of: '', key: '' };
      setFiles((now) => now.filter((file) => !files.includes(file)));
      // What was typed meanwhile is the next message.
      const rest = latest.current.startsWith(typed) ? latest.current.slice(typed.length).trimStart() : latest.current;
      if (rest === '') draft.clear('');
      else draft.change(rest);
    } catch (error) {
      setProblem(messageOf(error));
    }
    setSending(false);
  };
  const attach = async (input: HTMLInputElement): Promise<void> => {
    const chosen = [...(input.files ?? [])];
    // The same file may be chosen again.
    input.value = '';
    setProblem(undefined);
    setUploading((before) => before + 1);
    try {
      for (const file of chosen) {
        const blob = await uploadBlob(file);
        setFiles((before) => [...before, blob]);
      }
    } catch (error) {
      setProblem(messageOf(error));
    }
    setUploading((before) => before - 1);
  };
  return (
    <div className="composer">
      <form
        className="composer-box"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <textarea
          ref={box}
          rows={1}
          dir="auto"
          value={draft.value}
          placeholder={placeholder}
          aria-label={t('chat.message')}
          disabled={isDisabled ?? false}
          onChange={(event) => draft.change(event.target.value)}
          onSelect={(event) => (caret.current = event.currentTarget.selectionStart)}
          onKeyDown={(event) => {
            const { selectionStart, value } = event.currentTarget;
            if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              void submit();
            } else if (event.key === '+' && opensPalette(value.slice(0, selectionStart))) {
              event.preventDefault();
              caret.current = selectionStart;
              palette.open({ toolsOnly: true, onLeave: () => insert('+') });
            }
          }}
        />
        <div className="composer-foot">
          <button
            type="button"
            className="button bare icon compact"
            aria-label={t('palette.title')}
            title={`${t('palette.title')} (+)`}
            onClick={() => palette.open({ toolsOnly: true })}
          >
            <Icon name="plus" />
          </button>
          <label className="button bare icon compact" style={{ position: 'relative' }} title={t('chat.attach')}>
            <Icon name="paperclip" />
            <input
              type="file"
              multiple
              className="only-read"
              aria-label={t('chat.attach')}
              onChange={(event) => void attach(event.target)}
            />
          </label>
          {files.map((file, index) => (
            <span className="badge" key={file.blob_id}>
              {file.name}
              <button
                type="button"
                className="button bare icon compact"
                style={{ width: 16, height: 16 }}
                aria-label={t('form.remove', { name: file.name })}
                onClick={() => setFiles(files.filter((_, at) => at !== index))}
              >
                <Icon name="close" size={10} />
              </button>
            </span>
          ))}
          {uploading > 0 ? (
            <span className="badge info live" role="status">
              {t('chat.uploading')}
            </span>
          ) : null}
          <span className="grow tiny faint cut">{t('chat.keys')}</span>
          {isBusy && onStop ? (
            <button type="button" className="button compact" onClick={onStop}>
              <Icon name="stop" size={12} />
              {t('chat.stop')}
            </button>
          ) : null}
          <button
            className="button primary compact"
            disabled={isSending || uploading > 0 || draft.value.trim() === ''}
            aria-label={t('chat.send')}
          >
            <Icon name="send" size={14} />
          </button>
        </div>
      </form>
      {problem ? (
        <div className="chat-flow" style={{ padding: '8px 0 0' }}>
          <Note tone="bad">{problem}</Note>
        </div>
      ) : null}
    </div>
  );
}
