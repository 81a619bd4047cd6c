import { type Turn, turnCommand } from '../../node/operations/transcripts/turn-command.js';
import { systemCrypto, systemRandom } from '../../node/seams.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { CaptureTurn } from '../../protocol/transcripts/capture-turn.js';
import { OPERATOR } from './memories.js';

interface Given extends Partial<Turn> {
  readonly viewer?: Viewer;
  readonly now?: string;
  readonly peerId?: string;
}

/** The command that captures a turn. */
export function aTurn({ viewer = OPERATOR, now, peerId = 'peer-a', ...given }: Given = {}): CaptureTurn {
  const at = now ?? '2026-02-25T00:00:00.000Z';
  const turn: Turn = {
    ...{ agentId: 'ai:writer', namespace: 'global', content: 'what was said', createdAt: at },
    ...{ host_session_id: 's1', host_turn_index: 0, role: 'user', host_kind: 'shell', host_version: null },
    ...{ layer: 'L4', tool_calls: [], attest_level: 'self_signed', host_signature: null, host_pubkey: null },
    ...{ ttlSeconds: null, path: null, lineSha256: null },
    ...given,
    told: given.told ?? {
      title: `turn ${given.host_turn_index ?? 0} of ${given.host_session_id ?? 's1'}`,
      ...{ tags: ['captured-via-l4'], source: 'host', priority: 5, metadata: {} },
    },
  };
  return turnCommand(turn, {
    ...{ now: at, viewer, random: systemRandom, crypto: systemCrypto, peerId },
    settings: {
      ...{ transcriptTtlSeconds: 60, transcriptGraceSeconds: 10, transcriptNamespaces: [] },
      archiveOnGc: true,
    },
  });
}
