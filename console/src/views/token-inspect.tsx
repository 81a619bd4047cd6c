import { useState } from 'preact/hooks';
import { call, type Operations as Ops } from '../api.js';
import { wordsOf } from '../lib/format.js';
import { LIFETIMES, TOKEN_OPERATIONS, type TokenOperation, whereText } from '../lib/tokens.js';
import { announce, Problem } from '../ui/notices.js';
import { Facts, Field, Form, Time } from '../ui/parts.js';
import { useTask } from '../ui/use-load.js';
import { Operations } from './token-fields.js';

type Said = Ops['token_inspect']['answer'];

/** Looks into a token that somebody has: what it permits and whether it counts; then narrows or revokes it. */
export function Inspect({
  onNarrowed,
  onRevoked,
}: {
  readonly onNarrowed: (token: string) => void;
  readonly onRevoked: () => void;
}) {
  const [token, setToken] = useState('');
  const [said, setSaid] = useState<{ readonly of: string; readonly facts: Said } | null>(null);
  const inspect = useTask(async () => {
    setSaid(null);
    setSaid({ of: token, facts: await call('token_inspect', { token }) });
    announce('The token is read');
  });
  const revoke = useTask(async () => {
    await call('token_revoke', { token });
    announce('Revoked');
    onRevoked();
    setSaid({ of: token, facts: await call('token_inspect', { token }) });
  });
  const facts = said?.of === token ? said.facts : null;
  return (
    <section class="card" aria-labelledby="inspect">
      <h2 id="inspect">Look into a token</h2>
      <Form label="Look into a token" class="row" onSubmit={() => inspect.run()}>
        <Field
          label="Token"
          type="password"
          value={token}
          onInput={(text) => setToken(text.trim())}
          placeholder="mnt_…"
          required
        />
        <button type="submit" disabled={inspect.isRunning}>
          Inspect
        </button>
      </Form>
      <Problem error={inspect.error} />
      {facts !== null && (
        <>
          <p role="status" class={facts.counts ? 'good' : 'badtext'}>
            {facts.counts ? 'It counts on this node.' : `It does not count here: ${facts.problem}.`}
          </p>
          <Facts
            of={[
              ['Acts as', facts.agent_id],
              ['May', facts.operations.join(', ') || 'nothing'],
              ['Where', whereText(facts.namespaces)],
              ['From', facts.not_before === undefined ? 'now on' : <Time key="from" at={facts.not_before} />],
              ['Until', <Time key="until" at={facts.expires_at} />],
              ['Minted by', facts.minted_by],
              ['Narrowed', `${facts.revocation_ids.length - 1} times`],
              ['Id', <code key="id">{facts.token_id}</code>],
            ]}
          />
          {facts.counts && (
            <>
              <Narrow key={facts.token_id} token={token} facts={facts} onNarrowed={onNarrowed} />
              <div class="row">
                <button type="button" class="danger" disabled={revoke.isRunning} onClick={() => revoke.run()}>
                  Revoke this token on every node
                </button>
              </div>
            </>
          )}
          <Problem error={revoke.error} />
        </>
      )}
    </section>
  );
}

/** Makes a token of this one that permits less. */
function Narrow({
  token,
  facts,
  onNarrowed,
}: {
  readonly token: string;
  readonly facts: Said;
  readonly onNarrowed: (token: string) => void;
}) {
  const held = TOKEN_OPERATIONS.filter((each) => facts.operations.includes(each));
  const [operations, setOperations] = useState<readonly TokenOperation[]>(held);
  const [namespaces, setNamespaces] = useState(facts.namespaces.join(', '));
  const [secs, setSecs] = useState('');
  const narrow = useTask(async () => {
    const where = wordsOf(namespaces);
    const answer = await call('token_narrow', {
      token,
      operations: [...operations],
      ...(where.includes('**') ? {} : { namespaces: [...where] }),
      ...(secs === '' ? {} : { expires_secs: Number(secs) }),
    });
    announce('The narrower token is made');
    onNarrowed(answer.token);
  });
  return (
    <details>
      <summary>Make a narrower token of it</summary>
      <Form label="Narrow the token" onSubmit={() => narrow.run()}>
        <p class="quiet">
          The new one permits what both say, never more. This one goes on counting; to revoke it ends the
          narrower one too.
        </p>
        <Operations chosen={operations} onChange={setOperations} />
        <Field
          label="Namespaces that are left"
          value={namespaces}
          onInput={setNamespaces}
          hint="Separated by commas"
          required
        />
        <Field
          label="Counts for"
          value={secs}
          onInput={setSecs}
          options={[['', 'as long as this one'], ...LIFETIMES]}
        />
        <Problem error={narrow.error} />
        <button type="submit" class="main" disabled={narrow.isRunning || operations.length === 0}>
          Narrow
        </button>
      </Form>
    </details>
  );
}
