import { decideDropLink, decideImportLink } from '../graph/links.js';
import { decideClearStandard, decideSetStandard } from '../graph/standards.js';
import { decideAdoptPeer } from './adopt.js';
import { decideBindAgentKey, decideRegisterAgent } from './agent.js';
import {
  decideApplyOperations,
  decideBeginEpoch,
  decideRetryParked,
  decideUseNonce,
} from './apply-operations.js';
import { decideArchive, decidePurge, decideRestore } from './archive.js';
import { allowAll, type Chain, type Rules } from './chain.js';
import { decideConsolidate } from './consolidate.js';
import { decideEmbeddings } from './embedding.js';
import { decideImport } from './import.js';
import { decidePrune } from './observations.js';
import { decideClaim, decideRelease } from './ownership.js';
import { decidePeerProgress } from './peer-progress.js';
import { decidePromote } from './promote.js';
import { decideEnsureQuota } from './quota.js';
import { decideReceive } from './receive.js';
import { decideDelete, decideExpire, decideForget } from './remove.js';
import { decideRepairSubjects } from './repair.js';
import { decideResolve } from './resolve.js';
import { decideDropPayloads, decideNoteIntegrity } from './scrub.js';
import { decideStore } from './store.js';
import { decideNoteSuspects, decideSettleSuspects } from './suspects.js';
import { decideTouch } from './touch.js';
import { decideUndoEdit } from './undo-edit.js';
import { decideUpdate } from './update.js';

/** Each command with its rule. */
export const RULES: Rules = {
  'store-memory': decideStore,
  'update-memory': decideUpdate,
  'delete-memory': decideDelete,
  'promote-memory': decidePromote,
  'touch-memories': decideTouch,
  'prune-observations': decidePrune,
  'expire-memories': decideExpire,
  'put-embeddings': decideEmbeddings,
  'register-agent': decideRegisterAgent,
  'bind-agent-key': decideBindAgentKey,
  'ensure-quota': decideEnsureQuota,
  'claim-ownership': decideClaim,
  'release-ownership': decideRelease,
  'archive-memories': decideArchive,
  'restore-memory': decideRestore,
  'purge-archive': decidePurge,
  'forget-memories': decideForget,
  'consolidate-memories': decideConsolidate,
  'resolve-memories': decideResolve,
  'undo-edit': decideUndoEdit,
  'import-memory': decideImport,
  'import-link': decideImportLink,
  'drop-link': decideDropLink,
  'set-standard': decideSetStandard,
  'clear-standard': decideClearStandard,
  'adopt-peer': decideAdoptPeer,
  'receive-memory': decideReceive,
  'save-peer-progress': decidePeerProgress,
  'apply-operations': decideApplyOperations,
  'use-nonce': decideUseNonce,
  'retry-parked': decideRetryParked,
  'begin-epoch': decideBeginEpoch,
  'repair-subjects': decideRepairSubjects,
  'note-integrity': decideNoteIntegrity,
  'note-suspects': decideNoteSuspects,
  'settle-suspects': decideSettleSuspects,
  'drop-payloads': decideDropPayloads,
};

/** The chain of this release. Nothing restricts a command yet, no event leaves, and no command needs a home. */
export const CHAIN: Chain = { rules: RULES, policy: allowAll, events: () => [], forwarded: {} };
