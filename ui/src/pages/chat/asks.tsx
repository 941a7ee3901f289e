import { useId, useState, type ReactNode } from 'react';
import { own } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { readFree } from '../../form/read-free.ts';
import { Icon } from '../../parts/icon.tsx';
import { Note } from '../../parts/page.tsx';
import { Prose } from '../../parts/prose.tsx';
import { visible } from '../../parts/visible.ts';
import { When } from '../../parts/when.tsx';
import { t } from '../../texts/index.ts';
import { uploadBlob } from './send-message.ts';
import type { Item } from './transcript.ts';

type Permission = Extract<Item, { kind: 'permission' }>;
type Caller = Extract<Item, { kind: 'caller' }>;

const inlineTextBytes = 200_000;

/** The agent wants to do something and asks first. */
export function PermissionCard({ item, sessionId }: { item: Permission; sessionId: string }) {
  const { problem, isBusy, go } = useAnswering();
  if (item.choice !== undefined) {
    const name = item.options.find((option) => option.id === item.choice)?.name;
    const choice = name === undefined ? t(item.choice === 'timeout' ? 'ask.outcome.timeout' : 'ask.cancelled') : name;
    return (
      <Closed isAnswered={name !== undefined}>
        {t('ask.permissionAnswered', { tool: visible(item.tool), choice: visible(choice) })}
      </Closed>
    );
  }
  return (
    <section className="ask" aria-label={t('ask.permission')}>
      <div className="row">
        <Icon name="warn" />
        <strong>{t('ask.permission')}</strong>
      </div>
      <p className="words">{t('ask.permissionAbout', { tool: visible(item.tool) })}</p>
      <div className="row wrap">
        {item.options.map((option, index) => (
          <button
            key={index}
            className={`button ${option.kind?.startsWith('allow') ? 'primary' : ''}`}
            disabled={isBusy}
            onClick={() =>
              void go(() =>
                own('session_answer', { session_id: sessionId, request_id: item.requestId, choice: option.id }),
              )
            }
          >
            {visible(option.name)}
          </button>
        ))}
      </div>
      <Deadline at={item.deadline} />
      {problem ? <Note tone="bad">{problem}</Note> : null}
    </section>
  );
}

/** The agent calls a tool that this page lends: the person is asked here. */
export function CallerCard({ item, sessionId }: { item: Caller; sessionId: string }) {
  const { problem, isBusy, go } = useAnswering();
  if (item.outcome !== undefined)
    return (
      <Closed isAnswered={item.outcome === 'result'}>
        {t('ask.callerAnswered', { tool: item.tool, outcome: t(`ask.outcome.${item.outcome as 'result'}`) })}
      </Closed>
    );
  const send = (answer: CallerAnswer): Promise<unknown> =>
    own('caller_tool_response', { session_id: sessionId, request_id: item.requestId, ...answer });
  const parts = { item, isBusy, send, go, respond: (answer: CallerAnswer) => void go(() => send(answer)) };
  return (
    <section className="ask" aria-label={t('ask.caller')}>
      {item.tool === 'ask_user' ? (
        <Question {...parts} />
      ) : item.tool === 'pick_file' ? (
        <FilePick {...parts} />
      ) : (
        <OtherTool {...parts} />
      )}
      <Deadline at={item.deadline} />
      {problem ? <Note tone="bad">{problem}</Note> : null}
    </section>
  );
}

type CallerAnswer = { result: unknown } | { error: string };

interface Answering {
  item: Caller;
  isBusy: boolean;
  send(answer: CallerAnswer): Promise<unknown>;
  respond(answer: CallerAnswer): void;
  go(run: () => Promise<unknown>): Promise<void>;
}

function Question({ item, isBusy, respond }: Answering) {
  const [text, setText] = useState('');
  const choices = Array.isArray(item.args['choices']) ? (item.args['choices'] as unknown[]).map(String) : [];
  return (
    <>
      <div className="row">
        <Icon name="chat" />
        <strong>{t('ask.question')}</strong>
      </div>
      <div className="bubble agent">
        <Prose text={String(item.args['question'] ?? '')} />
      </div>
      {choices.length > 0 ? (
        <div className="row wrap">
          {choices.map((choice, index) => (
            <button
              key={index}
              className="button"
              disabled={isBusy}
              onClick={() => respond({ result: { answer: choice } })}
            >
              {choice}
            </button>
          ))}
        </div>
      ) : null}
      <form
        className="row top"
        onSubmit={(event) => {
          event.preventDefault();
          respond({ result: { answer: text } });
        }}
      >
        <input
          className="input"
          aria-label={t('ask.answer')}
          placeholder={t('ask.answer')}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button className="button primary" disabled={isBusy || text === ''}>
          {t('ask.send')}
        </button>
        <DeclineButton isBusy={isBusy} respond={respond} />
      </form>
    </>
  );
}

function FilePick({ item, isBusy, respond, send, go }: Answering) {
  const pick = async (input: HTMLInputElement): Promise<void> => {
    const file = input.files?.[0];
    if (!file) return;
    await go(async () => {
      const about = { name: file.name, size: file.size, type: file.type };
      const isText = file.size <= inlineTextBytes && /^(text\/|application\/(json|xml|yaml|csv))|^$/.test(file.type);
      await send({
        result: isText
          ? { ...about, text: await file.text() }
          : { ...about, blob_id: (await uploadBlob(file)).blob_id },
      });
    });
    // After a failure the same file may be chosen again.
    input.value = '';
  };
  return (
    <>
      <div className="row">
        <Icon name="paperclip" />
        <strong>{t('ask.file')}</strong>
      </div>
      <div className="bubble agent">
        <Prose text={String(item.args['prompt'] ?? '')} />
      </div>
      <div className="row wrap">
        <input
          type="file"
          aria-label={t('ask.file')}
          disabled={isBusy}
          accept={typeof item.args['accept'] === 'string' ? item.args['accept'] : undefined}
          onChange={(event) => void pick(event.target)}
        />
        <DeclineButton isBusy={isBusy} respond={respond} />
      </div>
    </>
  );
}

/** A tool that another caller lends; its owner may still answer by hand. */
function OtherTool({ item, isBusy, respond }: Answering) {
  const [text, setText] = useState('');
  const { value, fault } = readFree(text);
  const faultId = useId();
  return (
    <>
      <strong>{t('ask.other', { tool: item.tool })}</strong>
      <pre className="out" tabIndex={0}>
        {JSON.stringify(item.args, null, 2)}
      </pre>
      <form
        className="row top"
        onSubmit={(event) => {
          event.preventDefault();
          if (fault === undefined) respond({ result: value === undefined ? text : value });
        }}
      >
        <input
          className="input mono"
          aria-label={t('ask.answerJson')}
          placeholder={t('ask.answerJson')}
          value={text}
          {...(fault ? { 'aria-invalid': true, 'aria-describedby': faultId } : {})}
          onChange={(event) => setText(event.target.value)}
        />
        <button className="button" disabled={isBusy}>
          {t('ask.send')}
        </button>
        <DeclineButton isBusy={isBusy} respond={respond} />
      </form>
      {fault ? (
        <span className="problem" id={faultId} role="alert">
          {fault}
        </span>
      ) : null}
    </>
  );
}

function DeclineButton({ isBusy, respond }: Pick<Answering, 'isBusy' | 'respond'>) {
  return (
    <button
      type="button"
      className="button bare"
      disabled={isBusy}
      onClick={() => respond({ error: 'The person declined to answer.' })}
    >
      {t('ask.decline')}
    </button>
  );
}

function Deadline({ at }: { at: string }) {
  return (
    <span className="tiny faint">
      {t('ask.deadline')} <When at={at} />
    </span>
  );
}

function Closed({ isAnswered, children }: { isAnswered: boolean; children: ReactNode }) {
  return (
    <div className="ask closed small">
      <Icon name={isAnswered ? 'check' : 'close'} size={14} />
      <span className="words">{children}</span>
    </div>
  );
}

function useAnswering() {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const go = async (run: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await run();
      // Answered: it stays closed for a second answer until the stream says so too.
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return { problem, isBusy, go };
}
