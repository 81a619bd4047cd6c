import { publicKeyProblem } from '../../protocol/identity/ed25519-admission.js';
import type { Roster } from '../../protocol/peers/peer.js';
import { KINDS } from '../../protocol/release.js';
import { Verifier } from '../../protocol/replication/verifier.js';
import { parsePeerScopes } from '../config/peer-scopes.js';
import type { Services } from '../pipeline/call.js';
import { PeerScreen } from './peer-screen.js';
import { ArrayPush } from './receive/array-push.js';
import { LegacySince } from './receive/legacy-since.js';
import { type ReceiverMetrics, SyncReceiver, type SyncReceiverOptions } from './receive/sync-receiver.js';
import { FileRoster } from './roster-from-files.js';

/** The peers that are enrolled by key files, with the scopes of the settings. */
export function openFileRoster({
  settings,
  clock,
  log,
}: Pick<Services, 'settings' | 'clock' | 'log'>): FileRoster {
  return new FileRoster({
    keyDir: settings.keyDir,
    scopes: parsePeerScopes(settings.fedPeerAttestation),
    trustPulls: settings.fedSyncTrustPeer,
    clock,
    log,
  });
}

/** Verifies operations for a node, by the keys and scopes of a roster. */
export function openVerifier(services: Services, roster: Roster): Verifier {
  const { peerId, machineKey, crypto } = services;
  return new Verifier({
    screen: new PeerScreen(services),
    self: { peerId, signer: machineKey },
    roster,
    crypto,
    publicKeyProblem,
    kinds: KINDS,
  });
}

/** The receiver of a node, by its settings. */
export function openReceiver(
  services: Services,
  roster: Roster,
  verifier: Verifier,
  metrics: ReceiverMetrics,
  extra: Pick<SyncReceiverOptions, 'onContact' | 'onDiffering' | 'noncesMax'> = {},
): SyncReceiver {
  const { settings, store, clock, crypto, log, peerId, machineKey } = services;
  const scopes = parsePeerScopes(settings.fedPeerAttestation);
  return new SyncReceiver({
    ...extra,
    store,
    roster,
    verifier,
    policy: {
      requireSignature: settings.fedRequireSig,
      requireNonce: settings.fedRequireNonce,
      certificateBinding:
        settings.fedCertPeerBinding ?? (settings.mtlsAllowlist === null ? 'warn' : 'enforce'),
      trustBodyAgentId: settings.fedTrustBodyAgentId,
    },
    isListed: (id) => scopes?.has(id) === true,
    peerId,
    signer: machineKey,
    pageSizeMax: settings.pageSizeMax,
    clock,
    crypto,
    log,
    metrics,
    screen: new PeerScreen(services),
    legacy: { push: new ArrayPush(services), since: new LegacySince(store, clock) },
  });
}
