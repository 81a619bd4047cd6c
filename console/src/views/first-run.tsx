import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { importParts } from '../lib/import-parts.js';
import { Problem } from '../ui/notices.js';
import { useTask } from '../ui/use-load.js';

/** What to do with an empty database, and a way to fill it. */
export function FirstRun({ onImported }: { readonly onImported: () => void }) {
  return (
    <section class="card" aria-labelledby="first-run">
      <h2 id="first-run">No memories yet</h2>
      <ol>
        <li>
          Connect an agent: <code>mnemesh install</code>, or any MCP client with <code>mnemesh mcp</code>.
        </li>
        <li>
          Or store the first one: <code>mnemesh store "We deploy on Sundays"</code>.
        </li>
        <li>Or import what an export of another node holds:</li>
      </ol>
      <Import onImported={onImported} />
    </section>
  );
}

/** What is told of an import. */
const COUNTED = ['imported', 'unchanged', 'links', 'failed'];

/** Imports a document that `mnemesh export` wrote. */
function Import({ onImported }: { readonly onImported: () => void }) {
  const [told, setTold] = useState('');
  const task = useTask(async (file: File) => {
    setTold('');
    const parts = importParts(await file.text());
    if (parts === null) throw new Error('this file is no export of mnemesh: "mnemesh export" writes one');
    const sums = new Map<string, number>();
    for (const part of parts) {
      const answer = await call('memory_import', part as Parameters<typeof call<'memory_import'>>[1]);
      for (const [name, value] of Object.entries(answer))
        if (typeof value === 'number') sums.set(name, (sums.get(name) ?? 0) + value);
      setTold(COUNTED.map((name) => `${sums.get(name) ?? 0} ${name}`).join(', '));
    }
    onImported();
  });
  return (
    <div class="field">
      <label for="import-file">Export of mnemesh (JSON); an admin imports</label>
      <input
        id="import-file"
        type="file"
        accept="application/json,.json"
        disabled={task.isRunning}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file !== undefined) task.run(file);
        }}
      />
      {told !== '' && <p role="status">Imported: {told}</p>}
      <Problem error={task.error} />
    </div>
  );
}
