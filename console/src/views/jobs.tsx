import { call, type Operations } from '../api.js';
import { valueText } from '../lib/format.js';
import { announce, Problem } from '../ui/notices.js';
import { Table, Time } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';

type Job = Operations['jobs_list']['answer']['jobs'][number];

/** What can be done with a job, by its state. */
const CHANGES = {
  queued: ['pause', 'cancel'],
  running: ['pause', 'cancel'],
  paused: ['resume', 'cancel'],
  failed: ['resume', 'cancel'],
} as const;

type Change = 'pause' | 'resume' | 'cancel';

const WORDS: Readonly<Record<Change, string>> = { pause: 'Pause', resume: 'Resume', cancel: 'Cancel' };

const changesOf = (state: string): readonly Change[] =>
  (CHANGES as Readonly<Record<string, readonly Change[]>>)[state] ?? [];

/** The work that the node does later, with ways to hold it up and to end it. */
export function Jobs() {
  const { value, error, reload } = useLoad('jobs', (signal) => call('jobs_list', { limit: 100 }, { signal }));
  const change = useTask(async (asked: Change, id: string) => {
    const { changed } = await call(`jobs_${asked}`, { id });
    announce(changed === 0 ? 'The job has ended meanwhile' : `${WORDS[asked]}: done`);
    reload();
  });
  return (
    <section class="card" aria-labelledby="jobs">
      <div class="bar">
        <h2 id="jobs">Jobs</h2>
        <button type="button" onClick={reload}>
          Read the jobs again
        </button>
      </div>
      <Problem error={error ?? change.error} />
      {value !== null && (
        <p>
          {Object.entries(value.totals)
            .map(([state, count]) => `${String(count)} ${state}`)
            .join(', ') || 'There is none.'}
        </p>
      )}
      {value !== null && value.count > 0 && (
        <Table<Job>
          label="Jobs"
          rows={value.jobs}
          keyOf={({ id }) => id}
          columns={[
            { name: 'Job', of: ({ id }) => <code>{id}</code> },
            { name: 'Type', of: ({ type }) => type.replaceAll('_', ' ') },
            { name: 'State', of: ({ state }) => state },
            { name: 'For', of: ({ agent_id: who }) => who },
            { name: 'Queued', of: ({ created_at: at }) => <Time at={at} /> },
            { name: 'Failed', of: ({ attempts }) => attempts },
            { name: 'Why', of: ({ error: why }) => valueText(why) },
            {
              name: 'Change',
              of: ({ id, state }) =>
                changesOf(state).map((each) => (
                  <button
                    key={each}
                    type="button"
                    disabled={change.isRunning}
                    onClick={() => change.run(each, id)}
                  >
                    {WORDS[each]}
                  </button>
                )),
            },
          ]}
        />
      )}
    </section>
  );
}
