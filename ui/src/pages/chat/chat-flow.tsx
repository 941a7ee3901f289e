import { useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import { t } from '../../texts/index.ts';
import type { Transcript } from './transcript.ts';

const motion = (): ScrollBehavior => (matchMedia('(prefers-reduced-motion: reduce)').matches ? 'instant' : 'smooth');

const sizeOf = ({ clientWidth, clientHeight }: HTMLElement): string => `${clientWidth}x${clientHeight}`;

/** The scrolling part: stays at the newest unless one has scrolled up, and is where it was after a reload. */
export function Flow({
  transcript,
  sessionId,
  children,
}: {
  transcript: Transcript;
  sessionId: string;
  children: ReactNode;
}) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const size = useRef('');
  const [showJump, setShowJump] = useState(false);
  const memory = `oubliette.scroll.${sessionId}`;
  // What was said earlier comes in above what somebody is reading.
  const first = transcript.items[0]?.index ?? -1;
  const top = useRef({ first, fromEnd: 0 });
  const wanted = useRef<number | undefined>(Number(sessionStorage.getItem(memory)) || undefined);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (wanted.current !== undefined && element.scrollHeight - element.clientHeight >= wanted.current) {
      element.scrollTop = wanted.current;
      wanted.current = undefined;
      isAtEnd.current = false;
    } else if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    else if (first < top.current.first) element.scrollTop = element.scrollHeight - top.current.fromEnd;
    top.current.first = first;
  }, [transcript, children, first]);
  // A turned phone, another window size, a longer message below: whoever was at the newest stays there.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const sizes = new ResizeObserver(() => {
      size.current = sizeOf(element);
      if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    });
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);
  return (
    <div
      className="chat-scroll"
      ref={box}
      tabIndex={0}
      role="log"
      aria-label={t('chat.conversation')}
      onScroll={(event) => {
        // Moved by a new size, not by the person.
        if (size.current !== sizeOf(event.currentTarget)) return;
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        top.current.fromEnd = scrollHeight - scrollTop;
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 60;
        setShowJump(!isAtEnd.current);
        if (isAtEnd.current) sessionStorage.removeItem(memory);
        else sessionStorage.setItem(memory, String(Math.round(scrollTop)));
      }}
    >
      <div className="chat-flow">{children}</div>
      {showJump ? (
        <div className="jump">
          <button
            className="button compact"
            onClick={() => box.current?.scrollTo({ top: box.current.scrollHeight, behavior: motion() })}
          >
            {t('chat.jump')}
          </button>
        </div>
      ) : null}
    </div>
  );
}
