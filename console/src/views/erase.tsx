import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { addressOf } from '../lib/route.js';
import { agent } from '../session.js';
import { announce, Problem } from '../ui/notices.js';
import { Dialog, Form, Tick } from '../ui/parts.js';
import { useTask } from '../ui/use-load.js';
import { ErasureStatus } from './erasure-status.js';

/** Erases a memory after a question, then shows on which nodes it is gone. */
export function Erase({
  id,
  title,
  owner,
  version,
  onClose,
  onLeft,
}: {
  readonly id: string;
  readonly title: string | null;
  /** Null where nobody knows. */
  readonly owner: string | null;
  /** Null for one in the archive. */
  readonly version: number | null;
  readonly onClose: () => void;
  /** After the erasure, when the dialog is closed. */
  readonly onLeft: () => void;
}) {
  const [isSure, setSure] = useState(false);
  const [derived, setDerived] = useState<readonly string[] | null>(null);
  const erase = useTask(async () => {
    const guard = version === null ? {} : { expected_version: version };
    const answer = await call('memory_delete', { id, erase: true, ...guard });
    announce('Erased');
    setDerived(answer.derived ?? []);
  });
  if (derived !== null) {
    return (
      <Dialog title="Erased" onClose={onLeft}>
        <ErasureStatus id={id} />
        {derived.length > 0 && (
          <>
            <p class="warm">Made from it, and still there. Erase them too where they say the same:</p>
            <ul>
              {derived.map((each) => (
                <li key={each}>
                  <a href={addressOf('memories', each)}>
                    <code>{each}</code>
                  </a>
                </li>
              ))}
            </ul>
          </>
        )}
        <div class="row">
          <button type="button" class="main" onClick={onLeft}>
            Close
          </button>
          <a href={addressOf('erasures')}>All erasures</a>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={title === null ? 'Erase this memory?' : `Erase “${title}”?`} onClose={onClose}>
      <Form label="Erase" onSubmit={() => erase.run()}>
        <p>
          <b>This cannot be undone.</b> On every node of the mesh these go: the text, all earlier versions,
          the copy in the archive, the vectors, and what the log says of it. Its id never lives again,
          whatever is restored or imported.
        </p>
        <p>
          The id, the namespace, and who erased it stay. Copies that other agents made, memories made from it,
          and backups and exports from before are not reached; you will see which ones there are.
        </p>
        {owner !== null && owner !== agent.value && (
          <p class="warm">It belongs to {owner}, and the agent at the top of the page is another one.</p>
        )}
        <Tick label="I know that nothing brings it back" isOn={isSure} onChange={setSure} required />
        <Problem error={erase.error} />
        <div class="row">
          <button type="submit" class="danger" disabled={erase.isRunning || !isSure}>
            {erase.isRunning ? 'Erasing …' : 'Erase everywhere'}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </Form>
    </Dialog>
  );
}
