import { useState } from 'react';
import { messageOf } from '../api/errors.ts';
import { signIn } from '../api/signin.ts';
import { TextField } from '../parts/fields.tsx';
import { t } from '../texts/index.ts';

/** Takes a sign-in link, its code, or a token. */
export function SignInForm({ onDone, problem: first }: { onDone(): void; problem?: string | undefined }) {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<string | undefined>(first);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn(text);
      onDone();
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label={t('signin.field')}
        hint={t('signin.hint')}
        problem={problem}
        value={text}
        onText={setText}
        type="password"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        required
      />
      <button className="button primary" disabled={isBusy || text.trim() === ''}>
        {t('signin.action')}
      </button>
    </form>
  );
}
