import { useState } from 'react';
import { own } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { queries } from '../../api/queries.ts';
import type { Project } from '../../api/shapes.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/fields.tsx';
import { Icon } from '../../parts/icon.tsx';
import { t } from '../../texts/index.ts';

/** Picks the project to talk in, or makes one by its name alone. */
export function ProjectPicker({
  projects,
  picked,
  onPick,
}: {
  projects: Project[];
  picked: Project;
  onPick(projectId: string): void;
}) {
  const [isMaking, setMaking] = useState(false);
  return (
    <div className="row">
      <select
        className="select auto"
        aria-label={t('chat.project')}
        value={picked.id}
        onChange={(event) => onPick(event.target.value)}
      >
        {projects.map((project) => (
          <option key={project.id} value={project.id}>
            {project.name}
          </option>
        ))}
      </select>
      <button className="button" onClick={() => setMaking(true)}>
        <Icon name="plus" size={14} />
        {t('chat.newProject')}
      </button>
      {isMaking ? <ProjectDialog onClose={() => setMaking(false)} onMade={onPick} /> : null}
    </div>
  );
}

export function ProjectDialog({ onClose, onMade }: { onClose(): void; onMade(projectId: string): void }) {
  const [name, setName] = useState('');
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const make = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const project = await own<Project>('project_create', { name });
      await queries.invalidateQueries({ queryKey: ['project'] });
      onMade(project.id);
      onClose();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={t('chat.newProject')}
      about={t('chat.newProjectAbout')}
      onClose={onClose}
      foot={
        <>
          <button className="button" onClick={onClose}>
            {t('common.cancel')}
          </button>
          <button className="button primary" form="project-form" disabled={isBusy || name.trim() === ''}>
            {t('chat.create')}
          </button>
        </>
      }
    >
      <form id="project-form" onSubmit={make}>
        <TextField label={t('chat.projectName')} value={name} onText={setName} problem={problem} autoFocus required />
      </form>
    </Dialog>
  );
}
