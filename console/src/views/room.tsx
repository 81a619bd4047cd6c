import { call, type Operations } from '../api.js';
import { bytesText, valueText } from '../lib/format.js';
import { stateText, stepText, usedPercent } from '../lib/room.js';
import { Empty, Loading, Problem } from '../ui/notices.js';
import { Facts, Table, Time } from '../ui/parts.js';
import { useLoad } from '../ui/use-load.js';

type Answer = Operations['storage_room']['answer'];
type Step = Answer['plan'][number];

/** What the database takes of its limit, what would go first, and what went last. */
export function Room() {
  const { value, error, isLoading, reload } = useLoad('room', (signal) =>
    call('storage_room', {}, { signal }),
  );
  return (
    <>
      <div class="bar">
        <h1>Room</h1>
        <button type="button" disabled={isLoading} onClick={reload}>
          Look again
        </button>
      </div>
      <Problem error={error} retry={reload} />
      {isLoading && value === null && <Loading what="the room of the database" />}
      {value !== null && (
        <>
          <Used answer={value} />
          <Plan answer={value} />
          <Last answer={value} />
        </>
      )}
    </>
  );
}

function Used({ answer }: { readonly answer: Answer }) {
  const { state, max_bytes: max, used_bytes: used, file_bytes: file } = answer;
  const [text, look] = stateText(state);
  const percent = usedPercent(used, max);
  return (
    <section class="card" aria-labelledby="used">
      <h2 id="used">The database</h2>
      <p class={look} role={state === 'low' || state === 'full' ? 'alert' : undefined}>
        {text}
      </p>
      {percent !== null && (
        <div class="field">
          <label for="used-bar">Used: {percent} %</label>
          <progress id="used-bar" max={100} value={percent} />
        </div>
      )}
      <Facts
        of={[
          [
            'Limit',
            max === null ? 'none: SVC_STORAGE_MAX_BYTES or [storage] max_bytes sets one' : bytesText(max),
          ],
          ['Rows take', used === null ? '– (a database on a server)' : bytesText(used)],
          ['The file has', bytesText(file)],
        ]}
      />
    </section>
  );
}

function Plan({ answer: { plan, max_bytes: max } }: { readonly answer: Answer }) {
  return (
    <section class="card" aria-labelledby="plan">
      <h2 id="plan">What {max === null ? 'would go' : 'goes'} first</h2>
      <p class="quiet">
        Only as much as is needed, step by step. What a link, a standard or a pending action names stays.
      </p>
      {plan.length === 0 && <Empty>Nothing may go.</Empty>}
      {plan.length > 0 && (
        <Table<Step>
          label="What goes first"
          rows={plan}
          keyOf={({ step }) => step}
          columns={[
            { name: 'Step', of: ({ step }) => `${plan.findIndex((each) => each.step === step) + 1}` },
            { name: 'What', of: ({ step }) => stepText(step) },
            { name: 'Memories', of: ({ memories }) => memories },
            { name: 'Their texts', of: ({ bytes }) => bytesText(bytes) },
          ]}
        />
      )}
    </section>
  );
}

/** The report of the last time that memories went to make room. */
function Last({ answer: { last } }: { readonly answer: Answer }) {
  const {
    removed,
    used_bytes_before: before,
    used_bytes_after: after,
  } = (last?.facts ?? {}) as {
    readonly removed?: Readonly<Record<string, number>>;
    readonly used_bytes_before?: number;
    readonly used_bytes_after?: number;
  };
  const went = Object.entries(removed ?? {}).filter(([, count]) => count > 0);
  return (
    <section class="card" aria-labelledby="last">
      <h2 id="last">The last time</h2>
      {last === null && <Empty>Nothing ever went to make room.</Empty>}
      {last !== null && (
        <>
          <Facts
            of={[
              ['When', <Time key="when" at={last.at} />],
              ['Rows took before', before === undefined ? '–' : bytesText(before)],
              ['Rows took after', after === undefined ? '–' : bytesText(after)],
            ]}
          />
          {went.length > 0 && (
            <Table
              label="What went"
              rows={went}
              keyOf={([step]) => step}
              columns={[
                { name: 'What', of: ([step]) => stepText(step) },
                { name: 'How many', of: ([, count]) => valueText(count) },
              ]}
            />
          )}
        </>
      )}
    </section>
  );
}
