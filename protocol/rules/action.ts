/** What an agent is about to do (reference-federation §2.6). */
export type Action =
  | { readonly kind: 'bash'; readonly command: string; readonly cwd: string | null }
  | { readonly kind: 'filesystem_write'; readonly path: string; readonly byte_estimate: number | null }
  | { readonly kind: 'network_request'; readonly host: string; readonly scheme: string }
  | {
      readonly kind: 'process_spawn';
      readonly binary: string;
      readonly args: readonly string[];
      /** Free room on the disk, in GiB; null when it is not known. */
      readonly disk_free_gib: number | null;
    }
  | {
      readonly kind: 'custom';
      readonly custom_kind: string;
      readonly payload: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: 'read_action';
      readonly surface: string | null;
      readonly namespace: string | null;
      readonly query: string | null;
    };

export const ACTION_KINDS = [
  'bash',
  'filesystem_write',
  'network_request',
  'process_spawn',
  'custom',
  'read_action',
] as const satisfies readonly Action['kind'][];

export type ActionKind = Action['kind'];

/** The custom action that every write of a memory is. */
export const MEMORY_WRITE = 'memory_write';

/** An action of a kind. */
export type ActionOf<K extends ActionKind> = Extract<Action, { readonly kind: K }>;

/** The namespace that an action is about; null when it names none. */
export function namespaceOf(action: Action): string | null {
  if (action.kind === 'read_action') return action.namespace;
  const named = action.kind === 'custom' ? action.payload['namespace'] : null;
  return typeof named === 'string' ? named : null;
}
