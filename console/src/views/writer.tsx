import { call, type Operations } from '../api.js';
import { Problem } from '../ui/notices.js';
import { Time } from '../ui/parts.js';
import { useLoad } from '../ui/use-load.js';

type Agent = Operations['memory_agent_list']['answer']['agents'][number];

/** Who an agent is, as far as it is registered. */
export function Writer({ id }: { readonly id: string }) {
  const { value, error, isLoading } = useLoad(`agent ${id}`, async (signal) => agentOf(id, signal));
  if (error !== null) return <Problem error={error} />;
  if (isLoading) return null;
  if (value === null)
    return (
      <p class="quiet">{id} is not registered: nothing vouches for the writer but the words of a caller.</p>
    );
  return (
    <p class="quiet">
      {id}: Registered <Time at={value.registered_at} /> as {value.agent_type}, last seen{' '}
      <Time at={value.last_seen_at} />, {value.pubkey_b64 === undefined ? 'without a key' : 'with a key'}
    </p>
  );
}

/** The agents come in the order of their ids. */
async function agentOf(id: string, signal: AbortSignal): Promise<Agent | null> {
  let after: string | undefined;
  do {
    const { agents, next_after: next } = await call('memory_agent_list', { after }, { signal });
    const found = agents.find(({ agent_id: each }) => each === id);
    if (found !== undefined) return found;
    after = next;
  } while (after !== undefined && after < id);
  return null;
}
