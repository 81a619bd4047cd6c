import { call, type Operations } from '../api.js';
import { Empty, Loading, Problem } from '../ui/notices.js';
import { Facts, Table, Time } from '../ui/parts.js';
import { useLoad } from '../ui/use-load.js';

type Section = Operations['node_doctor']['answer']['sections'][number];
type Finding = Section['findings'][number] & { readonly section: string };

const CLASSES: Readonly<Record<string, string>> = { CRIT: 'badtext', WARN: 'warm' };
const WORDS: Readonly<Record<string, string>> = { CRIT: 'critical', WARN: 'warning', INFO: 'note' };
const ORDER = ['CRIT', 'WARN', 'INFO'];

/** What doctor finds in the files, the keys and the configuration of the node, the worst first. */
export function Findings() {
  const { value, error, isLoading, reload } = useLoad('doctor', (signal) =>
    call('node_doctor', {}, { signal }),
  );
  const findings = (value?.sections ?? [])
    .flatMap(({ name: section, findings: of }) => of.map((each): Finding => ({ section, ...each })))
    .sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  return (
    <section class="card" aria-labelledby="findings">
      <div class="bar">
        <h2 id="findings">Findings of doctor</h2>
        <button type="button" disabled={isLoading} onClick={reload}>
          Examine again
        </button>
      </div>
      <Problem error={error} />
      {isLoading && <Loading what="the files of the node" />}
      {value !== null && findings.length === 0 && <Empty>The node is healthy.</Empty>}
      {findings.length > 0 && (
        <Table<Finding>
          label="Findings"
          rows={findings}
          keyOf={({ section, code }, index) => `${section} ${code} ${index}`}
          columns={[
            {
              name: 'How bad',
              of: ({ severity }) => <b class={CLASSES[severity] ?? ''}>{WORDS[severity]}</b>,
            },
            { name: 'Part', of: ({ section }) => section },
            {
              name: 'Finding',
              of: ({ code, message }) => (
                <>
                  <code>{code}</code> {message}
                </>
              ),
            },
            { name: 'What to do', of: ({ fix }) => (fix === '' ? '–' : fix) },
          ]}
        />
      )}
      {value !== null && (
        <details>
          <summary>
            All that was examined, <Time at={value.generated_at} />
          </summary>
          {value.sections.map(({ name, severity, facts }) => (
            <section key={name} aria-label={name}>
              <h3>
                {name}: {severity === 'N/A' ? 'not used' : severity === 'INFO' ? 'fine' : WORDS[severity]}
              </h3>
              <Facts of={facts} />
            </section>
          ))}
        </details>
      )}
    </section>
  );
}
