import { useState } from 'preact/hooks';
import { call, type Operations as Ops } from '../api.js';
import { wordsOf } from '../lib/format.js';
import { LIFETIMES, type TokenOperation, whereText } from '../lib/tokens.js';
import { announce, Empty, Loading, Problem } from '../ui/notices.js';
import { Dialog, Field, Form, Table, Tick, Time } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';
import { Operations, TokenOnce } from './token-fields.js';
import { Inspect } from './token-inspect.js';

type Token = Ops['token_list']['answer']['tokens'][number];
type Asked = { readonly token: Token } | 'all';

const ROWS = 100;
const ROWS_MAX = 1000;

export function Tokens() {
  const [limit, setLimit] = useState(ROWS);
  const [isMinting, setMinting] = useState(false);
  const [minted, setMinted] = useState<string | null>(null);
  const [asked, setAsked] = useState<Asked | null>(null);
  const { value, error, isLoading, reload } = useLoad(`tokens ${limit}`, (signal) =>
    call('token_list', { limit }, { signal }),
  );
  return (
    <>
      <div class="bar">
        <h1>Tokens</h1>
        <div class="row">
          <button type="button" class="main" onClick={() => setMinting(true)}>
            Mint a token
          </button>
          <button type="button" disabled={isLoading} onClick={reload}>
            Read again
          </button>
        </div>
      </div>
      <p class="quiet">
        A token lets a program or a person act as one agent, within some namespaces and for some time. Agents
        see the tokens that were minted for them, admins see all.
      </p>
      <section class="card" aria-labelledby="tokens">
        <h2 id="tokens">Tokens that this node minted</h2>
        <Problem error={error} retry={reload} />
        {isLoading && value === null && <Loading what="the tokens" />}
        {value?.count === 0 && <Empty>There is none.</Empty>}
        {value !== null && value.count > 0 && (
          <Table<Token>
            label="Tokens"
            rows={value.tokens}
            keyOf={({ token_id: id }) => id}
            columns={[
              {
                name: 'For',
                of: ({ note, token_id: id }) => (
                  <>
                    {note} <code>{id.slice(0, 8)}</code>
                  </>
                ),
              },
              { name: 'Acts as', of: ({ agent_id: who }) => who },
              { name: 'May', of: ({ operations }) => operations.join(', ') },
              { name: 'Where', of: ({ namespaces }) => whereText(namespaces) },
              { name: 'Until', of: ({ expires_at: at }) => <Time at={at} /> },
              { name: 'State', of: ({ state }) => <b class={STATES[state]}>{state}</b> },
              {
                name: 'Minted',
                of: ({ created_at: at, minted_by: by }) => (
                  <>
                    <Time at={at} /> by {by}
                  </>
                ),
              },
              {
                name: 'Change',
                of: (token) =>
                  token.state === 'valid' ? (
                    <button type="button" class="danger" onClick={() => setAsked({ token })}>
                      Revoke …
                    </button>
                  ) : (
                    '–'
                  ),
              },
            ]}
          />
        )}
        {value?.truncated === true &&
          (limit < ROWS_MAX ? (
            <button type="button" disabled={isLoading} onClick={() => setLimit(ROWS_MAX)}>
              Older ones
            </button>
          ) : (
            <p class="quiet">Older ones are left out.</p>
          ))}
        {value !== null && value.count > 0 && (
          <p>
            <button type="button" class="danger" onClick={() => setAsked('all')}>
              Revoke all tokens of this node …
            </button>
          </p>
        )}
      </section>
      <Inspect onNarrowed={setMinted} onRevoked={reload} />
      {isMinting && (
        <Mint
          onClose={() => setMinting(false)}
          onMinted={(token) => {
            setMinting(false);
            setMinted(token);
            reload();
          }}
        />
      )}
      {minted !== null && <TokenOnce token={minted} onClose={() => setMinted(null)} />}
      {asked !== null && (
        <Revoke
          asked={asked}
          onClose={() => setAsked(null)}
          onRevoked={() => {
            setAsked(null);
            reload();
          }}
        />
      )}
    </>
  );
}

const STATES: Readonly<Record<Token['state'], string>> = {
  valid: 'good',
  expired: 'quiet',
  revoked: 'badtext',
};

function Mint({
  onClose,
  onMinted,
}: {
  readonly onClose: () => void;
  readonly onMinted: (token: string) => void;
}) {
  const [who, setWho] = useState('');
  const [note, setNote] = useState('');
  const [operations, setOperations] = useState<readonly TokenOperation[]>(['read']);
  const [namespaces, setNamespaces] = useState('');
  const [secs, setSecs] = useState('86400');
  const mint = useTask(async () => {
    const { token } = await call('token_mint', {
      ...(who.trim() === '' ? {} : { for_agent: who.trim() }),
      operations: [...operations],
      namespaces: [...wordsOf(namespaces)],
      expires_secs: Number(secs),
      note: note.trim(),
    });
    announce('The token is minted');
    onMinted(token);
  });
  return (
    <Dialog title="Mint a token" onClose={onClose}>
      <Form label="Mint a token" onSubmit={() => mint.run()}>
        <Field
          label="What it is for"
          value={note}
          onInput={setNote}
          placeholder="the helper of the deploy job"
        />
        <Field
          label="Acts as"
          value={who}
          onInput={setWho}
          placeholder="ai:helper"
          hint="Empty: the agent at the top of the page. Only an admin mints for others."
        />
        <Operations chosen={operations} onChange={setOperations} />
        <Field
          label="Namespaces"
          value={namespaces}
          onInput={setNamespaces}
          placeholder="team/**"
          required
          hint="Separated by commas. team/** is team and all below it; ** is all of the node."
        />
        <Field label="Counts for" value={secs} onInput={setSecs} options={LIFETIMES} />
        <Problem error={mint.error} />
        <div class="row">
          <button type="submit" class="main" disabled={mint.isRunning || operations.length === 0}>
            Mint
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </Form>
    </Dialog>
  );
}

/** Asks before a token, or every one, stops counting. */
function Revoke({
  asked,
  onClose,
  onRevoked,
}: {
  readonly asked: Asked;
  readonly onClose: () => void;
  readonly onRevoked: () => void;
}) {
  const [isSure, setSure] = useState(false);
  const revoke = useTask(async () => {
    await call('token_revoke', asked === 'all' ? { all: true } : { token_id: asked.token.token_id });
    announce('Revoked');
    onRevoked();
  });
  const name = asked === 'all' ? null : asked.token.note || asked.token.token_id;
  return (
    <Dialog title={name === null ? 'Revoke all tokens?' : `Revoke “${name}”?`} onClose={onClose}>
      <Form label="Revoke" onSubmit={() => revoke.run()}>
        <p>
          {name === null
            ? 'Every token that this node minted stops counting on all nodes, with all that were narrowed from them. The node gets a new key for the next one. Only an admin does this.'
            : 'It stops counting on every node, with all tokens that were narrowed from it. This cannot be taken back; another token can be minted.'}
        </p>
        {name === null && <Tick label="I mean every one of them" isOn={isSure} onChange={setSure} required />}
        <Problem error={revoke.error} />
        <div class="row">
          <button type="submit" class="danger" disabled={revoke.isRunning || (name === null && !isSure)}>
            Revoke
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </Form>
    </Dialog>
  );
}
