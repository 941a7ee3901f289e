import { Fragment, type ReactNode } from 'react';
import { Icon } from './icon.tsx';
import { Output } from './output.tsx';

const longestProse = 60_000;

/**
 * Text of agents and tools, which nobody has checked: a small part of Markdown becomes elements, never HTML.
 * Images are shown as links and never loaded; every link shows the host it leads to.
 */
export function Prose({ text }: { text: string }) {
  if (text.length > longestProse) return <Output value={text} name="message" />;
  return (
    <>
      {text
        .split(/^```/m)
        .map((part, index) =>
          index % 2 === 1 ? <Fence key={index} text={part} /> : <Paragraphs key={index} text={part} />,
        )}
    </>
  );
}

function Fence({ text }: { text: string }) {
  const firstLine = text.indexOf('\n');
  const code = firstLine < 0 ? text : text.slice(firstLine + 1);
  return (
    <pre className="out" dir="auto" tabIndex={0}>
      {code.replace(/\n$/, '')}
    </pre>
  );
}

function Paragraphs({ text }: { text: string }) {
  return text
    .split(/\n{2,}/)
    .filter((block) => block.trim() !== '')
    .map((block, index) => {
      const lines = block.split('\n').filter((line) => line !== '');
      const marks = lines.map((line) => /^\s*([-*]|(\d{1,9})\.)\s+/.exec(line));
      if (marks.every((mark) => mark !== null)) {
        const number = marks[0]?.[2];
        const List = number ? 'ol' : 'ul';
        return (
          <List key={index} dir="auto" {...(number ? { start: Number(number) } : {})}>
            {lines.map((line, at) => (
              <li key={at}>
                <Inline text={line.slice(marks[at]?.[0].length)} />
              </li>
            ))}
          </List>
        );
      }
      return (
        <p key={index} dir="auto">
          {lines.map((line, at) => (
            <Fragment key={at}>
              {at > 0 ? <br /> : null}
              <Line text={line} />
            </Fragment>
          ))}
        </p>
      );
    });
}

function Line({ text }: { text: string }) {
  const heading = /^#{1,6}\s+/.exec(text);
  if (!heading) return <Inline text={text} />;
  return (
    <strong>
      <Inline text={text.slice(heading[0].length)} />
    </strong>
  );
}

// Every repeat is bounded: a line of a hundred thousand brackets must not freeze the page.
const marks =
  /(`[^`\n]{1,2000}`)|(\*\*[^*\n]{1,500}\*\*)|!?\[([^\]\n]{0,300})\]\((https?:\/\/[^\s)]{1,2000})\)|(https?:\/\/[^\s<>"')\]]{1,2000})/g;

function Inline({ text }: { text: string }) {
  const out: ReactNode[] = [];
  let last = 0;
  for (const match of text.matchAll(marks)) {
    out.push(text.slice(last, match.index));
    const [whole, code, bold, label, address, bare] = match;
    if (code) out.push(<code key={match.index}>{code.slice(1, -1)}</code>);
    else if (bold) out.push(<strong key={match.index}>{bold.slice(2, -2)}</strong>);
    else out.push(<OutsideLink key={match.index} address={address ?? bare ?? ''} label={label} />);
    last = match.index + whole.length;
  }
  out.push(text.slice(last));
  return <>{out}</>;
}

export function OutsideLink({ address, label }: { address: string; label?: string | undefined }) {
  const host = hostOf(address);
  if (!host) return <>{label || address}</>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow" title={address}>
      {label && label !== address ? `${label} ` : ''}
      <span className="faint">
        {label && label !== address ? `(${host})` : address} <Icon name="external" size={11} />
      </span>
    </a>
  );
}

function hostOf(address: string): string | undefined {
  try {
    const url = new URL(address);
    return url.protocol === 'https:' || url.protocol === 'http:' ? url.host : undefined;
  } catch {
    return undefined;
  }
}
