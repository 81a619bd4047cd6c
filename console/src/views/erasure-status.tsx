import { useEffect } from 'preact/hooks';
import { call, meshStatus, type Operations } from '../api.js';
import { copyText, type Standing, standingText } from '../lib/erasures.js';
import { type MeshStatus, nodeName } from '../lib/mesh-status.js';
import { Empty, Problem } from '../ui/notices.js';
import { Facts, Table, Time } from '../ui/parts.js';
import { useLoad } from '../ui/use-load.js';

export type Copy = Operations['memory_erasures']['answer']['copies'][number];

const AGAIN_MS = 3000;

/** On which nodes one memory is gone; it is read again until no node is missing. */
export function ErasureStatus({ id }: { readonly id: string }) {
  const { value, error, reload } = useLoad(`erasure ${id}`, (signal) =>
    call('memory_erasures', { id }, { signal }),
  );
  const mesh = useNames();
  const erasure = value?.erasures[0];
  const isOpen = erasure !== undefined && erasure.missing.length > 0;
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setInterval(reload, AGAIN_MS);
    return () => clearInterval(timer);
  }, [isOpen, reload]);
  return (
    <>
      <Problem error={error} retry={reload} />
      {value !== null && erasure === undefined && (
        <Empty>This node knows of no such erasure, or the agent at the top did not ask for it.</Empty>
      )}
      {value !== null && erasure !== undefined && (
        <>
          <p role="status" class={isOpen ? 'warm' : 'good'}>
            It is {standingText(erasure)}.
            {isOpen &&
              ' This page looks again until none is missing; a node that is away erases when it returns.'}
          </p>
          <Facts
            of={[
              ['Memory', <code key="id">{erasure.id}</code>],
              ['Namespace', erasure.namespace],
              ['Erased', <Time key="at" at={erasure.erased_at} />],
              ['By', erasure.erased_by ?? 'somebody who asked another node'],
              ...nodeFacts(erasure, mesh),
            ]}
          />
          <Copies copies={value.copies} />
        </>
      )}
    </>
  );
}

/** The nodes by what they say of an erasure. */
export const nodeFacts = (
  { done, missing, outside }: Standing,
  mesh: MeshStatus | null,
): readonly (readonly [string, string])[] => {
  const named = (ids: readonly string[]) => ids.map((id) => nodeName(mesh, id)).join(', ');
  return [
    ['Gone on', named(done)],
    ['Missing', missing.length === 0 ? 'none' : named(missing)],
    ...(outside.length === 0 ? [] : ([['Without this namespace', named(outside)]] as const)),
  ];
};

/** The names of the nodes; without the right to read them their ids are shown. */
export const useNames = (): MeshStatus | null =>
  useLoad('names of nodes', (signal) => meshStatus({ compare: false, signal })).value;

/** Files that no erasure reaches. */
export const Copies = ({ copies }: { readonly copies: readonly Copy[] }) =>
  copies.length === 0 ? null : (
    <>
      <p class="warm">These files were made before and may still hold what was erased. Remove them:</p>
      <Table<Copy>
        label="Backups and exports from before"
        rows={copies}
        keyOf={({ path }) => path}
        columns={[
          { name: 'What', of: ({ what }) => copyText(what) },
          { name: 'Made', of: ({ made_at: at }) => <Time at={at} /> },
          { name: 'File', of: ({ path }) => <code>{path}</code> },
        ]}
      />
    </>
  );
