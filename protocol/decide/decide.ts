import type { Command, OutcomeOf } from '../commands.js';
import { decideBindAgentKey, decideRegisterAgent, guardAgentRecords } from './agent.js';
import {
  decideApplyOperations,
  decideBeginEpoch,
  decideRetryParked,
  decideUseNonce,
} from './apply-operations.js';
import { decideArchive, decidePurge, decideRestore } from './archive.js';
import { audited } from './audit.js';
import { decideConsolidate } from './consolidate.js';
import type { Deciding, DecisionContext } from './decision.js';
import { decideEmbeddings } from './embedding.js';
import { decideImport, decideImportLink } from './import.js';
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

/** The decision of a command, with what holds for all of them. */
export function* decide(command: Command, context: DecisionContext): Deciding<OutcomeOf<Command>> {
  return audited(command, guardAgentRecords(command, yield* rulesOf(command, context)));
}

/** The one place where a kind meets its rules. */
function rulesOf(command: Command, context: DecisionContext): Deciding<OutcomeOf<Command>> {
  switch (command.kind) {
    case 'store-memory':
      return decideStore(command, context);
    case 'update-memory':
      return decideUpdate(command, context);
    case 'delete-memory':
      return decideDelete(command, context);
    case 'promote-memory':
      return decidePromote(command, context);
    case 'touch-memories':
      return decideTouch(command, context);
    case 'prune-observations':
      return decidePrune(command);
    case 'expire-memories':
      return decideExpire(command, context);
    case 'put-embeddings':
      return decideEmbeddings(command);
    case 'register-agent':
      return decideRegisterAgent(command, context);
    case 'bind-agent-key':
      return decideBindAgentKey(command, context);
    case 'ensure-quota':
      return decideEnsureQuota(command, context);
    case 'claim-ownership':
      return decideClaim(command, context);
    case 'release-ownership':
      return decideRelease(command);
    case 'archive-memories':
      return decideArchive(command, context);
    case 'restore-memory':
      return decideRestore(command, context);
    case 'purge-archive':
      return decidePurge(command);
    case 'forget-memories':
      return decideForget(command);
    case 'consolidate-memories':
      return decideConsolidate(command, context);
    case 'resolve-memories':
      return decideResolve(command, context);
    case 'undo-edit':
      return decideUndoEdit(command, context);
    case 'import-memory':
      return decideImport(command, context);
    case 'import-link':
      return decideImportLink(command, context);
    case 'receive-memory':
      return decideReceive(command, context);
    case 'save-peer-progress':
      return decidePeerProgress(command);
    case 'apply-operations':
      return decideApplyOperations(command, context);
    case 'use-nonce':
      return decideUseNonce(command);
    case 'retry-parked':
      return decideRetryParked(command);
    case 'begin-epoch':
      return decideBeginEpoch(command);
    case 'repair-subjects':
      return decideRepairSubjects(command);
    case 'note-integrity':
      return decideNoteIntegrity(command);
    case 'note-suspects':
      return decideNoteSuspects(command);
    case 'settle-suspects':
      return decideSettleSuspects(command);
    case 'drop-payloads':
      return decideDropPayloads(command);
  }
}
